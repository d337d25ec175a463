"""A message made ready for reading by rules."""
