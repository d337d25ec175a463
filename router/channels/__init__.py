"""Chat platforms: people talk to the desk where they talk to each other."""
