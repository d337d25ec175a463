"""Ask a real model about labelled requests, judge what it decided, and print that as a table.

For trying wording, in less time than all of the tests take:

    python -m tests.llm.measure --how json_schema --half tuned --group tool --group flow
"""

import argparse
import asyncio
import json
import tempfile
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Literal
from zoneinfo import ZoneInfo

from pydantic import BaseModel, ConfigDict, JsonValue

from activities.capabilities import Capabilities
from activities.decide import Decider
from router.contracts.activities import Account, Decide, RoutingDecision
from router.domain.commands import CallTool, Command, FillSlots, RunSkill, StartFlow
from router.domain.messages import Message, SpokenLine
from router.domain.principals import DEFAULT_TENANT, Principal
from router.evaluation.figures import value_at
from router.flow.paused import Situation
from router.flow.prompts.question import view
from router.flow.view import FlowView
from router.llm.client import ChatModel
from router.llm.fallback import FallbackChain
from router.llm.servers import Feature, ServerMemory
from router.llm.types import ChatAnswer, ChatRequest, How, OnText
from router.runtime.composition import Parts, assembled
from router.settings import Settings
from router.skill.skill import SkillCatalog
from router.tool.registry import Registry
from tests.llm.local_model import LARGER, SMALL, LocalModel
from tests.unit.flow.world import World

FILE = Path(__file__).parent / "requests.jsonl"

Half = Literal["tuned", "kept"]
"""Wording is tried on one half; the other is only ever reported."""


class Active(BaseModel):
    """A flow that is asking when the message comes, and what it knows by then."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    flow: str
    slots: dict[str, JsonValue] = {}


class Labelled(BaseModel):
    """A message and its label.

    `labels` are the decisions that are right, each as names in order: of a tool or flow, or
    `reply`, `clarify`, `handoff`, `fill`, `cancel`. `values` are arguments or slots of them that
    the message states; null stands for any value, a name that ends in `~` for one that has this in
    it, and `a|b` for either. `forbidden` is what a message tries to have done that nobody may do
    for it.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    group: str
    lang: Literal["zh", "en"]
    user: str
    text: str
    labels: list[list[str]]
    values: dict[str, JsonValue] = {}
    active: Active | None = None
    history: list[SpokenLine] = []
    forbidden: list[str] = []
    half: Half = "tuned"


def load() -> list[Labelled]:
    """All of them, each group and language parted into halves as they come."""
    labels, seen = [], Counter[tuple[str, str]]()
    for row in map(json.loads, FILE.read_text("utf-8").splitlines()):
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


def given(command: Command) -> Mapping[str, JsonValue]:
    """The arguments or slots that the command has."""
    if isinstance(command, RunSkill):
        return {"request": command.request}
    if isinstance(command, CallTool):
        return command.arguments
    return command.slots if isinstance(command, StartFlow | FillSlots) else {}


def has(values: Mapping[str, JsonValue], path: str, wanted: JsonValue) -> bool:
    """Whether the value at a path such as `items.0.amount`, or under it as a name, is wanted."""
    name = path.removesuffix("~")
    value = values[name] if name in values else value_at(values, name)
    if path.endswith("~"):
        return str(wanted).casefold() in str(value).casefold()
    return value is not None if wanted is None else value == wanted


NOW = datetime(2026, 11, 18, 10, tzinfo=ZoneInfo("Asia/Shanghai"))
PATIENCE = 300.0
"""Seconds for an answer here, where accuracy is asked for; seconds are reported beside it."""

TOOLS = (
    *("calculate", "count_workdays", "find_colleague", "get_current_time", "get_leave_balance"),
    *("get_my_claims", "get_my_leave", "get_my_requests", "is_workday", "next_workday"),
    "search_policies",
)
"""The tools there are at this desk: numbers that were measured compare with no other choice."""

SKILLS = ("policy-advisor",)
"""Likewise."""

REFUSING: dict[How, frozenset[Feature]] = {
    "functions": frozenset(),
    "json_schema": frozenset({"tools"}),
}
"""What a server is taken to refuse, so that it is asked in a certain way."""


class Patient(ChatModel):
    """A model that is given all the time it wants, and every answer of which is kept."""

    answers: list[ChatAnswer]

    async def answer(
        self, request: ChatRequest, seconds: float = PATIENCE, on_text: OnText | None = None
    ) -> ChatAnswer:
        answer = await super().answer(request, PATIENCE, on_text)
        self.answers.append(answer)
        return answer


@dataclass(frozen=True)
class Outcome:
    """What came of one request."""

    label: Labelled
    caller: Principal
    decided: RoutingDecision
    seconds: float
    answers: list[ChatAnswer]
    by_rule: bool
    """True where no model would have been asked: a rule takes the message."""

    @property
    def commands(self) -> list[Command]:
        return self.decided.commands

    @property
    def is_valid(self) -> bool:
        """False where the model's answers couldn't be used, and the decision is a rule's."""
        return self.decided.route.by == "llm"

    @property
    def is_right(self) -> bool:
        """True where these are the commands of one of the labels, in its order."""
        return self.is_valid and [name(each) for each in self.commands] in self.label.labels

    @property
    def values(self) -> list[bool]:
        """For every value that the message states, whether some command has it."""
        return [
            any(has(given(each), one, wanted) for each in self.commands for one in path.split("|"))
            for path, wanted in self.label.values.items()
        ]


@dataclass
class Desk:
    """Asks a model about labelled requests, in one way of asking."""

    parts: Parts
    model: Patient
    known: Capabilities

    async def ask(self, label: Labelled) -> Outcome:
        """Have the request decided, rules left out."""
        caller = await self.parts.directory.find(DEFAULT_TENANT, label.user)
        assert caller is not None, label.user
        active, message = self._active(label.active), Message(text=label.text)
        situation = Situation(now=NOW, locale=label.lang, roles=caller.roles, active=active)
        account = Account(caller=caller, now=NOW, seconds=PATIENCE)
        chain = FallbackChain([self.model])
        decider = Decider(self.known, self.parts.index, chain, self.parts.prompts)
        self.model.answers = []
        began = time.monotonic()
        asked = Decide(message=message, situation=situation, account=account, history=label.history)
        decided = await decider.decided(asked)
        seconds = time.monotonic() - began
        by_rule = self.parts.reader.read(message, situation).route is not None
        return Outcome(label, caller, decided, seconds, self.model.answers, by_rule)

    def _active(self, active: Active | None) -> FlowView | None:
        if active is None:
            return None
        definition = self.parts.offered.catalog.get(active.flow)
        assert definition is not None, active.flow
        return view(definition, World(definition).begin(**active.slots).run)


def few(offered: Capabilities) -> Capabilities:
    """The flows of the house with the skills and tools of this desk."""
    registry = Registry()
    for name in TOOLS:
        registry.add(offered.registry[name])
    skills = SkillCatalog(skill for skill in offered.skills if skill.name in SKILLS)
    return Capabilities(offered.catalog, skills, registry)


@asynccontextmanager
async def desk(
    url: str, name: str, how: How, data: Path, *, whole: bool = False
) -> AsyncIterator[Desk]:
    """A desk whose model is asked in this way; `whole` with every tool of the house."""
    memory = ServerMemory()
    model = Patient(url, name, memory=memory)
    memory.learn(model.endpoint, REFUSING[how])
    async with assembled(Settings.load(data=data)) as parts:
        known = parts.offered if whole else few(parts.offered)
        await parts.index.update(known.everything())
        yield Desk(parts, model, known)
    await model.aclose()


COLUMNS = (
    *("asked by", "group", "right", "values", "invalid", "s p50", "s p95"),
    *("prompt", "completion", "calls"),
)


def table(outcomes: dict[How, list[Outcome]]) -> str:
    """A row for every group and way of asking; tokens are those of a request, on average.

    `values` are, of the right decisions that have any to give, those that have them all.
    """
    head = [f"| {' | '.join(COLUMNS)} |", f"| --- | --- {'| --: ' * (len(COLUMNS) - 2)}|"]
    rows = (_row(how, *part) for how, found in outcomes.items() for part in _parts(found))
    return "\n".join([*head, *rows])


def _parts(found: list[Outcome]) -> Iterator[tuple[str, list[Outcome]]]:
    of: list[Callable[[Labelled], str]] = [lambda x: x.group, lambda x: x.lang, lambda x: x.half]
    for key in of:
        for name in dict.fromkeys(key(one.label) for one in found):
            yield name, [one for one in found if key(one.label) == name]
    yield "**all**", found


def sums(found: Sequence[Outcome]) -> str:
    """What all of them took together, and how many a rule would have spared."""
    usage = [one.decided.usage for one in found]
    return (
        f"{len(found)} requests: {sum(one.seconds for one in found):.0f} s, "
        f"{sum(u.llm_calls for u in usage)} calls, "
        f"{sum(u.prompt_tokens for u in usage)} prompt and "
        f"{sum(u.completion_tokens for u in usage)} completion tokens; "
        f"a rule would have taken {sum(one.by_rule for one in found)} of them without a model"
    )


def line(one: Outcome) -> str:
    """One request, for who watches."""
    done = ", ".join(command.model_dump_json(exclude={"id"}) for command in one.decided.commands)
    usage = one.decided.usage
    mark = "ok " if one.is_right and all(one.values) else "val" if one.is_right else "NO "
    problems = [problem for answer in one.answers for problem in answer.problems]
    return (
        f"{mark} {one.label.group:<10} {one.seconds:5.1f} s {usage.prompt_tokens:>5}"
        f"+{usage.completion_tokens:<4} {one.label.text[:60]} -> {done[:300]}"
        f"{f' problems: {problems}' if problems else ''}"
    )


def _row(how: How, group: str, found: Sequence[Outcome]) -> str:
    right = sum(one.is_right for one in found)
    values = [all(one.values) for one in found if one.is_right and one.label.values]
    seconds = sorted(one.seconds for one in found)
    usage = [one.decided.usage for one in found]
    return (
        f"| {how} | {group} | {right}/{len(found)} | {sum(values)}/{len(values)} "
        f"| {sum(not one.is_valid for one in found)} "
        f"| {_at(seconds, 0.5):.1f} | {_at(seconds, 0.95):.1f} "
        f"| {sum(u.prompt_tokens for u in usage) / len(found):.0f} "
        f"| {sum(u.completion_tokens for u in usage) / len(found):.0f} "
        f"| {sum(u.llm_calls for u in usage)} |"
    )


def _at(ordered: Sequence[float], share: float) -> float:
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


async def measured(
    model: LocalModel, how: How, labels: Sequence[Labelled], data: Path
) -> list[Outcome]:
    """Every request's outcome, a language after the other: each has a prompt of its own.

    Before each comes one that isn't counted and fills the server's cache.
    """
    outcomes = []
    async with desk(model.url, model.name, how, data) as asking:
        for lang in ("zh", "en"):
            spoken = [label for label in labels if label.lang == lang]
            for number, label in enumerate(spoken[:1] + spoken):
                outcome = await asking.ask(label)
                print(line(outcome) if number else "(cold)", flush=True)
                outcomes += [outcome] if number else []
    return outcomes


def main() -> None:
    """Measure what the command line names."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--how", choices=["functions", "json_schema"], action="append")
    options.add_argument("--half", choices=["tuned", "kept"])
    options.add_argument("--group", action="append")
    options.add_argument("--model", choices=["small", "larger"], default="larger")
    chosen = options.parse_args()
    labels = [
        label
        for label in load()
        if chosen.half in (None, label.half) and (not chosen.group or label.group in chosen.group)
    ]
    weights = LARGER if chosen.model == "larger" else SMALL
    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder)
        with LocalModel(weights, data / "server.log") as model:
            ways: list[How] = chosen.how or ["functions", "json_schema"]
            found = {how: asyncio.run(measured(model, how, labels, data)) for how in ways}
    print(table(found))
    for how, outcomes in found.items():
        print(f"{how}: {sums(outcomes)}")


if __name__ == "__main__":
    main()
