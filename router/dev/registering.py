"""A Temporal namespace: whether it is there, and registering the search attributes it lacks."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from temporalio.api.enums.v1 import IndexedValueType
from temporalio.api.operatorservice.v1 import (
    AddSearchAttributesRequest,
    ListSearchAttributesRequest,
)
from temporalio.api.workflowservice.v1 import DescribeNamespaceRequest
from temporalio.client import Client
from temporalio.service import RPCError, RPCStatusCode

from router.contracts.search_attributes import SEARCH_ATTRIBUTES
from router.domain.errors import MisconfiguredError, Unavailable

_TYPES: dict[str, IndexedValueType.ValueType] = {
    "Keyword": IndexedValueType.INDEXED_VALUE_TYPE_KEYWORD,
    "KeywordList": IndexedValueType.INDEXED_VALUE_TYPE_KEYWORD_LIST,
}


@contextmanager
def temporal_says(absent: str = "") -> Iterator[None]:
    """What Temporal answers instead of an answer, as an error that says what to do.

    Raises:
        MisconfiguredError: `absent`, where it doesn't know what it was asked for.
        Unavailable: it doesn't tell.
    """
    try:
        yield
    except RPCError as error:
        if absent and error.status == RPCStatusCode.NOT_FOUND:
            raise MisconfiguredError(absent) from error
        raise Unavailable(f"Temporal can't say: {error.message}; try again") from error


async def check_namespace(client: Client) -> None:
    """Nothing, where the client's namespace is there.

    Raises:
        MisconfiguredError: it isn't.
        Unavailable: the server doesn't tell.
    """
    absent = (
        f"ROUTER_TEMPORAL_NAMESPACE={client.namespace} isn't there: correct it, or run "
        f"`temporal operator namespace create --namespace {client.namespace}`"
    )
    with temporal_says(absent):
        await client.workflow_service.describe_namespace(
            DescribeNamespaceRequest(namespace=client.namespace)
        )


async def missing_from(client: Client) -> list[str]:
    """Those that the client's namespace doesn't have, or has with another type.

    Raises:
        RPCError: the server doesn't tell.
    """
    request = ListSearchAttributesRequest(namespace=client.namespace)
    known = (await client.operator_service.list_search_attributes(request)).custom_attributes
    return [name for name, kind in SEARCH_ATTRIBUTES.items() if known.get(name) != _TYPES[kind]]


async def register(client: Client) -> None:
    """Add the missing ones to the client's namespace.

    Raises:
        RPCError: the server doesn't let us, as hosted ones don't.
    """
    missing = await missing_from(client)
    if missing:
        await add(client, missing)


async def add(client: Client, names: Iterable[str] = SEARCH_ATTRIBUTES) -> None:
    """Add these, all by default, to a namespace that has none of them.

    Raises:
        RPCError: the server doesn't let us.
    """
    wanted = {name: _TYPES[SEARCH_ATTRIBUTES[name]] for name in names}
    await client.operator_service.add_search_attributes(
        AddSearchAttributesRequest(namespace=client.namespace, search_attributes=wanted)
    )
