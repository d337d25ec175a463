"""Models over OpenAI-compatible HTTP: asked, read, repaired, and passed over when they fail."""
