"""One session with one server, for the life of the process: opened, watched, opened again.

            ┌──────────── lost, or can't be opened: wait, longer each time ───────────┐
            ▼                                                                         │
    open ▸ list what it has ▸ up: calls go through ▸ list again when it says so ──────┘

Whoever calls never waits for a server that is away. Nobody can be asked in the middle of a call: it
may be days before they answer. So a server's question fails the call, before anything was done, and
once there is an answer the call is made anew with it. The package `mcp` would hand a program more
of the environment, and leave it behind when this process is killed: so a keeper stands between.
"""

import asyncio
import json
import logging
import os
import random
import shutil
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from time import monotonic
from typing import Any, Self, TextIO, TypeVar

import anyio
import httpx2
import mcp_types as types
from mcp import Client, MCPError
from mcp.client import ClientRequestContext, IncomingMessage
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp.client.subscriptions import SubscriptionLost
from mcp.shared.message import SessionMessage
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import ValidationError

from router.domain.errors import Unavailable
from router.domain.loopback import may_be_proxied
from router.domain.visible_text import one_line
from router.extensions.mcp import keeper
from router.extensions.mcp.elicitation import NOBODY, Interview
from router.extensions.mcp.file import ServerEntry
from router.formats.http_body import PACKED, bounding
from router.outbound.client import GuardedTransport, system_resolver
from router.outbound.guard import OutboundGuard

INHERITED = ("PATH", "HOME", "LANG")

TransportStreams = tuple[Any, Any]
"""What a `mcp.client.Transport` gives: a stream of incoming messages, and one of outgoing."""


@asynccontextmanager
async def child_process(
    entry: ServerEntry, inherited: Mapping[str, str], said: Callable[[str], None]
) -> AsyncIterator[TransportStreams]:
    """The streams of a server's program; it and all that it started are gone on leaving.

    `said` gets every line of its complaints. Raises `Unavailable` where it can't be started.
    """
    environment = {name: inherited[name] for name in INHERITED if name in inherited}
    environment |= entry.env
    command = str(entry.command)
    if shutil.which(command, path=environment.get("PATH")) is None:
        raise Unavailable(f"there is no program {command!r} that could be started")
    kept = ["-I", "-S", str(Path(keeper.__file__)), str(os.getpid()), ",".join(environment)]
    server = StdioServerParameters(
        command=sys.executable, args=[*kept, command, *entry.args], env=environment, cwd=entry.cwd
    )
    async with AsyncExitStack() as stack:
        complaints = await stack.enter_async_context(_heard(said))
        try:
            streams = await stack.enter_async_context(stdio_client(server, complaints))
        except (OSError, ValueError) as error:
            raise Unavailable(f"{command!r} can't be started: {error}") from None
        yield streams


@asynccontextmanager
async def _heard(said: Callable[[str], None]) -> AsyncIterator[TextIO]:
    """A file whose every line `said` is called with."""
    reading, writing = os.pipe()
    lines = asyncio.StreamReader()
    loop = asyncio.get_running_loop()
    transport, _ = await loop.connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(lines), os.fdopen(reading, "rb")
    )

    async def listen() -> None:
        async for line in lines:
            said(one_line(line.decode(errors="replace"), keeper.LONGEST_SAID))

    listening = asyncio.create_task(listen())
    try:
        with os.fdopen(writing, "w") as file:
            yield file
    finally:
        listening.cancel()
        transport.close()


LONGEST_ANSWER = 4 * 1024 * 1024
SECONDS = 30.0


def _are_events(response: httpx2.Response) -> bool:
    """A stream of events is bounded event by event; only of a call's answer or news."""
    kind = response.headers.get("content-type", "").lower()
    is_read = response.is_success and response.request.method != "DELETE"
    return is_read and kind.startswith("text/event-stream")


@asynccontextmanager
async def called(
    entry: ServerEntry, guard: OutboundGuard | None = None
) -> AsyncIterator[TransportStreams]:
    """The streams of a server at an address, which may be silent for as long as it likes.

    With a `guard` no address is connected to that it bars.
    """
    async with (
        httpx2.AsyncClient(
            headers={"Accept-Encoding": PACKED, **entry.headers},
            timeout=httpx2.Timeout(SECONDS, read=None),
            event_hooks={"response": [bounding(LONGEST_ANSWER, _are_events)]},
            transport=GuardedTransport(guard, system_resolver) if guard else None,
            trust_env=guard is None and may_be_proxied(str(entry.url)),
        ) as http,
        streamable_http_client(
            str(entry.url), http_client=http, max_sse_event_size=LONGEST_ANSWER
        ) as streams,
    ):
        yield streams


SessionItem = SessionMessage | Exception


@asynccontextmanager
async def sieved(
    transport: AbstractAsyncContextManager[TransportStreams],
    log: logging.Logger,
    ended: Callable[[], None] | None,
) -> AsyncIterator[TransportStreams]:
    """The same streams; lists of tools that come in hold only tools, and `ended` hears the end.

    A tool has no schema of what it answers: the library would check that by any expression of it.
    """
    async with transport as (incoming, outgoing):
        yield _Sieve(incoming, log, ended), outgoing


class _Sieve:
    """A stream of messages that keeps what the one below knows of each."""

    def __init__(self, below: Any, log: logging.Logger, ended: Callable[[], None] | None) -> None:
        self._below = below
        self._ended = ended
        self._log = log

    @property
    def last_context(self) -> Any:
        """The context that the last message came in, by which a question finds its call."""
        return getattr(self._below, "last_context", None)

    async def receive(self) -> SessionItem:
        return self._sifted(await self._below.receive())

    async def aclose(self) -> None:
        await self._below.aclose()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> SessionItem:
        try:
            return self._sifted(await self._below.__anext__())
        except StopAsyncIteration:
            if self._ended:
                self._ended()
            raise

    async def __aenter__(self) -> Self:
        await self._below.__aenter__()
        return self

    async def __aexit__(self, *error: object) -> None:
        await self._below.__aexit__(*error)

    def _sifted(self, item: SessionItem) -> SessionItem:
        if isinstance(item, SessionMessage):
            _shorten(item.message)
        if isinstance(item, SessionMessage) and isinstance(item.message, types.JSONRPCResponse):
            listed = item.message.result.get("tools")
            if isinstance(listed, list):
                item.message.result["tools"] = [tool for tool in listed if self._is_tool(tool)]
        return item

    def _is_tool(self, listed: Any) -> bool:
        try:
            tool = types.Tool.model_validate(listed, by_name=False)
        except ValidationError as error:
            self._log.info("a tool is left out: %s", one_line(str(error.errors()[0]["msg"]), 200))
            return False
        listed.pop("outputSchema", None)
        why = "" if tool.input_schema.get("type") == "object" else "its arguments are no object"
        if len(json.dumps(listed, ensure_ascii=False)) > LONGEST_TOOL:
            why = f"it is described in more than {LONGEST_TOOL} characters"
        if why:
            self._log.info("the tool %s is left out: %s", one_line(tool.name, 80), why)
        return not why


LONGEST_TOOL = 256 * 1024
"""Characters of JSON: of one tool, with all that its server says of it."""
MOST_ENTRIES = 3_000
"""Of all lists of a message, and of each object: the library has a dozen errors for each that is
wrong, and a thousand bytes for each error."""
_AS_IT_IS = frozenset(("structuredContent", "inputSchema", "requestedSchema", "_meta"))
"""Where a message holds any JSON, which the library doesn't look into."""


def _shorten(message: types.JSONRPCMessage) -> None:
    """Leave no more in the lists of a message than is read within a moment."""
    left = MOST_ENTRIES
    found = [getattr(message, part, None) for part in ("result", "params")]
    found += [message.error.data] if isinstance(message, types.JSONRPCError) else []
    for value in found:  # which grows
        if isinstance(value, list):
            del value[left:]
            left -= len(value)
            found += value
        elif isinstance(value, dict):
            for name in [*value][MOST_ENTRIES:]:
                del value[name]
            found += (each for name, each in value.items() if name not in _AS_IT_IS)


OPENED_WITHIN = 60.0
"""Seconds to start and list what there is: a package runner fetches the server first."""
ASKED_AGAIN = 300.0
"""Seconds after which what there is is listed again, in case a change wasn't told or heard."""
LISTED_AT_MOST_EVERY = 2.0
ANSWERED_WITHIN = 30.0
FIRST_WAIT, LONGEST_WAIT = 0.5, 60.0
STEADY = 60.0
"""Seconds up after which a loss is waited for as briefly as the first."""
MOST_TOOLS = 200
"""Of one server: what lists more is broken or worse."""

Out = TypeVar("Out")

_CHANGES = (
    types.ToolListChangedNotification,
    types.ResourceListChangedNotification,
    types.PromptListChangedNotification,
)
_GONE = "Session terminated"
"""What the transport says where a server has forgotten the session, as after its restart."""

_interview: ContextVar[Interview | None] = ContextVar("interview", default=None)


class Away(Exception):
    """The server isn't there; the call wasn't sent."""


class Lost(Exception):
    """The server went while the call was under way: it may have been made."""


@dataclass(frozen=True)
class Listing:
    """What a server has."""

    tools: tuple[types.Tool, ...] = ()
    resources: bool = False
    prompts: bool = False

    def has(self, tool: str) -> bool:
        """True where it has a tool of this name."""
        return any(each.name == tool for each in self.tools)


class McpConnection:
    """A server by its name; `changed` is called whenever `listing` is another."""

    def __init__(
        self,
        name: str,
        entry: ServerEntry,
        inherited: Mapping[str, str],
        changed: Callable[[], Awaitable[None]],
        guard: OutboundGuard | None = None,
    ) -> None:
        self.name = name
        self._guard = guard
        self.entry = entry
        self.listing: Listing | None = None
        self.away: str | None = None
        """Why it isn't there, while it isn't."""
        self.tried = asyncio.Event()
        """Set once it has been there, or failed to be."""
        self._inherited = inherited
        self._changed = changed
        self._client: Client | None = None
        self._places = asyncio.Semaphore(entry.calls)
        self._waiting: list[Interview] = []
        self._news = asyncio.Event()
        self._gone = False
        self._said = ""
        self._log = logging.getLogger(f"router.mcp.{name}")

    async def run(self) -> None:
        """Keep the session up until cancelled; there is none where a variable isn't set."""
        if self.entry.lacks:
            self._note_away(str(self.entry.lacks), "then start again")
            return
        wait, this = FIRST_WAIT, asyncio.current_task()
        while True:
            began = monotonic()
            why = await self._session()
            if this is not None and this.cancelling():
                # What fails while it is cancelled ends as its failure: a task group says so.
                raise asyncio.CancelledError
            self._note_away(why)
            wait = FIRST_WAIT if monotonic() - began > STEADY else wait
            await asyncio.sleep(wait * random.uniform(0.75, 1.25))  # noqa: S311 - spreads starts
            wait = min(wait * 2, LONGEST_WAIT)

    async def look(self, within: float) -> Listing:
        """What the server has, asked in a session of its own; raises `Away` with why not."""
        if self.entry.lacks:
            raise Away(str(self.entry.lacks))
        try:
            async with asyncio.timeout(within), self._opened() as client:
                return await _listing(client)
        except TimeoutError:
            raise Away(f"it doesn't answer within {within:g} s{self._complaint()}") from None
        except Exception as error:
            raise Away(f"{_reason(error)}{self._complaint()}") from error

    async def ask(self, question: Callable[[Client], Awaitable[Out]], interview: Interview) -> Out:
        """What the server answers; what it wants to know meanwhile is asked in `interview`.

        Raises `Away`, `Lost`, and `MCPError` for what the server refuses.
        """
        async with self._places:
            client = self._client
            if client is None:
                raise Away(self.away or "it is still being started")
            self._waiting.append(interview)
            token = _interview.set(interview)
            try:
                return await question(client)
            except MCPError as error:
                if self._is_loss(error):
                    raise Lost(one_line(str(error), 200)) from error
                raise
            except (anyio.ClosedResourceError, anyio.BrokenResourceError) as error:
                raise Lost("the connection was closed") from error
            finally:
                _interview.reset(token)
                self._waiting.remove(interview)

    def _is_loss(self, error: MCPError) -> bool:
        forgotten = error.code == types.INVALID_REQUEST and error.message == _GONE
        if forgotten or error.code == types.CONNECTION_CLOSED:
            self._lose()
            return True
        return error.code == types.REQUEST_TIMEOUT

    async def _session(self) -> str:
        """One session from its opening to its end; why it ended."""
        self._gone = False
        self._news.clear()
        try:
            with anyio.move_on_after(OPENED_WITHIN) as opening:
                async with self._opened() as client:
                    listing = await _listing(client)
                    opening.deadline = float("inf")
                    await self._while_up(client, listing)
        except Exception as error:  # noqa: BLE001 - whatever a server does, the others go on
            return _reason(error)
        finally:
            self._client = None
        if opening.cancelled_caught:
            return f"it doesn't answer within {OPENED_WITHIN:g} s"
        return "it closed the connection"

    async def _while_up(self, client: Client, listing: Listing) -> None:
        self._client = client
        level = logging.INFO if self.away is None else logging.WARNING
        told = "the MCP server %s is there, with %d tools"
        self._log.log(level, told, self.name, len(listing.tools))
        self.away = None
        await self._take(listing)
        self.tried.set()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._heed, client)
            while not self._gone:
                with anyio.move_on_after(ASKED_AGAIN):
                    await self._news.wait()
                self._news.clear()
                if not self._gone:
                    with anyio.fail_after(ANSWERED_WITHIN):
                        await self._take(await _listing(client))
                    # Who tells of changes without end would have nothing else done here.
                    await anyio.sleep(LISTED_AT_MOST_EVERY)
            self._client = None
            tasks.cancel_scope.cancel()

    async def _take(self, listing: Listing) -> None:
        if listing != self.listing:
            self.listing = listing
            await self._changed()

    async def _heed(self, client: Client) -> None:
        """Hear of changes from a server that tells only those who subscribe."""
        if client.protocol_version not in MODERN_PROTOCOL_VERSIONS:
            return
        try:
            async with client.listen(
                tools_list_changed=True, prompts_list_changed=True, resources_list_changed=True
            ) as events:
                self._news.set()
                async for _ in events:
                    self._news.set()
        except (MCPError, SubscriptionLost) as error:
            # Some servers have none; whoever loses one is asked again soon enough.
            self._log.debug("no subscription: %s", error)

    def _opened(self) -> Client:
        """A client whose session is open while it is entered."""
        ended = None  # An address has no end of its own: a call that fails tells.
        if self.entry.url is not None:
            transport = called(self.entry, self._guard)
        else:
            transport = child_process(self.entry, self._inherited, self._complained)
            ended = self._lose
        us = types.Implementation(name="intent-router", version=version("intent-router"))
        return Client(
            sieved(transport, self._log, ended),
            mode=self.entry.protocol,
            cache=None,
            read_timeout_seconds=None,
            client_info=us,
            elicitation_callback=self._elicited,
            message_handler=self._heard,
        )

    async def _heard(self, message: IncomingMessage) -> None:
        if isinstance(message, _CHANGES):
            self._news.set()

    async def _elicited(
        self,
        context: ClientRequestContext,  # noqa: ARG002 - the SDK passes it by name
        params: types.ElicitRequestParams,
    ) -> types.ElicitResult | types.ErrorData:
        """Over a program's output a question isn't told whose it is: only one call alone can be."""
        interview = _interview.get()
        if interview is None and len(self._waiting) == 1:
            interview = self._waiting[0]
        return interview.answer(params) if interview else NOBODY

    def _lose(self) -> None:
        self._gone = True
        self._client = None
        self._news.set()

    def _complained(self, line: str) -> None:
        self._said = line
        # A program may well print what it was called with, which came from a conversation.
        self._log.debug("%s", line)

    def _complaint(self) -> str:
        return f"; it last said: {one_line(self._said, 200)}" if self._said else ""

    def _note_away(
        self, why: str, remedy: str = "it is tried again; `intent-router doctor` says more"
    ) -> None:
        if self.away is None:
            told = (self.name, why, self._complaint(), remedy)
            self._log.warning("the MCP server %s isn't there: %s%s; %s", *told)
        self.away = why
        self.tried.set()


async def look(
    name: str, entry: ServerEntry, inherited: Mapping[str, str], within: float
) -> Listing:
    """What a server has, asked in a session of its own; raises `Away` with why it can't be said."""

    async def changed() -> None:
        """Nobody keeps what was looked at."""

    return await McpConnection(name, entry, inherited, changed).look(within)


async def _listing(client: Client) -> Listing:
    """What the server has: many say that they may have resources and prompts, and have none."""
    says = client.server_capabilities
    return Listing(
        tools=tuple(await _tools(client)) if says.tools is not None else (),
        resources=says.resources is not None and await _has_resources(client),
        prompts=says.prompts is not None and bool((await client.list_prompts()).prompts),
    )


async def _has_resources(client: Client) -> bool:
    if (await client.list_resources()).resources:
        return True
    try:
        return bool((await client.list_resource_templates()).resource_templates)
    except MCPError as error:
        if error.code != types.METHOD_NOT_FOUND:
            raise
        return False


async def _tools(client: Client) -> list[types.Tool]:
    found: list[types.Tool] = []
    cursor: str | None = None
    while len(found) < MOST_TOOLS:
        page = await client.list_tools(cursor=cursor)
        found += page.tools
        if page.next_cursor is None or page.next_cursor == cursor or not page.tools:
            break
        cursor = page.next_cursor
    return found[:MOST_TOOLS]


def _reason(error: BaseException) -> str:
    """The first thing that went wrong, of all that went wrong with it."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    if isinstance(error, MCPError) and error.code == types.CONNECTION_CLOSED:
        return "it ended before it answered"
    return one_line(str(error), 300) or type(error).__name__
