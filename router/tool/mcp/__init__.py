"""Tools of MCP servers, none of whose words are trusted."""
