"""Tools for a person's notification settings."""
