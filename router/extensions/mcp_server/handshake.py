"""The revisions before 2026-07-28 over HTTP, in which a session begins with a handshake.

A session is nothing that a process holds: its id says what the handshake came to, which is
whether the program shows its person forms. So any process answers any request of it. What is
asked in the middle of a call goes out on the call's own stream; the answer comes as a request of
its own, at whichever process, and is passed on as progress is.
"""

import json
import logging
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import anyio
import mcp_types as types
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.server.connection import Connection
from mcp.server.lowlevel import Server
from mcp.server.runner import modern_error_data, serve_one
from mcp.server.streamable_http import check_accept_headers
from mcp.shared.dispatcher import CallOptions
from mcp.shared.exceptions import MCPError, NoBackChannelError
from mcp.shared.inbound import MCP_PROTOCOL_VERSION_HEADER
from mcp.shared.jsonrpc_dispatcher import progress_token_from_params
from mcp.shared.message import MessageMetadata, ServerMessageMetadata
from mcp.shared.transport_context import TransportContext
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS, LATEST_HANDSHAKE_VERSION
from pydantic import TypeAdapter, ValidationError
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.types import Receive, Scope, Send

from router.api.auth import CallerSession
from router.api.params import EVENTS, JSON, KeyParameter, fresh_id, media_type
from router.api.streams import HEARTBEAT
from router.domain.principals import Principal
from router.domain.progress import Progress
from router.formats.strict_json import strict_json
from router.store.live import Live

SESSION = "mcp-session-id"
FORMS, NO_FORMS = "forms", "plain"
ANSWER_SECONDS = 600.0
"""How long the person's answer is waited for, at most: then the question is left open."""
_WAITING = 16
"""Messages that a slow reader may be behind."""
NO_MESSAGE = "The body isn't one JSON-RPC request, notification or response"
_PING = b": ping\r\n\r\n"
_KEY: TypeAdapter[str] = TypeAdapter(KeyParameter)
_log = logging.getLogger(__name__)

HandshakeEnding = types.JSONRPCResponse | types.JSONRPCError
Outgoing = HandshakeEnding | types.JSONRPCRequest | types.JSONRPCNotification


def session_id(params: Mapping[str, Any] | None) -> str:
    """The id of the session that this handshake begins."""
    capabilities = (params or {}).get("capabilities")
    elicitation = capabilities.get("elicitation") if isinstance(capabilities, dict) else None
    shows = isinstance(elicitation, dict) and ("form" in elicitation or "url" not in elicitation)
    return f"{fresh_id()}.{FORMS if shows else NO_FORMS}"


def capabilities_of(session: str | None) -> dict[str, Any] | None:
    """What the program of the session can; None where no handshake gave such an id."""
    if session is None:
        return {}
    name, _, shows = session.partition(".")
    if shows not in {FORMS, NO_FORMS} or len(name) != len(fresh_id()) or not name.isalnum():
        return None
    return {"elicitation": {"form": {}}} if shows == FORMS else {}


@dataclass
class Dispatch:
    """One request on its way, and what is said to its program meanwhile."""

    live: Live
    caller: Principal
    transport: TransportContext
    request_id: types.RequestId
    message_metadata: MessageMetadata
    sink: MemoryObjectSendStream[Outgoing]
    patience: float = ANSWER_SECONDS
    """Seconds that the program's answer is waited for."""
    progress_token: types.ProgressToken | None = None
    cancel_requested: anyio.Event = field(default_factory=anyio.Event)

    @property
    def can_send_request(self) -> bool:
        """Whether the program's answers find their way."""
        return self.transport.can_send_request

    async def send_raw_request(
        self, method: str, params: Mapping[str, Any] | None, _: CallOptions | None = None
    ) -> dict[str, Any]:
        """Ask the program, and get its answer; `cancel` where none comes."""
        if not self.can_send_request:
            raise NoBackChannelError(method)
        id_ = fresh_id()
        place = place_of(self.caller, id_)
        async with self.live.listen(self.caller.tenant, place) as told:
            asked = types.JSONRPCRequest(
                jsonrpc="2.0", id=id_, method=method, params=dict(params or {})
            )
            await self.sink.send(asked)
            with anyio.move_on_after(self.patience):
                async for progress in told:
                    return _answer_in(progress.data)
        return {"action": "cancel"}

    async def notify(
        self, method: str, params: Mapping[str, Any] | None, _: CallOptions | None = None
    ) -> None:
        """Tell the program something."""
        said = dict(params) if params is not None else None
        with suppress(anyio.ClosedResourceError, anyio.BrokenResourceError):
            await self.sink.send(
                types.JSONRPCNotification(jsonrpc="2.0", method=method, params=said)
            )

    async def progress(
        self, progress: float, total: float | None = None, message: str | None = None
    ) -> None:
        """Tell it how far the request is, where it wants to know."""
        if self.progress_token is None:
            return
        told = {"progressToken": self.progress_token, "progress": progress}
        more = {"total": total, "message": message}
        known = {name: value for name, value in more.items() if value is not None}
        await self.notify("notifications/progress", {**told, **known})


def place_of(caller: Principal, asked: str) -> str:
    """Where the answer to what was asked is passed on: it is its person's alone."""
    return f"mcp/{caller.id}/{asked}"


def _answer_in(data: Mapping[str, Any]) -> dict[str, Any]:
    if "error" in data:
        raise MCPError.from_error_data(types.ErrorData.model_validate(data["error"]))
    return dict(data["result"])


@dataclass(frozen=True)
class HandshakeExchange:
    """One HTTP request of a program that speaks a revision with a handshake."""

    server: Server[Any]
    live: Live
    caller: Principal
    session: CallerSession

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer it."""
        request = Request(scope, receive)
        message = await self._read(request)
        if isinstance(message, Response):
            await message(scope, receive, send)
        elif isinstance(message, types.JSONRPCRequest):
            await self._answer(request, message, send)
        else:
            if not isinstance(message, types.JSONRPCNotification):
                await self._pass_on(message)
            await Response(status_code=202)(scope, receive, send)

    async def _read(self, request: Request) -> types.JSONRPCMessage | Response:
        """The message, or what is wrong with the request."""
        if not all(check_accept_headers(request)):
            return _refused(406, types.INVALID_REQUEST, f"Accept both {JSON} and {EVENTS}")
        if media_type(request.headers.get("content-type", "")) != JSON:
            return _refused(415, types.INVALID_REQUEST, f"Send the header Content-Type: {JSON}")
        message = _message_in(await request.body())
        if isinstance(message, Response):
            return message
        begins = isinstance(message, types.JSONRPCRequest) and message.method == "initialize"
        if not begins and capabilities_of(request.headers.get(SESSION)) is None:
            return _refused(404, types.INVALID_REQUEST, "Session not found; initialize anew")
        return message

    async def _answer(self, request: Request, message: types.JSONRPCRequest, send: Send) -> None:
        begins = message.method == "initialize"
        session = session_id(message.params) if begins else request.headers.get(SESSION)
        can, left = capabilities_of(session) or {}, self.session.seconds_left
        sending, receiving = anyio.create_memory_object_stream[Outgoing](_WAITING)
        dispatch = Dispatch(
            live=self.live,
            caller=self.caller,
            transport=TransportContext(kind="streamable-http", can_send_request=bool(can)),
            request_id=message.id,
            message_metadata=ServerMessageMetadata(request_context=request),
            sink=sending,
            patience=min(ANSWER_SECONDS, left) if left is not None else ANSWER_SECONDS,
            progress_token=progress_token_from_params(message.params),
        )
        revision = request.headers.get(MCP_PROTOCOL_VERSION_HEADER, LATEST_HANDSHAKE_VERSION)
        connection = Connection.from_envelope(
            LATEST_HANDSHAKE_VERSION if begins else revision,
            {"name": "program", "version": "0"},
            can,
        )
        headers = {SESSION: session} if begins and session else {}
        async with sending, receiving, anyio.create_task_group() as group:
            group.start_soon(self._serve, message, dispatch, connection)
            group.start_soon(_watch, request, group.cancel_scope)
            await _write(receiving, headers, send)
            group.cancel_scope.cancel()

    async def _serve(
        self, message: types.JSONRPCRequest, dispatch: Dispatch, connection: Connection
    ) -> None:
        answer: HandshakeEnding
        try:
            about = (message.method, message.params)
            result = await serve_one(
                self.server, dispatch, *about, connection=connection, lifespan_state={}
            )
            answer = types.JSONRPCResponse(jsonrpc="2.0", id=message.id, result=result)
        except Exception as error:  # noqa: BLE001 - whatever it is, it is answered, and logged there
            wrong = modern_error_data(error)
            answer = types.JSONRPCError(jsonrpc="2.0", id=message.id, error=wrong)
        await dispatch.sink.send(answer)

    async def _pass_on(self, message: HandshakeEnding) -> None:
        """Give the answer to the request of this person's that waits for it, if one does."""
        try:
            asked = _KEY.validate_python(message.id)
        except ValidationError:
            _log.info("an answer to nothing that was asked is passed over")
            return
        said = "error" if isinstance(message, types.JSONRPCError) else "result"
        data = message.model_dump(mode="json", by_alias=True, include={said}, exclude_none=True)
        place = place_of(self.caller, asked)
        told = {"conversation": place, "message_id": "", "type": "answered", "data": data}
        await self.live.tell(Progress.model_validate({"tenant": self.caller.tenant, **told}))


def _message_in(body: bytes) -> types.JSONRPCMessage | Response:
    """The message that a body is, or that it is none; what has an id is no notification."""
    try:
        read = strict_json(body)
    except ValueError:
        return _refused(400, types.PARSE_ERROR, "Parse error")
    try:
        message = types.jsonrpc_message_adapter.validate_python(read, by_name=False)
    except ValidationError:
        return _refused(400, types.INVALID_REQUEST, NO_MESSAGE)
    if isinstance(message, types.JSONRPCNotification) and "id" in read:
        return _refused(400, types.INVALID_REQUEST, NO_MESSAGE)
    return message


def is_handshake(revision: str | None) -> bool:
    """Whether a request of this revision, or of none, is of one with a handshake."""
    return revision is None or revision in HANDSHAKE_PROTOCOL_VERSIONS


def _refused(status: int, code: int, what: str) -> Response:
    error = {"jsonrpc": "2.0", "id": None, "error": {"code": code, "message": what}}
    return JSONResponse(error, status)


async def _watch(request: Request, scope: anyio.CancelScope) -> None:
    """Stop where nobody reads on: what was begun goes on in its conversation."""
    while (await request.receive())["type"] != "http.disconnect":
        pass
    scope.cancel()


async def _write(
    receiving: MemoryObjectReceiveStream[Outgoing], headers: Mapping[str, str], send: Send
) -> None:
    """The answer alone as JSON; with whatever is said before it, or where it takes long, events."""
    streams = False
    while True:
        said: Outgoing | None = None
        with anyio.move_on_after(HEARTBEAT):
            said = await receiving.receive()
        ends = isinstance(said, HandshakeEnding)
        if not streams:
            kind = JSON if ends else EVENTS
            await send(_start(kind, headers))
            streams = True
            if ends:
                await send({"type": "http.response.body", "body": _written(said)})
                return
        body = _PING if said is None else b"event: message\r\ndata: " + _written(said) + b"\r\n\r\n"
        await send({"type": "http.response.body", "body": body, "more_body": not ends})
        if ends:
            return


def _start(kind: str, headers: Mapping[str, str]) -> dict[str, Any]:
    named = {"content-type": kind, "x-accel-buffering": "no", **headers}
    encoded = [(name.encode(), value.encode()) for name, value in named.items()]
    return {"type": "http.response.start", "status": 200, "headers": encoded}


def _written(said: Outgoing | None) -> bytes:
    if said is None:
        return b""
    body = said.model_dump(mode="json", by_alias=True, exclude_none=True)
    return json.dumps(body, separators=(",", ":")).encode()
