"""A sample MCP server: the files of one folder, and not one outside it.

python -m activities.mcp_files FOLDER [--http PORT]
"""
