"""A module for each format that files come in; `router.documents.file_format` finds them."""
