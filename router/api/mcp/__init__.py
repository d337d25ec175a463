"""The desk as a server of the Model Context Protocol, for assistants of the people who use it."""
