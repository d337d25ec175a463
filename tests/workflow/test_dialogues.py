"""Dialogues with the sample's flows as people hold them: no answer is asked for again.

`data/dialogues.yaml` holds them. Half were written from what the flows ask, by somebody who had
seen neither rules nor flow files (`written: descriptions`); a label there changes only where it is
wrong about what a sensible clerk would do.
"""

from collections.abc import Iterator
from datetime import date, datetime
from pathlib import Path
from typing import Any, Literal
from zoneinfo import ZoneInfo

import pytest
from pydantic import BaseModel, ConfigDict, JsonValue
from temporalio.client import Client

from router.domain.messages import Turn
from router.flow.engine.slots import at
from router.formats.yaml_document import read_yaml
from router.runtime.composition import Parts
from tests.llm.dialogues import dated
from tests.llm.labels import has
from tests.workflow.desk import Talk, person, words

SPEAKERS = {"zh": "alice", "en": "frank"}


class Said(BaseModel):
    """A message, and what has to be true once it is answered; dates are `=tuesday+1`."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    say: str
    flow: str | None = None
    slots: dict[str, JsonValue] = {}
    has: dict[str, str] = {}
    unset: list[str] = []
    says: list[str] = []
    lacks: list[str] = []
    tool: str | None = None
    asks_none_of: list[str] = []


class Dialogue(BaseModel):
    """A conversation from its first message on."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    dialogue: str
    lang: Literal["zh", "en"]
    about: Literal["answers", "questions", "status", "corrections", "language", "examples"]
    written: Literal["descriptions", "tuned"]
    not_yet: str = ""
    """What of it isn't understood yet; where it is, this has to go."""
    turns: list[Said]


def load() -> list[Dialogue]:
    file = Path(__file__).parent / "data" / "dialogues.yaml"
    return [Dialogue.model_validate(one) for one in read_yaml(file.read_text("utf-8")).data]


DIALOGUES = load()


QUICK = 4
"""One dialogue in so many is quick: each costs a seventh of a second."""


def parameters() -> Iterator[Any]:
    for number, one in enumerate(DIALOGUES):
        marks = [pytest.mark.slow] if number % QUICK else []
        if one.not_yet:
            marks = [pytest.mark.slow, pytest.mark.xfail(strict=True, reason=one.not_yet)]
        yield pytest.param(one, id=one.dialogue, marks=marks)


@pytest.mark.parametrize("dialogue", [*parameters()])
async def test_what_was_said_is_understood_and_not_asked_again(
    real_client: Client, parts: Parts, dialogue: Dialogue
) -> None:
    """At a server whose clock nobody moves: what is said names days."""
    speaker = await person(parts, SPEAKERS[dialogue.lang])
    chat = await Talk(real_client, parts, speaker, dialogue.lang).open()
    today = datetime.now(ZoneInfo(chat.person.timezone)).date()
    given: set[str] = set()
    for label in dialogue.turns:
        turn = await chat.say(label.say)
        given |= set(label.asks_none_of)
        assert [*faults(label, turn, today), *asked_again(turn, given)] == [], label.say


def asked_again(turn: Turn, given: set[str]) -> list[str]:
    """What is asked although it was said."""
    awaited = turn.flow.awaiting if turn.flow else []
    return [f"asks for {path} again" for path in awaited if path in given]


def is_value(slots: dict[str, Any], path: str, wanted: JsonValue) -> bool:
    """Whether the value at the path is wanted; an amount is a number, however it is kept."""
    if isinstance(wanted, int | float) and not isinstance(wanted, bool):
        found = at(slots, path)
        return isinstance(found, int | float | str) and float(found) == float(wanted)
    return has(slots, path, wanted)


def faults(label: Said, turn: Turn, today: date) -> Iterator[str]:
    """What doesn't hold."""
    flow: dict[str, Any] = turn.flow.model_dump(mode="json") if turn.flow else {}
    slots = flow.get("slots") or {}
    if label.flow is not None and flow.get("name") != label.flow:
        yield f"the flow is {flow.get('name')}"
    for path, wanted in label.slots.items():
        if not is_value(slots, path, dated(wanted, today)):
            yield f"{path} isn't {dated(wanted, today)}: {slots}"
    for name, part in label.has.items():
        if part.casefold() not in str(slots.get(name, "")).casefold():
            yield f"{name} hasn't {part!r}: {slots}"
    yield from (f"{name} is {slots[name]}" for name in label.unset if slots.get(name) is not None)
    said = words(turn)
    for one in label.says:
        if not any(part in said for part in one.split("|")):
            yield f"nothing was said of {one}: {said}"
    yield from (f"{one!r} was said" for one in label.lacks if one in said)
    if label.tool is not None and label.tool not in {call.name for call in turn.tool_calls}:
        yield f"{label.tool} wasn't called: {[call.name for call in turn.tool_calls]}"
