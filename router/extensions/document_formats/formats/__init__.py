"""A module for each format that files come in."""
