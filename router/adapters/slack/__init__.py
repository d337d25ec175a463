"""Slack: the Events API in, Block Kit out."""
