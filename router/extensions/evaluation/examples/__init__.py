"""Example sentences for capabilities: asked of a model, checked, measured, and put into files."""
