"""A chat in the terminal: a client of the REST API, as one person."""
