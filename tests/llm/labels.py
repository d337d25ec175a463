"""Labelled requests, and what becomes of one beside its label.

`requests.jsonl` is what wording was tried on and `development.jsonl` what checks were; what is in
`held_out.jsonl` was written without looking at either, or at the code, and is only ever reported.
"""

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, JsonValue

from router.contracts.activities import RoutingDecision
from router.domain.commands import CallTool, Clarify, Command, FillSlots, RunSkill, StartFlow
from router.domain.commands import ReplyText as Said
from router.domain.locale import Localised
from router.domain.messages import SpokenLine
from router.extensions.evaluation.figures import value_at

FOLDER = Path(__file__).parent
FILES = {name: FOLDER / f"{name}.jsonl" for name in ("requests", "development", "held_out")}

Half = Literal["tuned", "kept"]
"""Of `requests` wording is tried on one half; the other is only ever reported."""
Written = Literal["titles", "employee"]
"""From titles and descriptions alone, or as employees write: short, sloppy, indirect."""
Verdict = Literal["right", "asked", "wrong"]
Values = Mapping[str, JsonValue]


class Active(BaseModel):
    """A flow that is asking when the message comes, and what it knows by then."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    flow: str
    slots: dict[str, JsonValue] = {}


class Labelled(BaseModel):
    """A message and its label.

    `labels` are the decisions that are right, the best first, each as names in order: of a tool,
    skill or flow, or `reply`, `clarify`, `handoff`, `fill`, `cancel`. `values` are arguments or
    slots that the message states, and `may` those that follow from it or may be left out; whatever
    else is filled in was invented. Null stands for any value, a name that ends in `~` for one that
    has this in it; `a|b` is either, of names and of what is in a value. `asked_is_right` is set
    where any question is as good as a deed. `forbidden` is what a message tries to have done that
    nobody may do for it.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    group: str
    lang: Literal["zh", "en"]
    user: str
    text: str
    labels: list[list[str]]
    values: dict[str, JsonValue] = {}
    may: dict[str, JsonValue] = {}
    asked_is_right: bool = False
    active: Active | None = None
    history: list[SpokenLine] = []
    forbidden: list[str] = []
    half: Half = "tuned"
    written: Written = "employee"

    @property
    def names(self) -> frozenset[str]:
        """Everything that is named in any decision that is right."""
        return frozenset(name for label in self.labels for name in label)

    @property
    def said(self) -> str:
        """What was said, before and now."""
        return "\n".join([*(line.text for line in self.history), self.text])


def load(name: str = "requests") -> list[Labelled]:
    """All of a file, each group and language parted into halves as they come."""
    labels, seen = [], Counter[tuple[str, str]]()
    for row in map(json.loads, FILES[name].read_text("utf-8").splitlines()):
        key = (row["group"], row["lang"])
        labels.append(Labelled(**row, half="kept" if seen[key] % 2 else "tuned"))
        seen[key] += 1
    return labels


_NAMES = {
    "reply": "reply",
    "clarify": "clarify",
    "hand_off": "handoff",
    "fill_slots": "fill",
    "cancel_flow": "cancel",
}


def name(command: Command) -> str:
    """What a label calls the command."""
    if isinstance(command, CallTool):
        return command.tool
    if isinstance(command, StartFlow):
        return command.flow
    if isinstance(command, RunSkill):
        return command.skill
    return _NAMES.get(command.type, command.type)


def given(command: Command) -> Values:
    """The arguments or slots that the command has."""
    if isinstance(command, RunSkill):
        return {"request": command.request}
    if isinstance(command, CallTool):
        return command.arguments
    return command.slots if isinstance(command, StartFlow | FillSlots) else {}


def alternatives(wanted: JsonValue) -> list[str]:
    """What a value may have in it, any of them."""
    return [one.casefold() for one in str(wanted).split("|")]


def has(values: Values, path: str, wanted: JsonValue) -> bool:
    """Whether the value at a path such as `items.0.amount`, or under it as a name, is wanted."""
    name = path.removesuffix("~")
    value = values[name] if name in values else value_at(values, name)
    if path.endswith("~"):
        within = str(value).casefold()
        return value is not None and any(one in within for one in alternatives(wanted))
    return value is not None if wanted is None else value == wanted


def leaves(value: JsonValue | Values, path: str = "") -> Iterator[tuple[str, JsonValue]]:
    """Every value within, with its path; nothing for what is empty."""
    if isinstance(value, Mapping):
        for key, within in value.items():
            yield from leaves(within, f"{path}.{key}" if path else key)
    elif isinstance(value, list):
        for place, within in enumerate(value):
            yield from leaves(within, f"{path}.{place}")
    elif value not in (None, ""):
        yield path, value


_NUMBER = re.compile(r"[0-9]+(?:[.,][0-9]+)*")


@dataclass(frozen=True)
class Judgement:
    """What a decision is, beside the label of its message."""

    verdict: Verdict
    forms: list[str]
    """Forms that were begun without a question, and that nobody asked for."""
    invented: list[str]
    """Of right commands: values that the message doesn't hold, as `path=value`; and the numbers
    of replies that nobody said."""
    missing: list[str]
    """Of right decisions: paths of values that the message states and no command has."""
    unusable: bool
    """True where the model's answers couldn't be used, and the decision was made without."""


@dataclass(frozen=True)
class Judge:
    """Judges decisions by their labels."""

    titles: Mapping[str, Localised]
    """Of everything there is, by name: options may show either."""
    defaults: Mapping[str, Values]
    """Of tools' arguments: who gives these has invented nothing."""

    def of(self, label: Labelled, decided: RoutingDecision) -> Judgement:
        """What the decision is."""
        commands = decided.commands
        called = [name(command) for command in commands]
        right = called in label.labels
        asked = not right and self._is_asked(label, commands)
        forms = [c.flow for c in commands if isinstance(c, StartFlow) and c.flow not in label.names]
        return Judgement(
            verdict="right" if right else "asked" if asked else "wrong",
            forms=forms,
            invented=[one for c in commands for one in self._invented(label, c)],
            missing=list(_missing(label, commands)) if right else [],
            unusable=decided.route.by not in ("llm", "retrieval"),
        )

    def _is_asked(self, label: Labelled, commands: Sequence[Command]) -> bool:
        questions = [command for command in commands if isinstance(command, Clarify)]
        if not questions:
            return False
        if label.asked_is_right:
            return True
        done = {name(command) for command in commands}
        options = [option for question in questions for option in question.options]
        shown = {str(option.value) for option in options} | {option.label for option in options}
        return any(
            all(one in done or self._is_among(one, shown) for one in names)
            for names in label.labels
        )

    def _is_among(self, wanted: str, shown: set[str]) -> bool:
        title = self.titles.get(wanted)
        return bool(shown & {wanted, *((title.zh, title.en) if title else ())})

    def _invented(self, label: Labelled, command: Command) -> Iterator[str]:
        if isinstance(command, Said):
            held = set(_NUMBER.findall(label.said))
            yield from (f"reply={n}" for n in _NUMBER.findall(command.text) if n not in held)
        called = name(command)
        if called not in label.names or isinstance(command, RunSkill):
            return
        values, usual = given(command), self.defaults.get(called, {})
        stated = [
            (one, wanted)
            for path, wanted in (label.values | label.may).items()
            for one in path.split("|")
        ]
        for path, value in leaves(values):
            if usual.get(path) != value and not _holds(stated, values, path):
                yield f"{called}.{path}={value}"


def _holds(stated: Sequence[tuple[str, JsonValue]], values: Values, path: str) -> bool:
    return any(
        f"{path}.".startswith(f"{known.removesuffix('~')}.") and has(values, known, wanted)
        for known, wanted in stated
    )


def _missing(label: Labelled, commands: Sequence[Command]) -> Iterator[str]:
    for path, wanted in label.values.items():
        if not any(has(given(c), one, wanted) for c in commands for one in path.split("|")):
            yield path
