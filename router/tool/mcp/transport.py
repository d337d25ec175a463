"""Ways to a server: a program started here, or streamable HTTP.

The package `mcp` has a transport for programs; it hands the child more of the environment, holds a
line of any length in memory, keeps the child's complaints to itself, and leaves a child that
ignores the end of its input behind when this process is killed.
"""

import asyncio
import os
import re
import shutil
import signal
import sys
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio
import httpx2
import mcp_types as types
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.message import SessionMessage

from router.domain.errors import Unavailable
from router.domain.loopback import may_be_proxied
from router.tool.mcp import keeper
from router.tool.mcp.file import ServerEntry
from router.tool.mcp.untrusted import visible

LONGEST_LINE = 4 * 1024 * 1024
"""Bytes of one message."""
TOO_LONG = -32099
"""The code, of those that are left to us, under which a call learns that its answer was dropped."""
INHERITED = ("PATH", "HOME", "LANG")

CLOSING, TERMINATING = 0.6, 0.3
"""Seconds that it has to end once its input ends, and once it is told to."""

_CHUNK = 64 * 1024
_HEAD = 256
_LONGEST_SAID = 500
_ID = re.compile(rb'"id"\s*:\s*(\d{1,18}|"[^"\\]{1,100}")')

TransportStreams = tuple[Any, Any]
"""What a `mcp.client.Transport` gives: a stream of incoming messages, and one of outgoing."""
Incoming = MemoryObjectSendStream[SessionMessage | Exception]
Outgoing = MemoryObjectReceiveStream[SessionMessage]


@dataclass(frozen=True)
class Overlong:
    """The beginning of a line that was longer than allowed, the rest of which was dropped."""

    head: bytes


class Lines:
    r"""Bytes into lines of at most `longest`.

    >>> lines = Lines(longest=4)
    >>> [*lines.feed(b"one\ntw"), *lines.feed(b"o\nthree\n")]
    [b'one', b'two', Overlong(head=b'three')]
    """

    def __init__(self, longest: int = LONGEST_LINE) -> None:
        self._longest = longest
        self._held = bytearray()
        self._length = 0

    def feed(self, chunk: bytes) -> Iterator[bytes | Overlong]:
        """The lines that end in `chunk`."""
        *ended, rest = chunk.split(b"\n")
        for piece in ended:
            self._hold(piece)
            yield self._taken()
        self._hold(rest)

    def _hold(self, piece: bytes) -> None:
        self._length += len(piece)
        if self._length <= self._longest or len(self._held) < _HEAD:
            self._held += piece
        if self._length > self._longest:
            del self._held[_HEAD:]

    def _taken(self) -> bytes | Overlong:
        held, overlong = bytes(self._held), self._length > self._longest
        self._held.clear()
        self._length = 0
        return Overlong(held) if overlong else held


@asynccontextmanager
async def child_process(
    entry: ServerEntry,
    inherited: Mapping[str, str],
    ended: Callable[[], None],
    said: Callable[[str], None],
) -> AsyncIterator[TransportStreams]:
    """The streams of a server's program; it and all that it started are gone on leaving.

    `ended` is called once it has closed its output, `said` with every line of its complaints.
    Raises `Unavailable` where it can't be started.
    """
    process = await _started(entry, inherited)
    incoming_send, incoming = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    outgoing, outgoing_receive = anyio.create_memory_object_stream[SessionMessage](0)
    try:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(_read, process, incoming_send, ended, said)
            tasks.start_soon(_write, process, outgoing_receive)
            tasks.start_soon(_listen, process, said)
            yield incoming, outgoing
            tasks.cancel_scope.cancel()
    finally:
        with anyio.CancelScope(shield=True):
            await _stop(process)
        for stream in (incoming_send, incoming, outgoing, outgoing_receive):
            stream.close()


async def _started(entry: ServerEntry, inherited: Mapping[str, str]) -> asyncio.subprocess.Process:
    environment = {name: inherited[name] for name in INHERITED if name in inherited}
    environment |= entry.env
    command = str(entry.command)
    if shutil.which(command, path=environment.get("PATH")) is None:
        raise Unavailable(f"there is no program {command!r} that could be started")
    try:
        return await asyncio.create_subprocess_exec(
            *(sys.executable, "-I", "-S", str(Path(keeper.__file__)), str(os.getpid())),
            *(command, *entry.args),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            env=environment,
            cwd=entry.cwd,
            start_new_session=True,
        )
    except (OSError, ValueError) as error:
        raise Unavailable(f"{command!r} can't be started: {error}") from None


async def _read(
    process: asyncio.subprocess.Process,
    incoming: Incoming,
    ended: Callable[[], None],
    said: Callable[[str], None],
) -> None:
    lines = Lines()
    assert process.stdout is not None  # noqa: S101 - it was started with a pipe
    with incoming, suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
        while chunk := await process.stdout.read(_CHUNK):
            for line in lines.feed(chunk):
                message = _message(line)
                if message is not None:
                    await incoming.send(SessionMessage(message))
                elif line:
                    said("(it wrote something that is no message where messages go; ignored)")
    ended()


def _message(line: bytes | Overlong) -> types.JSONRPCMessage | None:
    if isinstance(line, Overlong):
        return _refusal(line)
    try:
        return types.jsonrpc_message_adapter.validate_json(line, by_name=False)
    except ValueError:
        return None


def _refusal(line: Overlong) -> types.JSONRPCMessage | None:
    """What the call gets whose answer was too long; None where that can't be told."""
    found = _ID.search(line.head)
    if found is None:
        return None
    identifier = found[1].decode(errors="replace")
    size = LONGEST_LINE // (1024 * 1024)
    error = types.ErrorData(code=TOO_LONG, message=f"the answer was longer than {size} MiB")
    return types.JSONRPCError(
        jsonrpc="2.0",
        id=identifier.strip('"') if identifier.startswith('"') else int(identifier),
        error=error,
    )


async def _write(process: asyncio.subprocess.Process, outgoing: Outgoing) -> None:
    assert process.stdin is not None  # noqa: S101 - it was started with a pipe
    # A pipe that broke has no reader any more: what it said last is read, and the end with it.
    with outgoing, suppress(ConnectionError):
        async for message in outgoing:
            written = message.message.model_dump_json(by_alias=True, exclude_unset=True)
            process.stdin.write(written.encode() + b"\n")
            await process.stdin.drain()


async def _listen(process: asyncio.subprocess.Process, said: Callable[[str], None]) -> None:
    lines = Lines(_LONGEST_SAID)
    assert process.stderr is not None  # noqa: S101 - it was started with a pipe
    while chunk := await process.stderr.read(_CHUNK):
        for line in lines.feed(chunk):
            words = line.head if isinstance(line, Overlong) else line
            said(visible(words.decode(errors="replace"), _LONGEST_SAID))


async def _stop(process: asyncio.subprocess.Process) -> None:
    """Ask, tell, and then make sure. Its keeper is the last of the group to go."""
    if process.stdin is not None:
        process.stdin.close()
    if await _gone(process, CLOSING):
        return
    for how, patience in ((signal.SIGTERM, TERMINATING), (signal.SIGKILL, TERMINATING)):
        with suppress(ProcessLookupError):
            os.killpg(process.pid, how)
        if await _gone(process, patience):
            return


async def _gone(process: asyncio.subprocess.Process, within: float) -> bool:
    with anyio.move_on_after(within):
        await process.wait()
    return process.returncode is not None


LONGEST_ANSWER = 4 * 1024 * 1024
"""Bytes of one message."""
SECONDS = 30.0


class _Bounded(httpx2.AsyncByteStream):
    """A body that ends in an error once it is longer than any message may be."""

    def __init__(self, stream: httpx2.AsyncByteStream) -> None:
        self._stream = stream

    async def __aiter__(self) -> AsyncIterator[bytes]:
        taken = 0
        async for chunk in self._stream:
            taken += len(chunk)
            if taken > LONGEST_ANSWER:
                size = LONGEST_ANSWER // (1024 * 1024)
                raise httpx2.StreamError(f"the answer was longer than {size} MiB")
            yield chunk

    async def aclose(self) -> None:
        await self._stream.aclose()


async def _bound(response: httpx2.Response) -> None:
    """Bound what is read whole; a stream of events is bounded event by event."""
    is_events = response.headers.get("content-type", "").startswith("text/event-stream")
    if not is_events and isinstance(response.stream, httpx2.AsyncByteStream):
        response.stream = _Bounded(response.stream)


@asynccontextmanager
async def called(entry: ServerEntry) -> AsyncIterator[TransportStreams]:
    """The streams of a server at an address.

    A stream of events may be silent for as long as it likes: calls have timeouts of their own.
    """
    async with (
        httpx2.AsyncClient(
            headers=dict(entry.headers),
            timeout=httpx2.Timeout(SECONDS, read=None),
            event_hooks={"response": [_bound]},
            trust_env=may_be_proxied(str(entry.url)),
        ) as http,
        streamable_http_client(
            str(entry.url), http_client=http, max_sse_event_size=LONGEST_ANSWER
        ) as streams,
    ):
        yield streams
