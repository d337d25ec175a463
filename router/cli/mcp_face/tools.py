"""What other agents may do at the desk, each a tool.

Nothing here confirms or decides by itself. What a flow wants to have confirmed comes back as
the turn's `confirm` reply, for whoever runs the other agent to show to a person.
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, get_args

from mcp_types import ToolAnnotations
from pydantic import JsonValue

from router.cli.mcp_face.rest import Desk
from router.domain.messages import LONGEST_QUESTION, FlowStatus
from router.flow.run import Verdict
from router.tool.json_schema import ArgumentSchema

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
class Offered:
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

    def __init__(self, desk: Desk, *, keeps: bool) -> None:
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
    Offered(
        "list_capabilities",
        "Lists the flows, skills and tools that this person may use, by name.",
        _schema(kind={"type": "string", "enum": ["flow", "skill", "tool"]}),
        LOOKS,
        _list,
    ),
    Offered(
        "say",
        "Says something to the desk, in Chinese or English, and gives the turn that answers. Its "
        "`replies` may ask: answer `choices` by choose, a `form` by fill or in words, `confirm` "
        "by confirm once the person has agreed.",
        _schema(("text",), text=WORDS, conversation=CONVERSATION),
        ACTS,
        _say,
    ),
    Offered(
        "choose",
        "Picks one of the options that the last turn offered, by its value.",
        _schema(("value",), value={}, question=QUESTION, conversation=CONVERSATION),
        ACTS,
        _choose,
    ),
    Offered(
        "fill",
        "Fills in the form that the last turn asked for: values by the names of its fields.",
        _schema(
            ("values",), values={"type": "object"}, question=QUESTION, conversation=CONVERSATION
        ),
        ACTS,
        _fill,
    ),
    Offered(
        "confirm",
        "Answers what the last turn wants confirmed. Say true only where the person has seen the "
        "summary and agreed to it: it is then done in their name.",
        _schema(
            ("value",), value={"type": "boolean"}, question=QUESTION, conversation=CONVERSATION
        ),
        COMMITS,
        _confirm,
    ),
    Offered(
        "turn",
        "Gives the turn that answered an earlier message, for one that was still running.",
        _schema(("conversation", "message_id"), conversation=CONVERSATION, message_id=_ID),
        LOOKS,
        _turn,
    ),
    Offered(
        "flow_runs",
        "Lists what this person has asked for, newest first, and how it stands.",
        _schema(status={"type": "string", "enum": list(get_args(FlowStatus))}),
        LOOKS,
        _flow_runs,
    ),
    Offered(
        "approvals",
        "Lists what waits for this person's decision, each with the digest of what it shows.",
        _schema(),
        LOOKS,
        _approvals,
    ),
    Offered(
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
