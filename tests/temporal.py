"""Temporal's own servers, from the binaries that the virtual environment has."""

import sys
from datetime import timedelta
from pathlib import Path
from typing import Any

from temporalio.api.enums.v1 import IndexedValueType
from temporalio.api.operatorservice.v1 import AddSearchAttributesRequest
from temporalio.client import Client
from temporalio.contrib.pydantic import pydantic_data_converter
from temporalio.testing import WorkflowEnvironment

SLOW_START = timedelta(minutes=2)
"""For machines that are busy with something else; what is tested begins after it."""


KEYWORD = IndexedValueType.INDEXED_VALUE_TYPE_KEYWORD
KEYWORD_LIST = IndexedValueType.INDEXED_VALUE_TYPE_KEYWORD_LIST
ATTRIBUTES = {
    **dict.fromkeys(("RouteKind", "RouteTarget", "RouteBy"), KEYWORD),
    **dict.fromkeys(("FlowName", "FlowState", "FlowStatus"), KEYWORD),
    **dict.fromkeys(("Requester", "ConversationId", "Tenant"), KEYWORD),
    "Assignee": KEYWORD_LIST,
}


async def dev_server(**options: Any) -> WorkflowEnvironment:
    """The server that `dev` runs, whose clock nobody moves; entered by whoever awaits it.

    >>> async with await dev_server() as environment:  # doctest: +SKIP
    ...     client = environment.client
    """
    return await WorkflowEnvironment.start_local(
        data_converter=pydantic_data_converter,
        dev_server_existing_path=_binary("temporal"),
        dev_server_startup_timeout=SLOW_START,
        **options,
    )


async def skipping_server() -> WorkflowEnvironment:
    """A server whose clock `environment.sleep` moves, and which skips what nobody waits for."""
    return await WorkflowEnvironment.start_time_skipping(
        data_converter=pydantic_data_converter,
        test_server_existing_path=_binary("temporal-test-server"),
        test_server_startup_timeout=SLOW_START,
    )


async def register_attributes(client: Client) -> None:
    """Have the search attributes that the workflows set."""
    await client.operator_service.add_search_attributes(
        AddSearchAttributesRequest(namespace=client.namespace, search_attributes=ATTRIBUTES)
    )


def _binary(name: str) -> str:
    return str(Path(sys.executable).with_name(name))
