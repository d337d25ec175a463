"""Tools that are declared in files: HTTP endpoints, and operations of OpenAPI documents."""
