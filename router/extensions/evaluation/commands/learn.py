"""`intent-router learn`: what the log says could be better, and what that would change.

Nothing changes by itself: examples are proposed in a file, which a person edits and has applied.
"""

import asyncio
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated

import typer

from router.cli.dry_run import dry_run_of
from router.domain.principals import DEFAULT_TENANT
from router.extensions.evaluation.commands.examples import House, keep, labelled_lines
from router.extensions.evaluation.commands.routing import opened_log
from router.extensions.evaluation.examples.nearness import Neighbourhood, key
from router.extensions.evaluation.examples.proposal import Proposal
from router.extensions.evaluation.lessons import (
    MOST_SHOWN,
    Confusion,
    LogLessons,
    Misfire,
    NewExamples,
    Topic,
    unserved_topics,
)
from router.settings import Settings

MOST_UNSERVED = 2_000
"""Different sentences that are put into groups: what takes seconds, not minutes."""


@dataclass(frozen=True)
class LessonEffect:
    """Of so many labelled lines how many have what they mean nearest, before and after."""

    lines: int
    before: int
    after: int


@dataclass(frozen=True)
class Lessons:
    """All that is proposed; `effects` by capability, where labelled lines were given."""

    examples: list[NewExamples]
    misfires: list[Misfire]
    confusions: list[Confusion]
    topics: list[Topic]
    effects: dict[str, LessonEffect]


def learn(
    tenant: Annotated[str, typer.Option(help="Whose conversations.")] = DEFAULT_TENANT,
    evaluated: Annotated[
        Path | None,
        typer.Option("--eval", metavar="FILE.jsonl", help="Labelled lines to show effects on."),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Where to write the examples, to be edited and applied."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object.")] = False,
) -> None:
    """Say what people's own choices teach: examples to add, patterns that misfire, and more.

    Nothing is changed. It shows people's words: reading them is noted in the audit trail.
    """
    settings = Settings.load()
    found = asyncio.run(lessons(settings, tenant, evaluated))
    if as_json:
        typer.echo(json.dumps(asdict(found), ensure_ascii=False, indent=2))
    else:
        typer.echo("\n".join(printed(found)))
    if out is not None:
        keep(out, asyncio.run(_proposals(settings, found.examples)))


async def _proposals(settings: Settings, found: Iterable[NewExamples]) -> list[Proposal]:
    """Those whose files have examples: of each what its file may take."""
    house = await House.of(settings, trust_dotenv=False)
    there = {one.name: one for one in house.capabilities}
    placed = ((there[one.capability], one.sentences) for one in found if one.capability in there)
    return [
        Proposal(capability, file, sentences)
        for capability, sentences in placed
        if (file := house.place(capability)) is not None
    ]


async def lessons(settings: Settings, tenant: str, evaluated: Path | None) -> Lessons:
    """What the log teaches; `NotFound` where there is none."""
    async with opened_log(settings, tenant, "learn") as store:
        kept = LogLessons()
        async for entry in store.log.every_exchange(tenant):
            kept.take(entry)
    async with dry_run_of(settings) as dry_run:
        await dry_run.learn()
        there = {one.name: one for one in dry_run.offered.everything()}
        examples = list(kept.examples({name: one.examples for name, one in there.items()}))
        effects = {}
        if evaluated is not None:
            neighbourhood = Neighbourhood(dry_run.index, dry_run.offered.everything())
            lines = labelled_lines(settings, evaluated)
            effects = await effects_of(neighbourhood, examples, lines)
        return Lessons(
            examples=examples,
            misfires=kept.misfires(),
            confusions=kept.confusions(),
            topics=await unserved_topics(kept.unserved, dry_run.index, MOST_UNSERVED),
            effects=effects,
        )


async def effects_of(
    neighbourhood: Neighbourhood,
    examples: Sequence[NewExamples],
    lines: Sequence[tuple[str, str]],
) -> dict[str, LessonEffect]:
    """What each capability's new examples would change, each by itself."""
    there = {one.name: one for one in neighbourhood.capabilities}
    before = (await neighbourhood.places(lines, {})).count(0)
    effects = {}
    for new in examples:
        added = {key(there[new.capability]): new.sentences}
        after = (await neighbourhood.places(lines, added)).count(0)
        effects[new.capability] = LessonEffect(len(lines), before, after)
    return effects


def printed(found: Lessons) -> Iterator[str]:
    """The lessons as lines for a terminal."""
    yield from _part("examples to add", (_example(one, found.effects) for one in found.examples))
    misfires = (
        f"{one.flow}: called off at once {one.called_off} of {one.began} times"
        + _quoted(one.sentences)
        for one in found.misfires
    )
    yield from _part("patterns that misfire", misfires)
    confusions = (
        f"{one.offered} for {one.meant}, {one.times} times{_quoted(one.sentences)}"
        for one in found.confusions
    )
    yield from _part("taken for one another", confusions)
    unserved = (f"{one.times} ×{_quoted(one.sentences)}" for one in found.topics)
    yield from _part("asked for, and nothing serves it", unserved)


def _part(title: str, lines: Iterable[str]) -> Iterator[str]:
    yield title
    shown = [f"  {line}" for line in lines]
    yield from shown or ["  none"]


def _example(one: NewExamples, effects: Mapping[str, LessonEffect]) -> str:
    effect = effects.get(one.capability)
    changed = (
        f" (nearest right {effect.before} ▸ {effect.after} of {effect.lines})" if effect else ""
    )
    return f"{one.capability}{changed}{_quoted(one.sentences[:MOST_SHOWN])}"


def _quoted(sentences: Sequence[str]) -> str:
    return "".join(f"\n      “{sentence}”" for sentence in sentences)
