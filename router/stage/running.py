"""Running stories: which ones, one after the other, and what all of them came through."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import flows
from router.definitions import load_catalog, load_registry
from router.directory.sources import people_of
from router.domain.errors import NotFound
from router.flow.catalog import Catalog
from router.settings import Settings
from router.stage.house import House, opened
from router.stage.noise import kept_down
from router.stage.playing import Played, play
from router.story.coverage import Coverage, Taken, coverages
from router.story.known import Known
from router.story.loader import load_stories
from router.story.steps import Story
from router.story.telling import Outcome

Tell = Callable[[Outcome], None]


@dataclass
class Report:
    """What all stories came to."""

    outcomes: list[Outcome] = field(default_factory=list)
    taken: dict[str, Taken] = field(default_factory=dict)

    @property
    def failed(self) -> list[Outcome]:
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


def known_of(settings: Settings) -> Known:
    """What stories may name here."""
    registry = load_registry(settings)
    people = people_of(settings).everyone()
    catalog = load_catalog(settings, registry)
    return Known([one.id for one in people], registry.names, catalog.flows)


async def run(settings: Settings, stories: Iterable[Story], tell: Tell) -> tuple[Report, Catalog]:
    """Run them on a server of their own; each outcome is told as soon as it is there.

    Raises what `router.stage.house.opened` raises.
    """
    with kept_down():
        async with opened(settings) as house:
            return await run_in(house, stories, tell), house.catalog


async def run_in(house: House, stories: Iterable[Story], tell: Tell) -> Report:
    """The same in a house that is there already."""
    report = Report()
    for story in stories:
        played = await _played(house, story)
        report.outcomes.append(played.outcome)
        for flow, taken in played.taken.items():
            report.taken[flow] = report.taken.get(flow, Taken()) | taken
        tell(played.outcome)
    return report


async def _played(house: House, story: Story) -> Played:
    """What became of it; played once more where the stage gave way.

    Its server does so now and then on a busy machine, which says nothing of the story.
    """
    first = await play(house, story, _new_tenant(house))
    stopped = first.outcome.divergence
    if stopped is None or not stopped.gave_way:
        return first
    second = await play(house, story, _new_tenant(house))
    return replace(second, outcome=replace(second.outcome, earlier=stopped))


def _new_tenant(house: House) -> str:
    """A name that no story had before, in a house that may have seen some."""
    return f"story-{len(house.shifts)}"
