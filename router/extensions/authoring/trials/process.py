"""The process in which a draft is tried: the house with a clock that skips, and nothing behind it.

It is asked over its input and answers over its output, a line of JSON each, as `protocol` has them;
it ends with its input, and so with whoever started it. What was played last is kept as it stands,
so that the next step of the same trial is one step: all else is played from the beginning. There is
one performance at a time, for the clock is everybody's.
"""

import asyncio
import logging
import os
import resource
import sys
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory

from pydantic import JsonValue

from activities.capabilities import Capabilities
from router.domain.errors import (
    DefinitionError,
    FieldProblem,
    InvalidInput,
    MisconfiguredError,
    RouterError,
    Unavailable,
)
from router.domain.locale import LOCALES, Locale, Localised
from router.extensions.authoring.reviews import StoryCoverage
from router.extensions.authoring.trials.protocol import (
    FailedStep,
    PlayedCall,
    PlayedStep,
    PlayedTelling,
    PlayedTrial,
    RefusalKind,
    StoriesReport,
    StoryVerdict,
    TrialAnswer,
    TrialPlay,
    TrialRefusal,
    TrialRequest,
    TrialStage,
    TrialStanding,
    TrialStories,
    stand_in,
)
from router.flow.catalog import Catalog
from router.flow.validation.phrases import told
from router.formats.validation import Complaint
from router.formats.yaml_document import Unreadable, read_yaml
from router.isolation.limits import (
    MIB,
    bound_cpu,
    bound_data,
    die_with_parent,
    end_group_with_this,
    kill_first_when_memory_is_short,
)
from router.settings import Settings
from router.skill.skill import SkillCatalog
from router.story import expectations
from router.story.entries import Expectation, StoryNames, ToolAnswersStep, ToolsStep
from router.story.expectations import Mismatch
from router.story.loader import read_steps, read_stories
from router.story.story import Story, StoryStep
from router.story_runner.environment import Environment, kept_down, opened, watched
from router.story_runner.runner import Performance, run_in
from router.tool.implementation import FunctionImplementation
from router.tool.registry import Registry
from router.tool.tool import Tool

OWN = ("activities.builtin.", "router.extensions.")
"""Tools of modules that begin so work on the trial's own runs and files, and are called."""
LONGEST_LINE = 64 * 1024 * 1024
MAX_TRIAL_BYTES = 256 * MIB
"""Of memory, in addition to what the process has before it plays anything."""
TRIAL_CPU_SECONDS = 60
"""Of one request."""
_GAVE_WAY = Localised(
    zh="这份草稿让试运行出了错，请换一种写法再试。",
    en="The trial broke over this draft: write it another way, and try again.",
)

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class _Stage:
    answers: Mapping[str, JsonValue]
    """What tools answer where nobody says."""
    names: StoryNames


@dataclass
class _Warm:
    """What was played last, and how it was asked for."""

    performance: Performance
    story: Story
    asked: TrialPlay
    played: list[PlayedStep] = field(default_factory=list)

    def goes_on_as(self, asked: TrialPlay, story: Story) -> bool:
        """True where the other begins with all of this, as far as anybody could tell."""
        steps, before = asked.steps[: len(self.played)], self.asked
        same = (asked.user, steps) == (before.user, before.steps[: len(self.played)])
        called = {call.tool for step in self.played for call in step.calls}
        answered = all(asked.answers.get(n) == before.answers.get(n) for n in called)
        return same and answered and story.has_model == self.story.has_model


class TrialHouse:
    """A house in which drafts are tried, one performance at a time."""

    def __init__(self, house: Environment) -> None:
        self._house = house
        self._stage: _Stage | None = None
        self._warm: _Warm | None = None

    async def answer(self, request: TrialRequest) -> TrialAnswer:
        """What the request comes to; a refusal is an answer."""
        try:
            if request.stage is not None:
                await self._close()
                self._stage = None
                self._stage = await self._set(request.stage)
            if request.play is not None:
                return TrialAnswer(played=await self.play(request.play))
            if request.stories is not None:
                return TrialAnswer(report=await self.run(request.stories))
            return TrialAnswer(ready=True)
        except RouterError as error:
            kind: RefusalKind = "unavailable" if isinstance(error, Unavailable) else "invalid"
            found = error.problems if isinstance(error, InvalidInput) else []
            fields = tuple((p.field, p.said or Localised(zh=p.detail, en=p.detail)) for p in found)
            refused = TrialRefusal(kind=kind, message=error.said, fields=fields)
            return TrialAnswer(refused=refused)
        except Exception:  # noqa: BLE001 - whatever an author's draft leads to
            _log.exception("a trial gave way")
            await self._close()
            return TrialAnswer(refused=TrialRefusal(kind="unavailable", message=_GAVE_WAY))

    async def play(self, asked: TrialPlay) -> PlayedTrial:
        """Play the steps, going on from what was just played where they begin with that.

        Raises `InvalidInput` where they are no steps of a story.
        """
        stage = self._there()
        story = _story(stage, asked)
        warm = self._warm
        if warm is None or asked.anew or not warm.goes_on_as(asked, story):
            await self._close()
            warm = await self._begun(story, asked)
        failed = await self._go_on(warm, story)
        warm.asked = asked
        played = tuple(warm.played)
        if failed is not None:
            # What is left of it is no beginning of anything.
            await self._close()
        standing = played[-1].standing if played else None
        return PlayedTrial(steps=played, standing=standing, failed=failed)

    async def _begun(self, story: Story, asked: TrialPlay) -> _Warm:
        tenant = f"trial-{len(self._house.shifts)}"
        performance = await Performance.begun(self._house, story, tenant)
        self._warm = _Warm(performance, story, asked)
        return self._warm

    async def _go_on(self, warm: _Warm, story: Story) -> FailedStep | None:
        performance, done = warm.performance, len(warm.played)
        performance.answer(story.answers)
        for step in warm.story.steps[:done]:
            if isinstance(step.entry, ToolAnswersStep):
                performance.answer(step.entry.tool_answers)
        for number, step in enumerate(story.steps[done:], start=done):
            calls, performance.refused = len(performance.seen.calls), None
            mismatch = await performance.take(step)
            warm.played.append(await _played(performance, step, calls))
            if mismatch is not None:
                return FailedStep(step=number, message=_why(mismatch, performance.refused))
        return None

    async def run(self, asked: TrialStories) -> StoriesReport:
        """Run all stories of a file, and say how much of its flow they took.

        Raises `InvalidInput` where it is no file of stories.
        """
        stage = self._there()
        await self._close()
        stories = [
            replace(each, answers={**stage.answers, **each.answers})
            for each in _stories_in(asked, stage.names)
        ]
        report = await run_in(self._house, stories, lambda _: None)
        found = report.coverage(self._house.catalog, whole=True)
        return StoriesReport(
            passed=len(report.outcomes) - len(report.failed),
            failed=len(report.failed),
            stories=tuple(
                StoryVerdict(
                    name=each.story.name,
                    ok=each.ok,
                    told=tuple(expectations.told(each, asked.locale)),
                )
                for each in report.outcomes
            ),
            coverage=StoryCoverage.from_coverage(
                next(e for e in found if e.definition.flow == asked.flow)
            ),
        )

    def _there(self) -> _Stage:
        if self._stage is None:
            raise InvalidInput("a stage comes first")
        return self._stage

    async def _set(self, said: TrialStage) -> _Stage:
        answers = said.answers()
        own = {t.name: t for t in self._house.parts.offered.registry if _works_here(t)}
        stand_ins = (stand_in(each, answers[each.name]) for each in said.tools)
        tools = [own.get(t.name) or watched(t, self._house.books) for t in stand_ins]
        registry = Registry()
        registry.replace("trial", tools)
        catalog = Catalog(said.flows)
        offered = Capabilities(catalog, SkillCatalog([]), registry)
        await self._house.restage(offered, said.people)
        people = [person.id for person in said.people]
        given = {name: each for name, each in answers.items() if name not in own}
        return _Stage(given, StoryNames(people, registry.names, catalog.flows))

    async def close(self) -> None:
        """Let nothing of what was played go on."""
        await self._close()

    async def _close(self) -> None:
        warm, self._warm = self._warm, None
        if warm is not None:
            await warm.performance.close()


def _works_here(tool: Tool) -> bool:
    made = tool.implementation
    return isinstance(made, FunctionImplementation) and made.function.__module__.startswith(OWN)


def _story(stage: _Stage, asked: TrialPlay) -> Story:
    """The steps as a story; raises `InvalidInput` with all that is wrong with them."""
    steps, complaints = read_steps(asked.steps, stage.names)
    if complaints:
        found = [_field_problem(complaint) for complaint in complaints]
        raise InvalidInput(_worded(found), found)
    answers = {**stage.answers, **asked.answers}
    return Story("trial", "trial", 1, steps, user=asked.user, answers=answers)


def _field_problem(complaint: Complaint) -> FieldProblem:
    return FieldProblem.of(".".join(map(str, ("steps", *complaint.place))), told(*complaint.fault))


def _worded(found: Sequence[FieldProblem]) -> Localised:
    zh, en = (_listed(found, locale) for locale in LOCALES)
    return Localised(zh=f"这些步骤不能这样写：{zh}", en=f"These can't be the steps: {en}")


def _listed(found: Sequence[FieldProblem], locale: Locale) -> str:
    between, colon = ("；", "：") if locale == "zh" else ("; ", ": ")
    return between.join(f"{each.field}{colon}{each.within(locale)}" for each in found[:_SHOWN])


_SHOWN = 5


def _stories_in(asked: TrialStories, names: StoryNames) -> list[Story]:
    try:
        document = read_yaml(asked.stories)
    except Unreadable as bad:
        raise InvalidInput.at("stories", told(*bad.fault, bad.line)) from None
    found, wrong = read_stories(document, f"{asked.flow}.yaml", names)
    if wrong:
        faults = [FieldProblem.of("stories", told(p.what, p.remedy, p.line)) for p in wrong]
        zh, en = ("\n".join(f.within(at) for f in faults[:_SHOWN]) for at in LOCALES)
        raise InvalidInput(Localised(zh=zh, en=en), faults)
    return found


async def _played(performance: Performance, step: StoryStep, before: int) -> PlayedStep:
    """What there is to see of a step before which so many calls had been made."""
    if isinstance(step.entry, Expectation | ToolsStep):
        return PlayedStep(standing=await _standing(performance))
    seen = performance.seen
    return PlayedStep(
        said=tuple(dict(each) for each in seen.replies),
        calls=tuple(
            PlayedCall(**{**vars(call), "arguments": dict(call.arguments)})
            for call in seen.calls[before:]
        ),
        told=tuple(PlayedTelling(person=person, how=how) for person, how in seen.told),
        standing=await _standing(performance),
    )


async def _standing(performance: Performance) -> TrialStanding | None:
    standing = performance.seen.standing
    if standing is None:
        return None
    fields = {n: v for n, v in vars(standing).items() if n in TrialStanding.model_fields}
    return TrialStanding(**fields, waits_until=await performance.due())


def _why(mismatch: Mismatch, refused: RouterError | None) -> Localised:
    if refused is not None:
        return refused.said
    zh, en = (["; ".join(lines) for lines in mismatch.within(locale)] for locale in LOCALES)
    return Localised(zh=f"期望：{zh[0]}；实际：{zh[1]}", en=f"expected: {en[0]}; found: {en[1]}")


async def serve() -> None:
    """Try drafts until nobody asks any more; the input and the output are whoever asks."""
    channel = _channel()
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    kill_first_when_memory_is_short()
    die_with_parent()
    end_group_with_this()
    try:
        with TemporaryDirectory(prefix="trial-") as folder:
            await _serve(nowhere(Path(folder)), channel)
    except (DefinitionError, MisconfiguredError, Unavailable) as error:
        _say(channel, TrialAnswer(refused=TrialRefusal(kind="unavailable", message=error.said)))


async def _serve(settings: Settings, channel: int) -> None:
    with kept_down():
        async with opened(settings) as house:
            bound_data(MAX_TRIAL_BYTES)  # not before: the Temporal server isn't bound by it
            trials = TrialHouse(house)
            _say(channel, TrialAnswer(ready=True))
            async for line in _lines():
                bound_cpu(TRIAL_CPU_SECONDS)
                _say(channel, await trials.answer(TrialRequest.model_validate_json(line)))
            await trials.close()


def nowhere(folder: Path) -> Settings:
    """Settings of a house that has nothing of its own: what it has comes with each trial."""
    for name in ("flows", "skills"):
        (folder / name).mkdir()
    return Settings.load(flows=folder / "flows", skills=folder / "skills", data=folder)


def _channel() -> int:
    """The output, as a number that no library writes to: what they print goes to the log."""
    channel = os.dup(1)
    os.dup2(2, 1)
    os.set_inheritable(channel, False)
    return channel


async def _lines() -> AsyncIterator[bytes]:
    reader = asyncio.StreamReader(LONGEST_LINE)
    loop = asyncio.get_running_loop()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    while line := await reader.readline():
        yield line


def _say(channel: int, answer: TrialAnswer) -> None:
    left = memoryview(answer.model_dump_json().encode() + b"\n")
    while left:
        left = left[os.write(channel, left) :]


if __name__ == "__main__":
    asyncio.run(serve())
