"""Tools for files that belong to one person."""
