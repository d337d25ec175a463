"""`intent-router mcp`: the desk for other agents, each flow, skill and tool of it a tool over MCP.

Nothing here confirms or decides by itself: what is to be confirmed comes back as a `confirm` reply,
for a person to see. What a call leaves out is asked for in the turn that comes back. Each call that
starts something has a conversation of its own: its words never answer what another one asked.
"""

import asyncio
import json
import logging
import sys
from collections.abc import Awaitable, Callable, Mapping
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Annotated, Any, get_args
from urllib.parse import quote

import mcp_types as types
import typer
import uvicorn
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp_types import ToolAnnotations
from pydantic import JsonValue

from router.cli.options import Url, api_url
from router.cli.rest import Rest
from router.client import Refused
from router.domain.errors import Forbidden, InvalidInput, NotFound, RouterError, Unavailable
from router.domain.messages import LONGEST_QUESTION, FlowStatus
from router.flow.engine.run import Verdict
from router.tool.implementation import ArgumentSchema

SECONDS = 60.0
"""How long a turn is waited for; one that takes longer goes on, and can be asked for."""

Arguments = Mapping[str, Any]
LOOKS = ToolAnnotations(read_only_hint=True, destructive_hint=False, open_world_hint=False)
ACTS = ToolAnnotations(read_only_hint=False, destructive_hint=False, open_world_hint=False)
COMMITS = ToolAnnotations(read_only_hint=False, destructive_hint=True, open_world_hint=False)
"""Makes something happen that others see: for a person to say yes to."""

CONVERSATION: dict[str, JsonValue] = {
    "type": "string",
    "maxLength": 128,
    "description": "The conversation to go on with, as a turn names it",
}
QUESTION: dict[str, JsonValue] = {
    "type": "string",
    "maxLength": LONGEST_QUESTION,
    "description": "The `question` of the reply that is answered, so that no later one is",
}


Run = Callable[["Session", Arguments], Awaitable[dict[str, Any]]]


@dataclass(frozen=True)
class OfferedTool:
    """A tool of the desk."""

    name: str
    description: str
    properties: Mapping[str, JsonValue]
    annotations: ToolAnnotations
    run: Run
    required: tuple[str, ...] | None = ()
    shared: Mapping[str, JsonValue] = field(default_factory=dict)
    """What the properties refer to."""

    @property
    def schema(self) -> ArgumentSchema:
        """Of its arguments."""
        whole = {"type": "object", "properties": dict(self.properties), **self.shared}
        if self.required is not None:
            whole["required"] = list(self.required)
        return ArgumentSchema(whole)


class Session:
    """A person at the desk, who goes on where their last turn was if it `keeps` that."""

    def __init__(self, rest: Rest, *, keeps: bool) -> None:
        self.rest = rest
        self._keeps = keeps
        self._conversation: str | None = None

    async def capabilities(self, kind: str | None = None) -> list[dict[str, Any]]:
        """What the person may use, less the skills that no model may choose."""
        items: list[dict[str, Any]] = (await self.rest.get("/v1/capabilities", kind=kind))["items"]
        return [each for each in items if not each.get("named_only")]

    async def send(self, given: Arguments, message: dict[str, Any]) -> dict[str, Any]:
        """The turn that answers, with the conversation it belongs to, or that it still runs."""
        return await self._sent(given.get("conversation") or self._conversation, message)

    async def send_apart(self, given: Arguments, message: dict[str, Any]) -> dict[str, Any]:
        """The same in a conversation of its own, unless one is named; later answers are to it."""
        return await self._sent(given.get("conversation"), message)

    async def turn(self, given: Arguments) -> dict[str, Any]:
        """The turn that answered an earlier message of a conversation, or that it still runs."""
        conversation = str(given["conversation"])
        path = f"{_messages(conversation)}/{quote(given['message_id'], safe='')}"
        return self._told(conversation, await self.rest.get(path))

    async def _sent(self, named: Any, message: dict[str, Any]) -> dict[str, Any]:
        conversation = str(named or (await self.rest.post("/v1/conversations", {}))["id"])
        return self._told(
            conversation, await self.rest.post(_messages(conversation), message, wait=SECONDS)
        )

    def _told(self, conversation: str, turn: dict[str, Any]) -> dict[str, Any]:
        # Only now: a message that was refused leaves everything as it was.
        self._conversation = conversation if self._keeps else None
        return {"conversation": conversation, **turn}


def _messages(conversation: str) -> str:
    return f"/v1/conversations/{quote(conversation, safe='')}/messages"


def _answer(kind: str, argument: str) -> Run:
    """Answers with an action of this kind, to the question that the other agent names, if any."""

    async def run(session: Session, given: Arguments) -> dict[str, Any]:
        named = {"question": given["question"]} if given.get("question") else {}
        action = {"type": kind, argument: given[argument], **named}
        return await session.send(given, {"action": action})

    return run


WORDS: dict[str, JsonValue] = {"type": "string", "minLength": 1, "maxLength": 8000}
_ID: JsonValue = {"type": "string", "minLength": 1, "maxLength": 128}


async def _list(session: Session, given: Arguments) -> dict[str, Any]:
    return {"items": await session.capabilities(given.get("kind"))}


async def _decide(session: Session, given: Arguments) -> dict[str, Any]:
    decision = {key: value for key, value in given.items() if key != "approval"}
    path = f"/v1/approvals/{quote(given['approval'], safe='')}/decision"
    return await session.rest.post(path, decision)


_ANSWERED: dict[str, JsonValue] = {"question": QUESTION, "conversation": CONVERSATION}

ALWAYS = (
    OfferedTool(
        "list_capabilities",
        "Lists the flows, skills and tools that this person may use, by name.",
        {"kind": {"type": "string", "enum": ["flow", "skill", "tool"]}},
        LOOKS,
        _list,
    ),
    OfferedTool(
        "say",
        "Says something to the desk, in Chinese or English, and gives the turn that answers. Its "
        "`replies` may ask: answer `choices` by choose, a `form` by fill or in words, `confirm` "
        "by confirm once the person has agreed.",
        {"text": WORDS, "conversation": CONVERSATION},
        ACTS,
        lambda session, given: session.send(given, {"text": given["text"]}),
        ("text",),
    ),
    OfferedTool(
        "choose",
        "Picks one of the options that the last turn offered, by its value.",
        {"value": {}, **_ANSWERED},
        ACTS,
        _answer("choose", "value"),
        ("value",),
    ),
    OfferedTool(
        "fill",
        "Fills in the form that the last turn asked for: values by the names of its fields.",
        {"values": {"type": "object"}, **_ANSWERED},
        ACTS,
        _answer("form", "values"),
        ("values",),
    ),
    OfferedTool(
        "confirm",
        "Answers what the last turn wants confirmed. Say true only where the person has seen the "
        "summary and agreed to it: it is then done in their name. "
        "`question` is that of the `confirm` reply.",
        {"value": {"type": "boolean"}, **_ANSWERED},
        COMMITS,
        _answer("confirm", "value"),
        ("value", "question"),
    ),
    OfferedTool(
        "turn",
        "Gives the turn that answered an earlier message, for one that was still running.",
        {"conversation": CONVERSATION, "message_id": _ID},
        LOOKS,
        Session.turn,
        ("conversation", "message_id"),
    ),
    OfferedTool(
        "flow_runs",
        "Lists what this person has asked for, newest first, and how it stands.",
        {"status": {"type": "string", "enum": list(get_args(FlowStatus))}},
        LOOKS,
        lambda session, given: session.rest.get("/v1/flow-runs", status=given.get("status")),
    ),
    OfferedTool(
        "approvals",
        "Lists what waits for this person's decision, each with the digest of what it shows.",
        {},
        LOOKS,
        lambda session, _: session.rest.get("/v1/approvals"),
    ),
    OfferedTool(
        "decide",
        "Gives this person's decision on an approval. Only where the person has seen it and "
        "decided: send its digest back, so that nothing else is decided.",
        {
            "approval": _ID,
            "decision": {"type": "string", "enum": list(get_args(Verdict))},
            "digest": _ID,
            "comment": {"type": "string", "maxLength": 2000},
            "to": {"type": "string", "maxLength": 64, "description": "For delegate and add"},
        },
        COMMITS,
        _decide,
        ("approval", "decision", "digest"),
    ),
)


Listed = Mapping[str, Any]
"""A capability as `/v1/capabilities` lists it."""


def by_name(capability: Listed) -> OfferedTool:
    """A flow, skill or tool as a tool that starts it; skills are asked for in words and chosen."""
    name, about, title = (capability[key] for key in ("name", "description", "title"))
    parameters = capability.get("parameters") or {}
    own = dict(parameters.get("properties") or {})
    is_skill = capability["kind"] == "skill"
    said = "What is wanted" if is_skill else "Said to it"
    said += f" in one sentence that says all that is known: {title}, …"
    ours: dict[str, JsonValue] = {
        "request": {**WORDS, "description": said},
        "conversation": CONVERSATION,
    }

    async def ask(session: Session, given: Arguments) -> dict[str, Any]:
        turn = await session.send_apart(given, {"text": given.get("request") or title})
        choices = [reply for reply in turn.get("replies", []) if reply["type"] == "choices"]
        if name in [option["value"] for reply in choices for option in reply["options"]]:
            return await session.send(turn, {"action": {"type": "choose", "value": name}})
        return turn

    async def start(session: Session, given: Arguments) -> dict[str, Any]:
        mine = {key: value for key, value in given.items() if key in ours and key not in own}
        slots = {key: value for key, value in given.items() if key in own and value is not None}
        action = {"type": "start", "flow": name, "slots": slots}
        turn = await session.send_apart(mine, {"action": action})
        flow = turn.get("flow") or {}
        # Only where it wants to know more: no words of an agent's are a yes.
        if mine.get("request") and (flow.get("name"), flow.get("status")) == (name, "collecting"):
            return await session.send(turn, {"text": mine["request"]})
        return turn

    if is_skill:
        about = f"{about} Asks the desk for it and gives the turn that answers."
        return OfferedTool(name, about, ours, ACTS, ask, None)
    about = (
        f"{about} Gives the turn that answers. What is left out it asks for: "
        "answer by fill, choose or confirm, with the turn's conversation."
    )
    shared = {key: parameters[key] for key in ("$defs", "definitions") if key in parameters}
    return OfferedTool(name, about, {**ours, **own}, ACTS, start, None, shared)


LOOPBACK = "127.0.0.1"
INSTRUCTIONS = """\
The front desk of a company, as one of its people. Say what is wanted; what comes back is a turn.
Nothing is done in this person's name before they have confirmed it: show them what is asked.
"""

_log = logging.getLogger(__name__)


class McpTools:
    """Lists and runs the tools of a session."""

    def __init__(self, session: Session) -> None:
        self._session = session

    async def offered(self) -> dict[str, OfferedTool]:
        """Every tool by name; those of the desk itself win."""
        try:
            capabilities = await self._session.capabilities()
        except Unavailable as error:
            _log.warning("%s", error)
            capabilities = []
        named = [by_name(each) for each in capabilities if not each.get("client")]
        return {tool.name: tool for tool in (*named, *ALWAYS)}

    async def list_tools(
        self, _: ServerRequestContext[Any], __: types.PaginatedRequestParams | None
    ) -> types.ListToolsResult:
        """What can be done here, by this person, now."""
        tools = [
            types.Tool(
                name=tool.name,
                description=tool.description,
                input_schema=tool.schema.schema,
                annotations=tool.annotations,
            )
            for tool in (await self.offered()).values()
        ]
        return types.ListToolsResult(tools=tools)

    async def call_tool(
        self, _: ServerRequestContext[Any], params: types.CallToolRequestParams
    ) -> types.CallToolResult:
        """What a tool comes to; a refusal is a result too, for whoever asked to read."""
        try:
            offered, arguments = await self.offered(), params.arguments or {}
            if params.name not in offered:
                raise NotFound(f"there is no tool {params.name[:80]!r} here; list the tools")
            tool = offered[params.name]
            if problems := tool.schema.problems(arguments):
                raise InvalidInput("; ".join(problems[:10]))
            answer = await tool.run(self._session, arguments)
        except RouterError as error:
            return types.CallToolResult(content=[types.TextContent(text=str(error))], is_error=True)
        text = json.dumps(answer, ensure_ascii=False)
        return types.CallToolResult(
            content=[types.TextContent(text=text)], structured_content=answer
        )


def server_of(session: Session) -> Server[Any]:
    """The server of a session, for any transport."""
    tools = McpTools(session)
    return Server(
        "intent-router",
        instructions=INSTRUCTIONS,
        on_list_tools=tools.list_tools,
        on_call_tool=tools.call_tool,
    )


async def over_stdio(url: str, token: str) -> None:
    """Serve whoever started this process until its input ends; `Forbidden`: it can't be."""
    async with aclosing(Rest(url, token)) as rest:
        session = Session(rest, keeps=True)
        server = server_of(session)
        await _greet(session, url)
        async with stdio_server() as (incoming, outgoing):
            await server.run(incoming, outgoing, server.create_initialization_options())


async def over_http(url: str, token: str, port: int) -> None:
    """Serve programs of this machine until cancelled, all as the same person; raises the same."""
    async with aclosing(Rest(url, token)) as rest:
        session = Session(rest, keeps=False)
        app = server_of(session).streamable_http_app(host=LOOPBACK)
        config = uvicorn.Config(
            app, host=LOOPBACK, port=port, log_level="warning", timeout_graceful_shutdown=2
        )
        await _greet(session, url)
        await uvicorn.Server(config).serve()


async def _greet(session: Session, url: str) -> None:
    """Say where the desk is, once it knows the person: whoever starts a server sees how it ends."""
    try:
        await session.capabilities()
    except Refused as error:
        raise Forbidden(
            f"the API won't have this person: {error} Name a user id of its directory with --user "
            "where ROUTER_AUTH=dev, else a valid token in ROUTER_TOKEN"
        ) from None
    # Whatever logs writes to stderr: stdout belongs to the protocol.
    print(f"intent-router mcp: the desk at {url}", file=sys.stderr)


def mcp(
    url: Url = None,
    user: Annotated[
        str | None, typer.Option(help="Whom to act as, where ROUTER_AUTH=dev: a user id.")
    ] = None,
    token: Annotated[
        str | None,
        typer.Option(
            envvar="ROUTER_TOKEN",
            help="A bearer token instead, from `intent-router token`; better in the variable.",
        ),
    ] = None,
    http: Annotated[
        int | None,
        typer.Option(
            metavar="PORT",
            min=1,
            max=65535,
            help="Serve http://127.0.0.1:PORT/mcp instead of stdin and stdout. Every program of "
            "this machine then acts as that person.",
        ),
    ] = None,
) -> None:
    """Serve the desk to other agents as an MCP server.

    It is a client of the REST API, which has to run: what is begun here is as durable as what is
    begun in a chat, and nothing is confirmed but by whoever calls.
    """
    bearer = user or token
    if not bearer or (user and token):
        raise typer.BadParameter("name one of --user and --token (or ROUTER_TOKEN)")
    at = api_url(url)
    if not at.startswith(("http://", "https://")):
        raise typer.BadParameter(f"--url {at!r} is no URL: write http://127.0.0.1:8000")
    asyncio.run(over_stdio(at, bearer) if http is None else over_http(at, bearer, http))
