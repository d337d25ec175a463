"""Temporal's own servers, from the binaries that the virtual environment has."""

import asyncio
import sys
from datetime import timedelta
from pathlib import Path
from typing import Any

from temporalio.api.enums.v1 import IndexedValueType
from temporalio.api.operatorservice.v1 import AddSearchAttributesRequest
from temporalio.client import Client
from temporalio.contrib.pydantic import pydantic_data_converter
from temporalio.service import RPCError
from temporalio.testing import WorkflowEnvironment

from tests.servers import process_name, server_address

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


async def shared_client() -> Client:
    """Return a client of the server that the whole run shares, in this process's own namespace."""
    address = await asyncio.to_thread(server_address, "temporal")
    async with asyncio.timeout(SLOW_START.total_seconds()):
        while True:
            try:
                client = await Client.connect(
                    address, namespace=process_name(), data_converter=pydantic_data_converter
                )
                await register_attributes(client)
            except (RPCError, RuntimeError):
                await asyncio.sleep(0.1)  # the namespaces come after the port
            else:
                return client


async def dev_server(**options: Any) -> WorkflowEnvironment:
    """Start a server of the test's own, as `dev` runs it; enter the environment to use it.

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
