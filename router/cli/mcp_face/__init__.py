"""The desk as an MCP server, for other agents: a client of the REST API, as one person."""
