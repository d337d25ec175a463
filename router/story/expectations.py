"""Whether what a story expects is so, and how that is told. Pure."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pydantic import JsonValue

from router.domain.locale import Locale, Localised
from router.story.entries import (
    BotStep,
    CardStep,
    Expectation,
    ExpectStep,
    ToldStep,
    ToolStep,
    end_of,
)
from router.story.story import Story, StoryStep

NOTHING = Localised(zh="什么也没有", en="nothing")
NO_FLOW = Localised(zh="没有开始任何流程", en="no flow was started")
Line = str | Localised
"""What people are told: in words of the house's, or as it was written, said or given."""


@dataclass(frozen=True)
class ObservedCall:
    """A call of a tool: one, however often it was tried."""

    tool: str
    arguments: Mapping[str, JsonValue]
    result: JsonValue = None
    error: str | None = None
    """Why its last try came to nothing."""


@dataclass(frozen=True)
class Standing:
    """Where a run stands. `approvers` are those whose decision it waits for."""

    flow: str
    status: str
    state: str
    slots: Mapping[str, JsonValue] = field(default_factory=dict)
    awaiting: tuple[str, ...] = ()
    approvers: tuple[str, ...] = ()
    looks_up: bool = False
    """It only looks something up, and is nobody's request."""

    @property
    def said(self) -> Localised:
        """It in words."""
        asked, awaited = ", ".join(self.awaiting), ", ".join(self.approvers)
        zh, en = (
            f"{self.flow} 在 {self.state}（{self.status}）",
            f"{self.flow} is {self.status} in {self.state}",
        )
        if asked:
            zh, en = f"{zh}，在问 {asked}", f"{en}, asking for {asked}"
        if awaited:
            zh, en = f"{zh}，在等 {awaited}", f"{en}, waiting for {awaited}"
        return Localised(zh=zh, en=en)


Changes = Mapping[str, tuple[str, str]]
"""What was and what is, by label."""


@dataclass(frozen=True)
class ShownCard:
    """What waits for somebody, as it is shown to them: values, and what they were before."""

    person: str
    shows: Mapping[str, str]
    changes: Changes


@dataclass
class Seen:
    """What a story has seen so far.

    `said` is what the desk has said since the last act, a line each; what was expected of it
    already ends at `heard`. `told` are those who were told of a decision since then, and of what.
    """

    said: list[str] = field(default_factory=list)
    heard: int = 0
    replies: list[Mapping[str, Any]] = field(default_factory=list)
    """What was said, as REST has it."""
    standings: list[Standing] = field(default_factory=list)
    """Of every run, the newest first."""
    calls: list[ObservedCall] = field(default_factory=list)
    cards: list[ShownCard] = field(default_factory=list)
    """Of every decision that is awaited, the longest awaited first."""
    told: list[tuple[str, str]] = field(default_factory=list)

    @property
    def standing(self) -> Standing | None:
        """Where the newest run stands, looking up only where there is no other; None before any."""
        requests = (each for each in self.standings if not each.looks_up)
        return next(requests, next(iter(self.standings), None))


@dataclass(frozen=True)
class Mismatch:
    """What was expected and what there was instead, as lines for people."""

    expected: Sequence[Line]
    found: Sequence[Line]

    def within(self, locale: Locale) -> tuple[list[str], list[str]]:
        """Both in the language of `locale`."""
        expected, found = ([_in(locale, line) for line in s] for s in (self.expected, self.found))
        return expected, found


def _in(locale: Locale, line: Line) -> str:
    return line.within(locale) if isinstance(line, Localised) else line


def judge(step: Expectation, seen: Seen) -> Mismatch | None:
    """What speaks against the step, which hears what it finds; None where all is as expected."""
    match step:
        case BotStep():
            return _said(step, seen)
        case ExpectStep():
            theirs = (each for each in seen.standings if each.flow == step.expect.flow)
            return _stands(step.expect.model_dump(exclude_unset=True), next(theirs, seen.standing))
        case ToolStep():
            return _called(step, seen.calls)
        case CardStep():
            return _shows(step, seen.cards)
        case ToldStep():
            return _told(step, seen.told)


def _said(step: BotStep, seen: Seen) -> Mismatch | None:
    whole, before = "\n".join(seen.said), ""
    for pattern in step.bot:
        end = end_of(pattern, whole, seen.heard)
        if end is None:
            # One that was there, but too early, is told apart from one that never was.
            early = end_of(pattern, whole, 0) is not None
            said = whole[0 if early else seen.heard :].strip("\n").splitlines()
            return Mismatch([_after(pattern, before) if early else pattern], said or [NOTHING])
        seen.heard, before = end, pattern
    return None


def _after(pattern: str, before: str) -> Localised:
    return Localised(
        zh=f"{pattern}，在{before or '前面期望的'}之后",
        en=f"{pattern}, after {before or 'what was expected before'}",
    )


def _stands(expected: Mapping[str, Any], standing: Standing | None) -> Mismatch | None:
    if standing is None:
        wanted = [f"{key}: {shown(value)}" for key, value in expected.items()]
        return Mismatch(wanted, [NO_FLOW])
    differing = list(_differing(expected, vars(standing)))
    if not differing:
        return None
    return Mismatch(
        [f"{place}: {shown(wanted)}" for place, wanted, _ in differing],
        [f"{place}: {shown(found)}" for place, _, found in differing],
    )


def _differing(
    wanted: Mapping[str, Any], found: Mapping[str, Any], place: str = ""
) -> Iterator[tuple[str, Any, Any]]:
    """Every place where they differ; what isn't mentioned may be as it likes."""
    for key, value in wanted.items():
        here, there = f"{place}{key}", found.get(key)
        if isinstance(value, Mapping) and isinstance(there, Mapping):
            yield from _differing(value, there, f"{here}.")
        elif isinstance(value, list) and isinstance(there, list | tuple):
            if len(value) != len(there):
                yield here, value, list(there)
                continue
            one, other = ({str(n): v for n, v in enumerate(each)} for each in (value, there))
            yield from _differing(one, other, f"{here}.")
        # As JSON compares: `true` is no 1, and 3 is 3.0.
        elif isinstance(value, bool) != isinstance(there, bool) or value != there:
            yield here, value, there


def _called(step: ToolStep, calls: Sequence[ObservedCall]) -> Mismatch | None:
    theirs = [call for call in calls if call.tool == step.tool]
    fitting = [c for c in theirs if not list(_differing(step.arguments, c.arguments))]
    if len(fitting) == step.times or (step.times is None and fitting):
        return None
    if not theirs:
        others = ", ".join(dict.fromkeys(call.tool for call in calls))
        none = Localised(
            zh=f"没有调用；调用过的是：{others or NOTHING.zh}",
            en=f"no call; called was {others or NOTHING.en}",
        )
        return Mismatch([_wanted(step)], [none])
    count = Localised(zh=f"这样的调用有 {len(fitting)} 次", en=f"{len(fitting)} such calls")
    return Mismatch([_wanted(step)], [count, *(_with(call.arguments) for call in theirs)])


def _wanted(step: ToolStep) -> Localised:
    zh, en = (
        ("至少一次", "at least once")
        if step.times is None
        else (f"{step.times} 次", f"{step.times} times")
    )
    given = _with(step.arguments) if step.arguments else Localised(zh="", en="")
    return Localised(
        zh=f"{step.tool}，调用{zh}{given.zh and '，'}{given.zh}",
        en=f"{step.tool}, called {en}{given.en and ' '}{given.en}",
    )


def _with(arguments: Mapping[str, JsonValue]) -> Localised:
    given = shown(dict(arguments))
    return Localised(zh=f"参数 {given}", en=f"with {given}")


def _shows(step: CardStep, cards: Sequence[ShownCard]) -> Mismatch | None:
    card = next((each for each in cards if each.person == step.card), None)
    if card is None:
        others = ", ".join(dict.fromkeys(each.person for each in cards))
        asked_for = Localised(zh=f"给 {step.card} 的卡片", en=f"a card for {step.card}")
        there = Localised(
            zh=f"有卡片的是：{others or '没有人'}", en=f"cards for {others or 'nobody'}"
        )
        return Mismatch([asked_for], [there])
    differing = {
        label: pattern
        for label, pattern in step.shows.items()
        if end_of(pattern, card.shows.get(label, ""), 0) is None
    }
    if differing:
        wanted = [f"{label}: {pattern}" for label, pattern in differing.items()]
        return Mismatch(wanted, [f"{label}: {value}" for label, value in card.shows.items()])
    if "changes" not in step.model_fields_set or _alike(step.changes, card.changes):
        return None
    return Mismatch(_changed(step.changes), _changed(card.changes))


def _changed(changes: Changes) -> Sequence[Line]:
    lines = [f"{label}: {was} → {now}" for label, (was, now) in changes.items()]
    return lines or [Localised(zh="没有变化", en="no change")]


def _alike(expected: Changes, found: Changes) -> bool:
    """Whether the same labels changed, each from and to what is expected of it."""
    return expected.keys() == found.keys() and all(
        end_of(pattern, text, 0) is not None
        for label, both in expected.items()
        for pattern, text in zip(both, found[label], strict=True)
    )


def _told(step: ToldStep, told: Sequence[tuple[str, str]]) -> Mismatch | None:
    if (step.told, step.how) in told:
        return None
    found = [f"{person}: {how}" for person, how in told]
    return Mismatch([f"{step.told}: {step.how}"], found or [_NOBODY])


_NOBODY = Localised(zh="没有通知任何人", en="nobody was told anything")


def shown(value: Any) -> str:
    """A value on one line."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


@dataclass(frozen=True)
class Divergence:
    """The first step at which a story went another way: it is the last of `steps`."""

    steps: tuple[StoryStep, ...]
    mismatch: Mismatch
    said: tuple[str, ...] = ()
    """What the desk had said since the last act."""
    standing: Standing | None = None
    gave_way: bool = False
    """What the story is played on failed here, not the story."""

    @property
    def step(self) -> StoryStep:
        """The one that failed."""
        return self.steps[-1]


@dataclass(frozen=True)
class StoryOutcome:
    """What became of one story."""

    story: Story
    seconds: float
    divergence: Divergence | None = None
    earlier: Divergence | None = None
    """Where it was played before, on a stage that gave way."""

    @property
    def ok(self) -> bool:
        """True where all was as expected."""
        return self.divergence is None


def told(outcome: StoryOutcome, locale: Locale = "en") -> Iterator[str]:
    """The story's line and, where it failed, the difference."""
    story, verdict = outcome.story, (_WELL if outcome.ok else _FAILED).within(locale)
    where = "" if outcome.ok else f"  {story.file}:{story.line}"
    yield f"{verdict:<6}  {outcome.seconds:5.2f} s  {story.name}{where}"
    if outcome.earlier is not None:
        _, found = outcome.earlier.mismatch.within(locale)
        yield f"    {_AGAIN.within(locale)} {' '.join(found)}"
    if outcome.divergence is not None:
        yield from (f"    {line}" for line in _difference(story, outcome.divergence, locale))


def _difference(story: Story, gone: Divergence, locale: Locale) -> Iterator[str]:
    expected, found = gone.mismatch.within(locale)
    at = Localised(zh="在", en="at").within(locale)
    yield f"{at} {story.file}:{gone.step.line}: {gone.step}"
    yield from (f"  - {line}" for line in expected)
    yield from (f"  + {line}" for line in found)
    if gone.said and list(gone.said) != found:
        yield _HAD_SAID.within(locale)
        yield from (f"  | {line}" for said in gone.said for line in said.splitlines())
    if len(gone.steps) > 1:
        yield _BEFORE.within(locale)
        yield from (f"  {step.line:>4}  {step}" for step in gone.steps[:-1])
    standing = gone.standing.said if gone.standing else NO_FLOW
    yield f"{_NOW.within(locale)} {standing.within(locale)}"
    if gone.standing and gone.standing.slots:
        yield f"    {shown(dict(gone.standing.slots))}"


_WELL = Localised(zh="通过", en="ok")
_FAILED = Localised(zh="没通过", en="failed")
_AGAIN = Localised(zh="重走了一遍；第一遍", en="played again: the first time")
_HAD_SAID = Localised(zh="机器人说过", en="the bot had said")
_BEFORE = Localised(zh="在这之前", en="before it")
_NOW = Localised(zh="现在", en="now")
