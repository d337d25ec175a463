"""The commands of statistics."""
