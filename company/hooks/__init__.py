"""Hooks of the company's own, one subject a module: what they refuse, add, or look on at."""
