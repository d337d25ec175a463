"""The types of documents: a module each, which registers itself when it is imported."""
