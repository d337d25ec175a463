"""Webhooks, out and in: the files that name whom, and how both sides know each other."""
