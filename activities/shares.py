"""Whose share of the workers is taken by what an activity starts."""

from temporalio import activity
from temporalio.common import Priority


def own_share() -> Priority:
    """That of the workflow whose activity this is; no particular one outside of any."""
    return activity.info().priority if activity.in_activity() else Priority.default
