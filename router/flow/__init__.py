"""Flow files, their expressions and texts, and the machine that runs them: a pure function."""

from router.flow import states

__all__ = ["states"]
