"""Each flow, skill and tool as a tool of its own, which starts it by its name.

A flow or tool takes its own parameters, none of which has to be given: what is missing it asks
for, in the turn that comes back. Every call has a conversation of its own, so that no call's
words are ever the answer to what another one asked.
"""

from collections.abc import Mapping
from typing import Any

from pydantic import JsonValue

from router.cli.mcp_face.tools import ACTS, CONVERSATION, WORDS, Arguments, Offered, Session
from router.tool.json_schema import ArgumentSchema

Listed = Mapping[str, Any]
"""A capability as `/v1/capabilities` lists it."""

_SHARED = ("$defs", "definitions")
"""What a schema's properties refer to."""


def by_name(capability: Listed) -> Offered:
    """A flow, skill or tool as a tool that starts it."""
    return _skill(capability) if capability["kind"] == "skill" else _startable(capability)


def _startable(capability: Listed) -> Offered:
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

    return Offered(
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


def _skill(capability: Listed) -> Offered:
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
    return Offered(
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
