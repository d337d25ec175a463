"""Chat platforms: people talk to the desk where they talk to each other.

`port` is what a platform has to bring. Each has a room of its own; the rest is the same for all.
"""
