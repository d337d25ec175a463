"""Tools, and the one gate before every call of them."""
