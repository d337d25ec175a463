"""The OpenAI-compatible channel: chat UIs talk to the desk as to a model."""
