"""Requests to other systems: where they may go, how they are sent, and what answers hold."""
