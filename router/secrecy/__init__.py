"""Payloads that Temporal can't read, and logs without anybody's words."""
