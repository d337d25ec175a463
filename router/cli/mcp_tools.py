"""What other agents may do at the desk: each flow, skill and tool, and the desk itself, as a tool.

Nothing here confirms or decides by itself. What a flow wants to have confirmed comes back as
the turn's `confirm` reply, for whoever runs the other agent to show to a person.

A flow or tool takes its own parameters, none of which has to be given: what is missing it asks
for, in the turn that comes back. Every such call has a conversation of its own, so that no
call's words are ever the answer to what another one asked.
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, get_args
from urllib.parse import quote

from mcp_types import ToolAnnotations
from pydantic import JsonValue

from router.cli.rest import Rest
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
    schema: ArgumentSchema
    annotations: ToolAnnotations
    run: Run


class Session:
    """A person at the desk, who goes on where their last turn was.

    With `keeps` false everybody who names no conversation begins one. Every method raises what
    `rest` raises: `RestRefused`, with the API's reason, and `Unavailable`.
    """

    def __init__(self, rest: Rest, *, keeps: bool) -> None:
        self.rest = rest
        self._keeps = keeps
        self._conversation: str | None = None

    async def capabilities(self, kind: str | None = None) -> list[dict[str, Any]]:
        """What the person may use."""
        items: list[dict[str, Any]] = (await self.rest.get("/v1/capabilities", kind=kind))["items"]
        return items

    async def send(self, given: Arguments, message: dict[str, Any]) -> dict[str, Any]:
        """The turn that answers, with the conversation it belongs to, or that it still runs."""
        return await self._sent(given.get("conversation") or self._conversation, message)

    async def send_apart(self, given: Arguments, message: dict[str, Any]) -> dict[str, Any]:
        """The same in a conversation of its own, unless one is named: nothing is open there.

        Answers that name no conversation are to this turn from now on.
        """
        return await self._sent(given.get("conversation"), message)

    async def turn(self, given: Arguments) -> dict[str, Any]:
        """The turn that answered an earlier message of a conversation, or that it still runs."""
        conversation = str(given["conversation"])
        path = f"{_messages(conversation)}/{quote(given['message_id'], safe='')}"
        return self._told(conversation, await self.rest.get(path))

    async def _sent(self, named: Any, message: dict[str, Any]) -> dict[str, Any]:
        conversation = named or (await self.rest.post("/v1/conversations", {}))["id"]
        turn = await self.rest.post(_messages(str(conversation)), message, wait=SECONDS)
        return self._told(str(conversation), turn)

    def _told(self, conversation: str, turn: dict[str, Any]) -> dict[str, Any]:
        # Only now: a message that was refused leaves everything as it was.
        self._conversation = conversation if self._keeps else None
        return {"conversation": conversation, **turn}

    async def act(self, given: Arguments, **action: Any) -> dict[str, Any]:
        """The turn that answers a button or a form."""
        return await self.send(given, {"action": action})


def _messages(conversation: str) -> str:
    return f"/v1/conversations/{quote(conversation, safe='')}/messages"


def _schema(required: tuple[str, ...] = (), **properties: JsonValue) -> ArgumentSchema:
    return ArgumentSchema(
        {"type": "object", "properties": dict(properties), "required": list(required)}
    )


def _answer(kind: str, argument: str) -> Run:
    """Answers with an action of this kind, to the question that the other agent names, if any."""

    async def run(session: Session, given: Arguments) -> dict[str, Any]:
        named = {"question": given["question"]} if given.get("question") else {}
        return await session.act(given, type=kind, **{argument: given[argument]}, **named)

    return run


async def _list(session: Session, given: Arguments) -> dict[str, Any]:
    return {"items": await session.capabilities(given.get("kind"))}


async def _decide(session: Session, given: Arguments) -> dict[str, Any]:
    decision = {key: value for key, value in given.items() if key != "approval"}
    path = f"/v1/approvals/{quote(given['approval'], safe='')}/decision"
    return await session.rest.post(path, decision)


WORDS: dict[str, JsonValue] = {"type": "string", "minLength": 1, "maxLength": 8000}
_ID: JsonValue = {"type": "string", "minLength": 1, "maxLength": 128}

ALWAYS = (
    OfferedTool(
        "list_capabilities",
        "Lists the flows, skills and tools that this person may use, by name.",
        _schema(kind={"type": "string", "enum": ["flow", "skill", "tool"]}),
        LOOKS,
        _list,
    ),
    OfferedTool(
        "say",
        "Says something to the desk, in Chinese or English, and gives the turn that answers. Its "
        "`replies` may ask: answer `choices` by choose, a `form` by fill or in words, `confirm` "
        "by confirm once the person has agreed.",
        _schema(("text",), text=WORDS, conversation=CONVERSATION),
        ACTS,
        lambda session, given: session.send(given, {"text": given["text"]}),
    ),
    OfferedTool(
        "choose",
        "Picks one of the options that the last turn offered, by its value.",
        _schema(("value",), value={}, question=QUESTION, conversation=CONVERSATION),
        ACTS,
        _answer("choose", "value"),
    ),
    OfferedTool(
        "fill",
        "Fills in the form that the last turn asked for: values by the names of its fields.",
        _schema(
            ("values",), values={"type": "object"}, question=QUESTION, conversation=CONVERSATION
        ),
        ACTS,
        _answer("form", "values"),
    ),
    OfferedTool(
        "confirm",
        "Answers what the last turn wants confirmed. Say true only where the person has seen the "
        "summary and agreed to it: it is then done in their name.",
        _schema(
            ("value",), value={"type": "boolean"}, question=QUESTION, conversation=CONVERSATION
        ),
        COMMITS,
        _answer("confirm", "value"),
    ),
    OfferedTool(
        "turn",
        "Gives the turn that answered an earlier message, for one that was still running.",
        _schema(("conversation", "message_id"), conversation=CONVERSATION, message_id=_ID),
        LOOKS,
        Session.turn,
    ),
    OfferedTool(
        "flow_runs",
        "Lists what this person has asked for, newest first, and how it stands.",
        _schema(status={"type": "string", "enum": list(get_args(FlowStatus))}),
        LOOKS,
        lambda session, given: session.rest.get("/v1/flow-runs", status=given.get("status")),
    ),
    OfferedTool(
        "approvals",
        "Lists what waits for this person's decision, each with the digest of what it shows.",
        _schema(),
        LOOKS,
        lambda session, _: session.rest.get("/v1/approvals"),
    ),
    OfferedTool(
        "decide",
        "Gives this person's decision on an approval. Only where the person has seen it and "
        "decided: send its digest back, so that nothing else is decided.",
        _schema(
            ("approval", "decision", "digest"),
            approval=_ID,
            decision={"type": "string", "enum": list(get_args(Verdict))},
            digest=_ID,
            comment={"type": "string", "maxLength": 2000},
            to={"type": "string", "maxLength": 64, "description": "For delegate and add"},
        ),
        COMMITS,
        _decide,
    ),
)


Listed = Mapping[str, Any]
"""A capability as `/v1/capabilities` lists it."""

_SHARED = ("$defs", "definitions")
"""What a schema's properties refer to."""


def by_name(capability: Listed) -> OfferedTool:
    """A flow, skill or tool as a tool that starts it."""
    return _skill(capability) if capability["kind"] == "skill" else _startable(capability)


def _startable(capability: Listed) -> OfferedTool:
    name, own = capability["name"], _properties(capability)
    schema = capability.get("parameters") or {}
    ours = {"request": _request(capability, "Said to it"), "conversation": CONVERSATION}

    async def run(session: Session, given: Arguments) -> dict[str, Any]:
        mine = {key: value for key, value in given.items() if key in ours and key not in own}
        slots = {key: value for key, value in given.items() if key in own and value is not None}
        action = {"type": "start", "flow": name, "slots": slots}
        turn = await session.send_apart(mine, {"action": action})
        if mine.get("request") and _asks(turn, name):
            there = {"conversation": turn["conversation"]}
            return await session.send(there, {"text": mine["request"]})
        return turn

    return OfferedTool(
        name,
        f"{capability['description']} Gives the turn that answers. What is left out it asks for: "
        "answer by fill, choose or confirm, with the turn's conversation.",
        ArgumentSchema(
            {
                "type": "object",
                "properties": {**ours, **own},
                **{key: schema[key] for key in _SHARED if key in schema},
            }
        ),
        ACTS,
        run,
    )


def _skill(capability: Listed) -> OfferedTool:
    """Skills have no parameters: they are asked for in words, and chosen where that is asked."""
    name, title = capability["name"], capability["title"]

    async def run(session: Session, given: Arguments) -> dict[str, Any]:
        turn = await session.send_apart(given, {"text": given.get("request") or title})
        if name in _options(turn):
            there = {"conversation": turn["conversation"]}
            return await session.act(there, type="choose", value=name)
        return turn

    properties: dict[str, JsonValue] = {
        "request": _request(capability, "What is wanted"),
        "conversation": CONVERSATION,
    }
    return OfferedTool(
        name,
        f"{capability['description']} Asks the desk for it and gives the turn that answers.",
        ArgumentSchema({"type": "object", "properties": properties}),
        ACTS,
        run,
    )


def _properties(capability: Listed) -> dict[str, JsonValue]:
    return dict((capability.get("parameters") or {}).get("properties") or {})


def _request(capability: Listed, what: str) -> dict[str, JsonValue]:
    about = f"{what} in one sentence that says all that is known: {capability['title']}, …"
    return {**WORDS, "description": about}


def _asks(turn: Listed, name: str) -> bool:
    """True where it wants to know more. Where it wants a yes, no words of an agent's are one."""
    flow = turn.get("flow") or {}
    return (flow.get("name"), flow.get("status")) == (name, "collecting")


def _options(turn: Listed) -> set[Any]:
    """What can be chosen now."""
    choices = [reply for reply in turn.get("replies", []) if reply["type"] == "choices"]
    values = [option["value"] for reply in choices for option in reply["options"]]
    return {value for value in values if isinstance(value, str)}
