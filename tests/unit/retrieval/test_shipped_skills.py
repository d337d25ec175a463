"""The skills that ship, ranked among all capabilities by retrieval alone, with the real encoder.

The files are in `skills/tests`: none of their lines is an example of a skill. What is held here was
measured; where a change of wording makes it worse, better wording is the remedy.
"""

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import pytest

import skills
from router.cli.dry_run import DryRun, dry_run_of
from router.directory.sources import people_of
from router.domain.principals import Principal
from router.extensions.evaluation.dataset import LabelledLine
from router.retrieval.selection import SearchVerdict
from router.settings import Settings
from tests.table import each_row

EVALS = Path(next(iter(skills.__path__))) / "tests"
REQUESTS = Path(__file__).parents[3] / "docs" / "examples" / "requests.jsonl"
NOW = datetime(2026, 11, 18, 2, tzinfo=UTC)
ABSENT = 1000
OFFERED = 5
"""A model is told of so many."""

pytestmark = pytest.mark.xdist_group("shipped skills")
"""All on one worker: encoding everything that there is takes seconds."""


def lines_of(file: Path) -> list[LabelledLine]:
    return [LabelledLine.model_validate_json(line) for line in file.read_text("utf-8").splitlines()]


@dataclass(frozen=True)
class Searched:
    """A line, and the names of what was found for it, nearest first."""

    line: LabelledLine
    found: Sequence[str]
    verdict: SearchVerdict

    def rank(self, name: str | None = None) -> int:
        """The place of a capability, 1 the first; of the label's where none is named."""
        name = name or str(self.line.label)
        return self.found.index(name) + 1 if name in self.found else ABSENT


@dataclass(frozen=True)
class Desk:
    """Searches for what the lines of a file may be for; those that rules take are left out."""

    dry_run: DryRun
    people: dict[str, Principal]

    async def searched(self, file: Path) -> list[Searched]:
        found = []
        for line in lines_of(file):
            person = self.people[line.user or "alice"]
            if selection := await self.dry_run.found(line.text, person, NOW):
                names = [one.capability.name for one in selection.candidates]
                found.append(Searched(line, names, selection.verdict))
        return found


@pytest.fixture(scope="module")
async def desk(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Desk]:
    """The house as it is where a model is configured, which adds the tools that need one."""
    settings = Settings.load(
        data=tmp_path_factory.mktemp("data"),
        llm_base_url="http://127.0.0.1:9/v1",
        llm_model="never-asked",
    )
    people = {person.id: person for person in people_of(settings).everyone()}
    async with dry_run_of(settings) as dry_run:
        yield Desk(dry_run, people)


@each_row(
    ("skill", "first", "near"),
    [
        ("blog-writer", 8, 3),
        ("code-review", 10, 3),
        ("general-assistant", 1, OFFERED),  # the tools that it would call are nearer
        ("policy-advisor", 2, 3),  # tools that look one thing up, and forms for it, are as near
        ("trip-planner", 9, 3),
        ("weekly-report", 10, 3),
    ],
)
async def test_a_skill_is_near_to_every_request_for_it(
    desk: Desk, skill: str, first: int, near: int
) -> None:
    ranks = [one.rank() for one in await desk.searched(EVALS / f"{skill}.jsonl")]
    assert len(ranks) == 10, "rules take a request that is for the skill"
    assert sum(rank <= near for rank in ranks) == 10, ranks
    assert sum(rank == 1 for rank in ranks) >= first, ranks


@pytest.mark.slow
async def test_what_only_sounds_like_a_skill_is_nearer_to_what_it_is_for(desk: Desk) -> None:
    searched = await desk.searched(EVALS / "near-misses.jsonl")
    near = [one for one in searched if one.line.label != "none"]
    behind = {one.line.text for one in near if one.rank() > one.rank(one.line.split)}
    assert len(near) >= 15  # rules take the others
    assert behind <= {"translate this post into Chinese: we moved to a new office last week"}
    assert max(one.rank() for one in near) <= 3
    # What sounds like a skill and is for nothing here is clear to nobody.
    clear = [one.line.text for one in searched if one not in near and one.verdict == "clear"]
    assert clear == []


@pytest.mark.slow
async def test_the_skills_are_in_nobody_elses_way(desk: Desk) -> None:
    ranks = [one.rank() for one in await desk.searched(REQUESTS) if one.line.label != "reply"]
    assert len(ranks) == 17  # rules take the others
    assert max(ranks) <= 5
    assert sum(rank == 1 for rank in ranks) >= 13
