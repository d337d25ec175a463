"""Ids of what a turn begins: runs, and calls that are waited for beyond it."""

from temporalio import workflow


def fresh_id() -> str:
    """Twelve hex digits, the same again when the workflow is replayed."""
    return workflow.uuid4().hex[:12]
