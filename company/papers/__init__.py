"""The project's own types of documents: a module each, found as tools are."""
