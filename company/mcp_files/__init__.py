"""A sample MCP server: the files of one folder, and not one outside it."""
