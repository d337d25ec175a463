"""Optional capabilities, one folder each. Nothing outside of this package imports from it."""
