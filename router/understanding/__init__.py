"""Text to meaning without a model, in Chinese and English."""
