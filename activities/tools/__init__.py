"""The code tools, one noun a module; what JSON files declare is in `http`."""
