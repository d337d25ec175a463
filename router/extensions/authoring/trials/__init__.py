"""Drafts of flows tried, each in a process that has nothing of the deployment."""
