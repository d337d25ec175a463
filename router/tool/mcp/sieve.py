"""Tools that are none, taken out of what a server lists before the protocol library sees it.

The library refuses a list as a whole for one tool in it that is malformed, and with it every
other tool of that server.
"""

import logging
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from types import TracebackType
from typing import Any, Self

import mcp_types as types
from mcp.client._transport import ReadStream, TransportStreams
from mcp.shared.message import SessionMessage
from pydantic import ValidationError

from router.tool.mcp.untrusted import visible

Item = SessionMessage | Exception


@asynccontextmanager
async def sieved(
    transport: AbstractAsyncContextManager[TransportStreams], log: logging.Logger
) -> AsyncIterator[TransportStreams]:
    """The same streams; lists of tools that come in hold only tools."""
    async with transport as (incoming, outgoing):
        yield _Sieve(incoming, log), outgoing


class _Sieve:
    """A stream of messages that keeps what the one below knows of each."""

    def __init__(self, below: ReadStream[Item], log: logging.Logger) -> None:
        self._below = below
        self._log = log

    @property
    def last_context(self) -> Any:
        """The context that the last message came in, by which a question finds its call."""
        return getattr(self._below, "last_context", None)

    async def receive(self) -> Item:
        return self._sifted(await self._below.receive())

    async def aclose(self) -> None:
        await self._below.aclose()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Item:
        return self._sifted(await self._below.__anext__())

    async def __aenter__(self) -> Self:
        await self._below.__aenter__()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> bool | None:
        return await self._below.__aexit__(kind, error, trace)

    def _sifted(self, item: Item) -> Item:
        if isinstance(item, SessionMessage) and isinstance(item.message, types.JSONRPCResponse):
            listed = item.message.result.get("tools")
            if isinstance(listed, list):
                item.message.result["tools"] = [tool for tool in listed if self._is_tool(tool)]
        return item

    def _is_tool(self, listed: Any) -> bool:
        try:
            tool = types.Tool.model_validate(listed, by_name=False)
        except ValidationError as error:
            self._log.info("a tool is left out: %s", visible(str(error.errors()[0]["msg"]), 200))
            return False
        if tool.input_schema.get("type") == "object":
            return True
        name = visible(tool.name, 80)
        self._log.info("the tool %s is left out: its arguments are no object", name)
        return False
