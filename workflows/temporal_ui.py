"""What a person sees of a workflow in the Temporal UI."""

from typing import Any

from temporalio import workflow
from temporalio.common import SearchAttributeUpdate


class Shown:
    """What the UI shows of one workflow; attributes are written only where they are others."""

    def __init__(self) -> None:
        self._attributes: list[SearchAttributeUpdate[Any]] = []

    def show(self, attributes: list[SearchAttributeUpdate[Any]], details: str) -> None:
        """Have it found by these attributes, and described by these lines of Markdown."""
        if attributes != self._attributes:
            workflow.upsert_search_attributes(attributes)
            self._attributes = attributes
        workflow.set_current_details(details)
