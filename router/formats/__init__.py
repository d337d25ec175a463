"""YAML and text files that people write, read so that a fault has its line."""
