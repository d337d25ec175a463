"""The way to Temporal: the connection, its UI, its namespace and search attributes."""

import asyncio
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager

from temporalio.api.enums.v1 import IndexedValueType
from temporalio.api.operatorservice.v1 import (
    AddSearchAttributesRequest,
    ListSearchAttributesRequest,
)
from temporalio.api.workflowservice.v1 import DescribeNamespaceRequest
from temporalio.client import Client, Plugin
from temporalio.runtime import Runtime
from temporalio.service import RetryConfig, RPCError, RPCStatusCode

from router.contracts.start_options import SEARCH_ATTRIBUTES
from router.domain.errors import MisconfiguredError, Unavailable
from router.secrecy.codec import data_converter
from router.settings import Settings

_CLIENT_RETRIES = RetryConfig(max_elapsed_time_millis=2000)
"""The client itself retries for so long; `router.gateway.retries.persistently` comes on top."""


async def connect(
    settings: Settings, plugins: Sequence[Plugin] = (), runtime: Runtime | None = None
) -> Client:
    """A client for the Temporal server that the settings name; `Unavailable`: it doesn't answer."""
    try:
        return await Client.connect(
            settings.temporal_address,
            namespace=settings.temporal_namespace,
            data_converter=data_converter(
                settings.payload_keys, only=settings.encrypted_payloads_only
            ),
            retry_config=_CLIENT_RETRIES,
            plugins=plugins,
            runtime=runtime,
        )
    except RuntimeError as error:
        raise Unavailable(
            f"No Temporal server answers at ROUTER_TEMPORAL_ADDRESS={settings.temporal_address}: "
            "start it, or correct the address"
        ) from error


class TemporalConnection:
    """A client that is made when it is first asked for, and kept: most commands never need one."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._connecting = asyncio.Lock()
        self._client: Client | None = None

    async def __call__(self) -> Client:
        """The client; raises `Unavailable` as `connect` does, and tries anew the next time."""
        async with self._connecting:
            if self._client is None:
                self._client = await connect(self._settings)
            return self._client


_TYPES: dict[str, IndexedValueType.ValueType] = {
    "Keyword": IndexedValueType.INDEXED_VALUE_TYPE_KEYWORD,
    "KeywordList": IndexedValueType.INDEXED_VALUE_TYPE_KEYWORD_LIST,
}


@contextmanager
def temporal_says(absent: str = "") -> Iterator[None]:
    """What Temporal says instead of an answer, as an error; `absent` where it has no such thing."""
    try:
        yield
    except RPCError as error:
        if absent and error.status == RPCStatusCode.NOT_FOUND:
            raise MisconfiguredError(absent) from error
        raise Unavailable(f"Temporal can't say: {error.message}; try again") from error


async def check_namespace(client: Client) -> None:
    """Raises `MisconfiguredError` where the client's namespace isn't there."""
    absent = (
        f"ROUTER_TEMPORAL_NAMESPACE={client.namespace} isn't there: correct it, or run "
        f"`temporal operator namespace create --namespace {client.namespace}`"
    )
    request = DescribeNamespaceRequest(namespace=client.namespace)
    with temporal_says(absent):
        await client.workflow_service.describe_namespace(request)


async def missing_from(client: Client) -> list[str]:
    """Those that the client's namespace doesn't have, or has with another type."""
    request = ListSearchAttributesRequest(namespace=client.namespace)
    known = (await client.operator_service.list_search_attributes(request)).custom_attributes
    return [name for name, kind in SEARCH_ATTRIBUTES.items() if known.get(name) != _TYPES[kind]]


async def register(client: Client) -> None:
    """Add the missing ones to its namespace; `RPCError`: we aren't let, as by hosted servers."""
    missing = await missing_from(client)
    if missing:
        await add(client, missing)


async def add(client: Client, names: Iterable[str] = SEARCH_ATTRIBUTES) -> None:
    """Add these, all by default, to a namespace that has none of them."""
    wanted = {name: _TYPES[SEARCH_ATTRIBUTES[name]] for name in names}
    await client.operator_service.add_search_attributes(
        AddSearchAttributesRequest(namespace=client.namespace, search_attributes=wanted)
    )
