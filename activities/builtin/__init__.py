"""The desk's own tools, there whatever company it stands in."""
