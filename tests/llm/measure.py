"""Have a real model decide labelled requests, judge what it decided, and print that as tables.

Over everything that the house has, by how much of it is offered and with each check on and off:

    python -m tests.llm.measure --out results --set held_out --how functions --offer 3 --offer 5

Every answer is appended to `answers.jsonl` in the folder when it comes: a run that was cut goes on
from there, and checks are replayed on the answers that there are. `results.md` has the tables,
`results.json` every row. `--model right` is a model that always answers what the label says.
`--dialogues` plays the dialogues of the set over HTTP instead, `--cold` times a start from nothing.
"""

import argparse
import asyncio
import json
import math
import tempfile
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal, get_args
from zoneinfo import ZoneInfo

from pydantic import JsonValue

from activities.capabilities import Capabilities
from activities.decide import Decider
from router.contracts.activities import Account, Decide, RoutingDecision
from router.domain.messages import Message
from router.domain.principals import DEFAULT_TENANT, Principal
from router.flow.paused import Situation
from router.flow.view import FormView
from router.llm.fallback import FallbackChains
from router.llm.types import How
from router.retrieval.selection import fitted_reliability
from router.routing.decider import DecisionPolicy
from router.runtime.composition import Parts, assembled
from router.settings import Settings
from router.tool.tool import Tool
from tests.forms import form
from tests.llm import dialogues
from tests.llm.answers import PATIENCE, AlwaysRight, Journal, Kept, Recorded
from tests.llm.labels import FILES, Active, Judge, Judgement, Labelled, Verdict, load
from tests.llm.local_model import LARGER, SMALL, LocalModel
from tests.unit.flow.world import World

NOW = datetime(2026, 11, 18, 10, tzinfo=ZoneInfo("Asia/Shanghai"))

Asked = Recorded | AlwaysRight
OFFERS: tuple[int | None, ...] = (3, 5, 8, 12, None)
CHECKS = ((True, True), (False, True), (True, False), (False, False))
"""Of the choice and of values; the first is how the desk works."""


def usual(offer: int | None) -> DecisionPolicy:
    """How a desk decides that is set to offer so much; None is everything."""
    return DecisionPolicy.of("everything" if offer is None else offer, None, DecisionPolicy.steps)


@dataclass(frozen=True)
class Cell:
    """One way of having requests decided."""

    how: How | Literal["right"]
    policy: DecisionPolicy

    @property
    def columns(self) -> tuple[str, str, str]:
        """As tables show it."""
        offer = "everything" if self.policy.offer is None else str(self.policy.offer)
        on = [
            n
            for n, is_on in (("choice", self.policy.checked), ("values", self.policy.grounded))
            if is_on
        ]
        return self.how, offer, " + ".join(on) or "none"


@dataclass(frozen=True)
class Outcome:
    """What came of one request."""

    label: Labelled
    caller: Principal
    decided: RoutingDecision
    judgement: Judgement
    answers: list[Kept]
    nearest: list[str]
    """What retrieval alone finds, best first."""

    @property
    def is_right(self) -> bool:
        """True where these are the commands of one of the labels, in its order."""
        return self.judgement.verdict == "right"

    @property
    def seconds(self) -> float:
        """How long its answers took."""
        return sum(kept.seconds for kept in self.answers)

    @property
    def is_cold(self) -> bool:
        """True where the server had read nothing of the like before."""
        return any(kept.cold for kept in self.answers)

    @property
    def score(self) -> float | None:
        """How near what the model chose is; None where it chose nothing, or nothing near."""
        near = {one.name: one.score for one in self.decided.route.candidates}
        return near.get(self.decided.route.target or "")

    @property
    def rank(self) -> int | None:
        """Where retrieval has the right one, from 1; None where it hasn't, or none is wanted."""
        places = [n for n, name in enumerate(self.nearest, 1) if name in self.label.names]
        return places[0] if places else None

    def row(self) -> dict[str, Any]:
        """All that is known of it, as JSON."""
        commands = [c.model_dump(mode="json", exclude={"id"}) for c in self.decided.commands]
        return {
            **{key: getattr(self.label, key) for key in ("group", "lang", "written", "text")},
            "labels": self.label.labels,
            "commands": commands,
            **asdict(self.judgement),
            "by": self.decided.route.by,
            "reason": self.decided.route.reason,
            "confidence": self.decided.route.confidence,
            "nearest": self.nearest[:5],
            "seconds": round(self.seconds, 2),
            "cold": self.is_cold,
            "usage": self.decided.usage.model_dump(),
            "problems": [str(p) for one in self.answers if one.answer for p in one.answer.problems],
        }


@dataclass
class Desk:
    """Has requests decided by a model, over what there is of the house."""

    parts: Parts
    known: Capabilities
    judge: Judge

    async def ask(self, label: Labelled, model: Asked, policy: DecisionPolicy) -> Outcome:
        """Have the request decided, rules left out."""
        caller = await self.parts.directory.find(DEFAULT_TENANT, label.user)
        assert caller is not None, label.user
        active, message = self._active(label.active), Message(text=label.text)
        situation = Situation(now=NOW, locale=label.lang, roles=caller.roles).showing(active)
        account = Account(caller=caller, now=NOW, seconds=PATIENCE)
        known = (self.known, self.parts.index, FallbackChains([model]), self.parts.prompts)
        decider = Decider(*known, policy=policy)
        model.answers = []
        asked = Decide(message=message, situation=situation, account=account, history=label.history)
        decided = await decider.decided(asked)
        nearest = await self._nearest(label, caller)
        judgement = self.judge.of(label, decided)
        return Outcome(label, caller, decided, judgement, model.answers, nearest)

    async def _nearest(self, label: Labelled, caller: Principal) -> list[str]:
        usable = [one.name for one in self.known.visible_to(caller)]
        found = await self.parts.index.select(label.text, among=usable, budget=10**9, most=99)
        return [candidate.name for candidate in found.candidates]

    def _active(self, active: Active | None) -> FormView | None:
        if active is None:
            return None
        definition = self.parts.offered.catalog.get(active.flow)
        assert definition is not None, active.flow
        return form(definition, World(definition).begin(**active.slots).run)

    def always_right(self) -> AlwaysRight:
        """A model that answers what labels say."""
        return AlwaysRight(
            titles=lambda name: self.judge.titles[name].en if name in self.judge.titles else name,
            slots=self.known.slots,
            skills=frozenset(skill.name for skill in self.known.skills),
        )


EVERYTHING = {
    "llm_base_url": "http://127.0.0.1:9/v1",
    "llm_model": "measured",
    "rates_url": "http://127.0.0.1:9/rates",
}
"""Settings that the shipped tools want: each of them is offered, and none is called."""


@asynccontextmanager
async def desk(data: Path) -> AsyncIterator[Desk]:
    """A desk that has everything that the sample ships."""
    async with assembled(Settings.load(data=data, **EVERYTHING)) as parts:
        known = parts.offered
        await parts.index.update(known.everything())
        titles = {one.name: one.title for one in known.everything()}
        defaults = {tool.name: _defaults(tool) for tool in known.registry}
        yield Desk(parts, known, Judge(titles, defaults))


def _defaults(tool: Tool) -> dict[str, JsonValue]:
    properties: Any = tool.parameters.get("properties") or {}
    return {name: schema["default"] for name, schema in properties.items() if "default" in schema}


Found = dict[Cell, list[Outcome]]


@dataclass
class Measurement:
    """Cells to be measured one after the other, with what is kept of them."""

    labels: Sequence[Labelled]
    hows: Sequence[How] = ("functions",)
    offers: Sequence[int | None] = OFFERS
    checks: Sequence[tuple[bool, bool]] = CHECKS
    weights: LocalModel | None = None
    """None is the model that is always right."""
    found: Found = field(default_factory=dict)

    async def run(self, folder: Path) -> Found:
        """Have everything decided that isn't yet; what was is read from the folder."""
        journal = Journal(folder / "answers.jsonl")
        async with desk(folder / "data") as asking:
            for how in self.hows if self.weights else ("functions",):
                for offer in self.offers:
                    await self._offered(asking, how, offer, journal)
        return self.found

    async def _offered(self, asking: Desk, how: How, offer: int | None, journal: Journal) -> None:
        model = self._model(asking, how, journal)
        for checked, grounded in self.checks:
            policy = replace(usual(offer), checked=checked, grounded=grounded)
            cell = Cell(how if self.weights else "right", policy)
            self.found[cell] = []
            for lang in ("zh", "en"):
                for label in (one for one in self.labels if one.lang == lang):
                    if isinstance(model, AlwaysRight):
                        model.label = label
                    outcome = await asking.ask(label, model, policy)
                    self.found[cell].append(outcome)
                    if (checked, grounded) == self.checks[0]:
                        print(line(cell, outcome), flush=True)
        if self.weights:
            # The next has to be read cold, too.
            self.weights.kill()

    def _model(self, asking: Desk, how: How, journal: Journal) -> Asked:
        if self.weights is None:
            return asking.always_right()
        return Recorded(self.weights, how, journal)


COLUMNS = (
    *("asked by", "offer", "checks", "right", "asked", "wrong", "right or asked", "wrong forms"),
    *("invented", "missing", "unusable", "s cold", "s p50", "s p95"),
    *("prompt", "completion", "calls"),
)
TEXTS = 3
"""Columns of words; the others are numbers."""


def table(found: Found) -> str:
    """A row for every cell.

    `right` are decisions as the label has them, `asked` questions that are right or have it among
    their options; `wrong forms` were begun without a question; `invented` and `missing` are
    requests with values that the message doesn't hold, or without some that it does. Seconds are
    of a decision, those of the first after a start apart; tokens are of a request, on average.
    """
    rows = [(*cell.columns, *_figures(outcomes)) for cell, outcomes in found.items()]
    return _table(COLUMNS, rows, TEXTS)


GROUPED = ("", "right", "asked", "wrong", "wrong forms", "invented", "missing", "s p50")


def groups(outcomes: Sequence[Outcome]) -> str:
    """A row for every group, language and way of writing."""
    return _table(GROUPED, [_grouped(*part) for part in _parts(outcomes)], 1)


def retrieval(outcomes: Sequence[Outcome]) -> str:
    """What retrieval alone does of the same requests, those that want a capability."""
    ranks = [(one.rank, one.label.names & set(one.nearest)) for one in outcomes]
    wanted = [rank for rank, names in ranks if names]
    among = ", ".join(
        f"among {most} {sum(rank is not None and rank <= most for rank in wanted)}"
        for most in (1, 3, 5, 8, 12)
    )
    return f"Retrieval alone, of {len(wanted)} that want a capability: {among}"


def reliability(outcomes: Sequence[Outcome]) -> str:
    """How often a choice was right, by its score: steps fitted to one half, beside the other half.

    Choices as the model made them; empty where too few were made for steps.
    """
    halves: dict[str, list[tuple[float, bool]]] = {"tuned": [], "kept": []}
    for one in outcomes:
        if (score := one.score) is not None:
            halves[one.label.half].append((score, one.is_right))
    rows = []
    steps = fitted_reliability(halves["tuned"])
    for (least, share), (end, _) in pairwise([*steps, (math.inf, 0.0)]):
        seen = [right for score, right in halves["kept"] if least <= score < end]
        rows.append([f"{least:.3f}", f"{share:.0%}", f"{sum(seen)}/{len(seen)}"])
    return _table(("from score", "fitted to one half", "right of the other"), rows, 0)


def _table(columns: Sequence[str], rows: Sequence[Sequence[str]], texts: int) -> str:
    head = [
        f"| {' | '.join(columns)} |",
        f"|{' --- |' * texts}{' --: |' * (len(columns) - texts)}",
    ]
    return "\n".join([*head, *(f"| {' | '.join(row)} |" for row in rows)])


def _counts(found: Sequence[Outcome]) -> list[int]:
    judged = [one.judgement for one in found]
    verdicts = [sum(j.verdict == verdict for j in judged) for verdict in get_args(Verdict)]
    faults = zip(*((j.forms, j.invented, j.missing) for j in judged), strict=True)
    return [*verdicts, *(sum(map(bool, each)) for each in faults)]


def _figures(found: Sequence[Outcome]) -> list[str]:
    right, asked, wrong, forms, invented, missing = _counts(found)
    cold = [one.seconds for one in found if one.is_cold]
    warm = sorted(one.seconds for one in found if not one.is_cold)
    usage = [one.decided.usage for one in found]
    return [
        *(f"{right}/{len(found)}", str(asked), str(wrong)),
        f"{100 * (right + asked) / len(found):.0f} %",
        *map(str, (forms, invented, missing, sum(one.judgement.unusable for one in found))),
        *(f"{_at(sorted(cold), 0.5):.1f}", f"{_at(warm, 0.5):.1f}", f"{_at(warm, 0.95):.1f}"),
        f"{sum(u.prompt_tokens for u in usage) / len(found):.0f}",
        f"{sum(u.completion_tokens for u in usage) / len(found):.0f}",
        str(sum(u.llm_calls for u in usage)),
    ]


def _grouped(title: str, found: Sequence[Outcome]) -> list[str]:
    right, *others = _counts(found)
    seconds = sorted(one.seconds for one in found if not one.is_cold)
    return [title, f"{right}/{len(found)}", *map(str, others), f"{_at(seconds, 0.5):.1f}"]


def _parts(found: Sequence[Outcome]) -> Iterator[tuple[str, list[Outcome]]]:
    keys: list[Callable[[Labelled], str]] = [
        lambda label: label.group,
        lambda label: label.lang,
        lambda label: label.written,
    ]
    for key in keys:
        for name in dict.fromkeys(key(one.label) for one in found):
            yield name, [one for one in found if key(one.label) == name]
    yield "**all**", list(found)


def _at(ordered: Sequence[float], share: float) -> float:
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))] if ordered else 0.0


def line(cell: Cell, one: Outcome) -> str:
    """One request, for who watches."""
    done = ", ".join(command.model_dump_json(exclude={"id"}) for command in one.decided.commands)
    judged, usage = one.judgement, one.decided.usage
    faults = {key: value for key, value in asdict(judged).items() if value and key != "verdict"}
    return (
        f"{'/'.join(cell.columns[:2])} {judged.verdict:<5} {one.label.group:<10} "
        f"{one.seconds:5.1f} s {usage.prompt_tokens:>5}+{usage.completion_tokens:<4} "
        f"{one.label.text[:60]} -> {done[:300]} {faults or ''}"
    )


def report(found: Found) -> str:
    """All tables, as Markdown."""
    first = next(iter(found))
    default = replace(first, policy=DecisionPolicy())
    shown = default if default in found else first
    title = ", ".join(shown.columns)
    unchecked = replace(shown, policy=replace(shown.policy, checked=False))
    told = (
        f"{table(found)}\n\n{retrieval(found[first])}.\n\nBy group, {title}:\n\n"
        f"{groups(found[shown])}\n"
    )
    if unchecked in found:
        told += f"\nChoices by their score, unchecked:\n\n{reliability(found[unchecked])}\n"
    return told


def write(found: Found, folder: Path) -> None:
    """Keep the tables, and every row."""
    (folder / "results.md").write_text(report(found), encoding="utf-8")
    rows = [
        {"how": how, "offer": offer, "checks": checks, **outcome.row()}
        for cell, outcomes in found.items()
        for how, offer, checks in [cell.columns]
        for outcome in outcomes
    ]
    text = json.dumps(rows, ensure_ascii=False, indent=1)
    (folder / "results.json").write_text(text, encoding="utf-8")


def _offer(written: str) -> int | None:
    return None if written == "everything" else int(written)


def _options() -> argparse.ArgumentParser:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--set", choices=list(FILES), default="held_out")
    options.add_argument("--how", choices=["functions", "json_schema"], action="append")
    options.add_argument("--offer", type=_offer, action="append", help="a number, or `everything`")
    options.add_argument("--half", choices=["tuned", "kept"])
    options.add_argument("--group", action="append")
    options.add_argument("--every", type=int, default=1, help="only each so-manieth request")
    options.add_argument("--model", choices=["small", "larger", "right"], default="larger")
    options.add_argument("--out", type=Path, help="a folder; a temporary one where left out")
    options.add_argument("--dialogues", action="store_true")
    options.add_argument("--cold", action="store_true")
    return options


def main() -> None:
    """Measure what the command line names."""
    chosen = _options().parse_args()
    folder = chosen.out or Path(tempfile.mkdtemp(prefix="measured-"))
    (folder / "data").mkdir(parents=True, exist_ok=True)
    weights = {"small": SMALL, "larger": LARGER}.get(chosen.model)
    server = LocalModel(weights, folder / "server.log") if weights else None
    if chosen.cold:
        assert server is not None, "a start is timed with a real model"
        told = dialogues.cold_start(server, folder).told()
    elif chosen.dialogues:
        assert server is not None, "dialogues are played with a real model"
        played = dialogues.measured(server, folder, dialogues.load(chosen.set)[:: chosen.every])
        told = f"{dialogues.table(played)}\n"
        (folder / "dialogues.md").write_text(told, encoding="utf-8")
    else:
        told = _decided(chosen, folder, server)
    print(f"{told}\nin {folder}")


def _decided(chosen: argparse.Namespace, folder: Path, server: LocalModel | None) -> str:
    labels = [
        label
        for label in load(chosen.set)
        if chosen.half in (None, label.half) and (not chosen.group or label.group in chosen.group)
    ][:: chosen.every]
    offers, hows = chosen.offer or OFFERS, chosen.how or ["functions", "json_schema"]
    measurement = Measurement(labels, hows, offers, weights=server)
    try:
        found = asyncio.run(measurement.run(folder))
    finally:
        if server is not None:
            server.kill()
    write(found, folder)
    return report(found)


if __name__ == "__main__":
    main()
