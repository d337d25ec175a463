"""What plays a story test: the whole desk, with a clock that skips."""
