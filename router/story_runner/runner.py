"""Running stories: act, wait until all is quiet, look, compare; and what came of all.

Playing a story: act, wait until all is quiet, look, compare.

Running stories: which ones, one after the other, and what all of them came through.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from time import monotonic
from typing import Any
from zoneinfo import ZoneInfo

import flows
from router.contracts.flow import VIEW
from router.directory.sources import people_of
from router.domain.errors import NotFound, RouterError, Unavailable
from router.domain.messages import ENDED
from router.domain.records import ApprovalRecord, LogEntry, RunRecord
from router.flow.catalog import Catalog
from router.flow.view import FlowView
from router.runtime.definitions import load_catalog, load_registry
from router.settings import Settings
from router.story.coverage import Coverage, TakenTransitions, coverages, taken_in
from router.story.expectations import Divergence, Mismatch, Seen, Standing, StoryOutcome, judge
from router.story.loader import load_stories
from router.story.story import AnyStep, BotSays, RunStands, Story, StoryNames, ToolCalled, ToolsFail
from router.story_runner.actor import Actor
from router.story_runner.environment import Environment, kept_down, opened
from router.story_runner.quiescence import settled

MOST_LINES = 2_000


@dataclass
class Played:
    """What became of a story, and what of each flow it came through."""

    outcome: StoryOutcome
    taken: dict[str, TakenTransitions] = field(default_factory=dict)


async def play(house: Environment, story: Story, tenant: str) -> Played:
    """Play it, up to the first step that doesn't come out as expected.

    `tenant` is the story's own, which no other may have had.

    Raises:
        NotFound: the directory has nobody of the name of the one who talks.
    """
    user = await house.parts.directory.find(tenant, story.user)
    if user is None:
        raise NotFound(f"the directory has nobody called {story.user!r}")
    zone = ZoneInfo(user.timezone)
    now = story.now if story.now.tzinfo else story.now.replace(tzinfo=zone)
    house.shifts[tenant] = now - await house.environment.get_current_time()
    house.books[tenant].failing.update(story.failing)
    player = _Player(house, Actor(house, user, story.locale or user.locale))
    began = monotonic()
    try:
        await player.actor.open()
        divergence = await player.play(story)
        seconds = monotonic() - began
        return Played(StoryOutcome(story, seconds, divergence), await player.taken())
    finally:
        await player.actor.close()


class _Player:
    def __init__(self, house: Environment, actor: Actor) -> None:
        self.house = house
        self.actor = actor
        self._seen = Seen()
        self._read = 0
        self._gave_way = False

    async def play(self, story: Story) -> Divergence | None:
        for number, step in enumerate(story.steps, start=1):
            mismatch = await self._take(step)
            if mismatch is not None:
                steps, said = story.steps[:number], tuple(self._seen.said)
                return Divergence(steps, mismatch, said, self._seen.standing, self._gave_way)
        return None

    async def _take(self, step: AnyStep) -> Mismatch | None:
        if isinstance(step, BotSays | RunStands | ToolCalled):
            return judge(step, self._seen)
        if isinstance(step, ToolsFail):
            # It is no event: what was said before it can still be expected.
            await self.actor.act(step)
            return None
        self._seen = Seen(standings=self._seen.standings)
        try:
            await self.actor.act(step)
            book = self.house.books[self.actor.user.tenant]
            await settled(self.house.client, self.actor.workflows, book.hopeless)
        except RouterError as error:
            self._gave_way = isinstance(error, Unavailable)
            await self._look()
            return Mismatch([str(step)], [f"it was refused: {error}"])
        await self._look()
        return None

    async def _look(self) -> None:
        """See what was said since, where the runs stand, and what was called."""
        tenant, store = self.actor.user.tenant, self.house.parts.store
        talk = self.actor.conversation
        lines = await store.log.transcript(tenant, talk, self._read, MOST_LINES)
        self._read = max([self._read, *(line.sequence or 0 for line in lines)])
        self._seen.said += [said for line in lines for said in spoken(line)]
        self._seen.calls = self.house.books[tenant].calls
        waiting = await self.actor.waiting()
        found = await self.actor.runs()
        self._seen.standings = [await self._standing(run, waiting) for run in found]

    async def _standing(self, run: RunRecord, waiting: list[ApprovalRecord]) -> Standing:
        """As its workflow has it: what is being filled in is published only later."""
        if run.status in ENDED:
            return Standing(run.flow, run.status, run.state, run.slots)
        handle = self.house.client.get_workflow_handle(run.workflow_id)
        view: FlowView = await handle.query(VIEW, result_type=FlowView)
        return Standing(
            flow=run.flow,
            status=view.status,
            state=view.state,
            slots=view.slots,
            awaiting=tuple(view.awaiting),
            approvers=tuple(each.person for each in waiting if each.run == run.id),
        )

    async def taken(self) -> dict[str, TakenTransitions]:
        """By flow, what the story's runs came through; forms of tools are no flows of a file."""
        found: dict[str, TakenTransitions] = {}
        for run in await self.actor.runs():
            definition = self.house.catalog.get(run.flow)
            if definition is not None:
                earlier = found.get(run.flow, TakenTransitions())
                found[run.flow] = earlier | taken_in(definition, run.history)
        return found


def spoken(line: LogEntry) -> Iterable[str]:
    """What the desk says in a line of the transcript, as people see it.

    Of each reply its words, and then what can be chosen.
    """
    if line.data.get("role") != "assistant":
        return []
    replies = line.data.get("replies")
    if not isinstance(replies, list):
        return [str(line.data.get("text", ""))]
    return [_reply(reply) for reply in replies if isinstance(reply, dict)]


def _reply(reply: Mapping[str, Any]) -> str:
    options = [f"[{option['label']}]" for option in reply.get("options") or ()]
    return "\n".join([str(reply.get("text", "")), *([" ".join(options)] if options else [])])


Tell = Callable[[StoryOutcome], None]


@dataclass
class Report:
    """What all stories came to."""

    outcomes: list[StoryOutcome] = field(default_factory=list)
    taken: dict[str, TakenTransitions] = field(default_factory=dict)

    @property
    def failed(self) -> list[StoryOutcome]:
        """Those that went another way."""
        return [outcome for outcome in self.outcomes if not outcome.ok]

    def coverage(self, catalog: Catalog, *, whole: bool) -> list[Coverage]:
        """Of the flows that stories took, or of the `whole` catalog."""
        return coverages((flow for flow in catalog if whole or flow.flow in self.taken), self.taken)


def folder_of(settings: Settings) -> Path:
    """Where stories stand that nobody names: `tests` beside the flows."""
    folder, here = (settings.flows or Path(next(iter(flows.__path__)))) / "tests", Path.cwd()
    return folder.relative_to(here) if folder.is_relative_to(here) else folder


def chosen(settings: Settings, paths: Sequence[Path], text: str) -> list[Story]:
    """The stories of the paths, or of the flows' own folder, whose name or file has the text.

    Raises:
        DefinitionError: with every problem of every file of flows, or of stories.
        NotFound: no story has the text.
    """
    places = paths or [folder_of(settings)]
    for place in places:
        if not place.exists():
            raise NotFound(
                f"there are no stories at {place}: name a file of them or a folder, "
                "or pick some by name with -k"
            )
    stories = load_stories(places, known_of(settings))
    wanted = [s for s in stories if text.lower() in f"{Path(s.file).stem} {s.name}".lower()]
    if not wanted:
        raise NotFound(f"no story has {text!r} in its name or its file's: there are {len(stories)}")
    return wanted


def known_of(settings: Settings) -> StoryNames:
    """What stories may name here."""
    registry = load_registry(settings)
    people = people_of(settings).everyone()
    catalog = load_catalog(settings, registry)
    return StoryNames([one.id for one in people], registry.names, catalog.flows)


async def run(settings: Settings, stories: Iterable[Story], tell: Tell) -> tuple[Report, Catalog]:
    """Run them on a server of their own; each outcome is told as soon as it is there.

    Raises what `router.story_runner.environment.opened` raises.
    """
    with kept_down():
        async with opened(settings) as house:
            return await run_in(house, stories, tell), house.catalog


async def run_in(house: Environment, stories: Iterable[Story], tell: Tell) -> Report:
    """The same in a house that is there already."""
    report = Report()
    for story in stories:
        played = await _played(house, story)
        report.outcomes.append(played.outcome)
        for flow, taken in played.taken.items():
            report.taken[flow] = report.taken.get(flow, TakenTransitions()) | taken
        tell(played.outcome)
    return report


async def _played(house: Environment, story: Story) -> Played:
    """What became of it; played once more where the stage gave way.

    Its server does so now and then on a busy machine, which says nothing of the story.
    """
    first = await play(house, story, _new_tenant(house))
    stopped = first.outcome.divergence
    if stopped is None or not stopped.gave_way:
        return first
    second = await play(house, story, _new_tenant(house))
    return replace(second, outcome=replace(second.outcome, earlier=stopped))


def _new_tenant(house: Environment) -> str:
    """A name that no story had before, in a house that may have seen some."""
    return f"story-{len(house.shifts)}"
