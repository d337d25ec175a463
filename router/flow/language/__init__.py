"""The languages inside flow files: CEL expressions, Jinja texts, and the functions of both."""
