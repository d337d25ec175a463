"""How long tests wait for what they don't measure."""

from datetime import timedelta

SLOW_START = timedelta(seconds=30)
"""For a Temporal server on a busy machine; what is tested begins after it."""
