"""Workflows reached from outside of them, through Temporal's client."""
