"""What other agents may do at the desk: each flow, skill and tool, and the desk itself, as a tool.

What of the REST API other agents need, on behalf of one person.

What other agents may do at the desk, each a tool.

Nothing here confirms or decides by itself. What a flow wants to have confirmed comes back as
the turn's `confirm` reply, for whoever runs the other agent to show to a person.

Each flow, skill and tool as a tool of its own, which starts it by its name.

A flow or tool takes its own parameters, none of which has to be given: what is missing it asks
for, in the turn that comes back. Every call has a conversation of its own, so that no call's
words are ever the answer to what another one asked.
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


class RestDesk:
    """A person at the API. `aclose` lets go of the connections.

    Every method raises `Refused` with the API's reason, and `Unavailable` where it isn't there.
    """

    def __init__(self, url: str, token: str) -> None:
        self._rest = Rest(url, token)

    async def aclose(self) -> None:
        """Close the connections."""
        await self._rest.aclose()

    async def capabilities(self, kind: str | None = None) -> list[dict[str, Any]]:
        """What the person may use."""
        listed = await self._rest.get("/v1/capabilities", kind=kind)
        items: list[dict[str, Any]] = listed["items"]
        return items

    async def begin(self) -> str:
        """A new conversation's id."""
        return str((await self._rest.post("/v1/conversations", {}))["id"])

    async def send(self, conversation: str, message: dict[str, Any]) -> dict[str, Any]:
        """The turn that answers a message, or that it still runs."""
        path = f"/v1/conversations/{quote(conversation, safe='')}/messages"
        return await self._rest.post(path, message, wait=SECONDS)

    async def turn(self, conversation: str, message: str) -> dict[str, Any]:
        """The turn that answered an earlier message, or that it still runs."""
        place = f"{quote(conversation, safe='')}/messages/{quote(message, safe='')}"
        return await self._rest.get(f"/v1/conversations/{place}")

    async def flow_runs(self, status: str | None = None) -> dict[str, Any]:
        """What the person has asked for, and how it stands."""
        return await self._rest.get("/v1/flow-runs", status=status)

    async def approvals(self) -> dict[str, Any]:
        """What waits for the person's decision."""
        return await self._rest.get("/v1/approvals")

    async def decide(self, approval: str, decision: dict[str, Any]) -> dict[str, Any]:
        """What a decision led to."""
        return await self._rest.post(f"/v1/approvals/{quote(approval, safe='')}/decision", decision)


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


@dataclass(frozen=True)
class OfferedTool:
    """A tool of the desk."""

    name: str
    description: str
    schema: ArgumentSchema
    annotations: ToolAnnotations
    run: Callable[["Session", Arguments], Awaitable[dict[str, Any]]]


class Session:
    """A person at the desk, who goes on where their last turn was.

    With `keeps` false everybody who names no conversation begins one.
    """

    def __init__(self, desk: RestDesk, *, keeps: bool) -> None:
        self.desk = desk
        self._keeps = keeps
        self._conversation: str | None = None

    async def send(self, given: Arguments, message: dict[str, Any]) -> dict[str, Any]:
        """The turn that answers, with the conversation it belongs to."""
        return await self._sent(given.get("conversation") or self._conversation, message)

    async def send_apart(self, given: Arguments, message: dict[str, Any]) -> dict[str, Any]:
        """The same in a conversation of its own, unless one is named: nothing is open there.

        Answers that name no conversation are to this turn from now on.
        """
        return await self._sent(given.get("conversation"), message)

    async def turn(self, given: Arguments) -> dict[str, Any]:
        """The turn that answered an earlier message of a conversation."""
        conversation = str(given["conversation"])
        return self._told(conversation, await self.desk.turn(conversation, given["message_id"]))

    async def _sent(self, named: Any, message: dict[str, Any]) -> dict[str, Any]:
        conversation = str(named) if named else await self.desk.begin()
        return self._told(conversation, await self.desk.send(conversation, message))

    def _told(self, conversation: str, turn: dict[str, Any]) -> dict[str, Any]:
        # Only now: a message that was refused leaves everything as it was.
        self._conversation = conversation if self._keeps else None
        return {"conversation": conversation, **turn}

    async def act(self, given: Arguments, **action: Any) -> dict[str, Any]:
        """The turn that answers a button or a form."""
        return await self.send(given, {"action": action})


def _schema(required: tuple[str, ...] = (), **properties: JsonValue) -> ArgumentSchema:
    return ArgumentSchema(
        {"type": "object", "properties": dict(properties), "required": list(required)}
    )


async def _list(session: Session, given: Arguments) -> dict[str, Any]:
    return {"items": await session.desk.capabilities(given.get("kind"))}


async def _say(session: Session, given: Arguments) -> dict[str, Any]:
    return await session.send(given, {"text": given["text"]})


async def _choose(session: Session, given: Arguments) -> dict[str, Any]:
    return await session.act(given, type="choose", value=given["value"], **_named(given))


async def _fill(session: Session, given: Arguments) -> dict[str, Any]:
    return await session.act(given, type="form", values=given["values"], **_named(given))


async def _confirm(session: Session, given: Arguments) -> dict[str, Any]:
    return await session.act(given, type="confirm", value=given["value"], **_named(given))


def _named(given: Arguments) -> dict[str, Any]:
    """The question that is answered, where the other agent says which."""
    return {"question": given["question"]} if given.get("question") else {}


async def _turn(session: Session, given: Arguments) -> dict[str, Any]:
    return await session.turn(given)


async def _flow_runs(session: Session, given: Arguments) -> dict[str, Any]:
    return await session.desk.flow_runs(given.get("status"))


async def _approvals(session: Session, _: Arguments) -> dict[str, Any]:
    return await session.desk.approvals()


async def _decide(session: Session, given: Arguments) -> dict[str, Any]:
    decision = {key: value for key, value in given.items() if key != "approval"}
    return await session.desk.decide(given["approval"], decision)


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
        _say,
    ),
    OfferedTool(
        "choose",
        "Picks one of the options that the last turn offered, by its value.",
        _schema(("value",), value={}, question=QUESTION, conversation=CONVERSATION),
        ACTS,
        _choose,
    ),
    OfferedTool(
        "fill",
        "Fills in the form that the last turn asked for: values by the names of its fields.",
        _schema(
            ("values",), values={"type": "object"}, question=QUESTION, conversation=CONVERSATION
        ),
        ACTS,
        _fill,
    ),
    OfferedTool(
        "confirm",
        "Answers what the last turn wants confirmed. Say true only where the person has seen the "
        "summary and agreed to it: it is then done in their name.",
        _schema(
            ("value",), value={"type": "boolean"}, question=QUESTION, conversation=CONVERSATION
        ),
        COMMITS,
        _confirm,
    ),
    OfferedTool(
        "turn",
        "Gives the turn that answered an earlier message, for one that was still running.",
        _schema(("conversation", "message_id"), conversation=CONVERSATION, message_id=_ID),
        LOOKS,
        _turn,
    ),
    OfferedTool(
        "flow_runs",
        "Lists what this person has asked for, newest first, and how it stands.",
        _schema(status={"type": "string", "enum": list(get_args(FlowStatus))}),
        LOOKS,
        _flow_runs,
    ),
    OfferedTool(
        "approvals",
        "Lists what waits for this person's decision, each with the digest of what it shows.",
        _schema(),
        LOOKS,
        _approvals,
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
