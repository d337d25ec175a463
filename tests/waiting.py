"""How long a test waits for what has to happen."""

HANGS_AFTER_S = 300.0
"""Longer than anything takes on a machine that is busy with other things: the test hangs."""
