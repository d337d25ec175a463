"""The OpenAI-compatible face: chat UIs talk to the desk as to a model."""
