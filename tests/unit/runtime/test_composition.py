"""The rooms put together, as a process that stays has them."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from router.domain.principals import Principal
from router.runtime.composition import Parts
from router.runtime.definitions import load_capabilities
from router.runtime.upkeep import at_work
from router.settings import Section, Settings
from tests.fakes.model_server import ModelServer
from tests.unit.skill.test_loader import beside, write
from tests.waiting import HANGS_AFTER_S


async def finds(parts: Parts, name: str, words: str) -> bool:
    """True once the index knows it."""
    selection = await parts.index.select(words, always=[name])
    return name in {candidate.name for candidate in selection.candidates}


@asynccontextmanager
async def running(*sections: Section, **settings: Any) -> AsyncIterator[Parts]:
    """A process that stays, whose encoder answers at once; half a minute for what it does."""
    async with ModelServer() as vectors:
        scripted = Settings(llm_base_url=vectors.url, embedder="openai:scripted", **settings)
        async with at_work(scripted.having(*sections)) as parts, asyncio.timeout(HANGS_AFTER_S):
            yield parts


def test_currencies_are_converted_only_where_there_are_rates() -> None:
    alice = Principal(id="alice", name="Alice")

    def offered(settings: Settings) -> set[str]:
        return {tool.name for tool in load_capabilities(settings).visible_to(alice)}

    rates = Settings(rates_url="https://rates.example/daily.json")
    assert offered(rates) - offered(Settings()) == {"convert_currency"}
    assert "convert_currency" in load_capabilities(Settings()).registry


def test_forms_that_only_read_or_are_about_requests_are_no_requests_themselves() -> None:
    offered = load_capabilities(Settings())
    about = {"withdraw_request", "nudge_approver"}
    assert {"get_current_time", "get_my_requests", *about} <= offered.look_ups()
    assert {"leave_request", "equipment_request"}.isdisjoint(offered.look_ups())


async def holds(parts: Parts, skill: str, instructions: str) -> bool:
    """True once the skill reads so, its files are kept, and the index knows it."""
    there = parts.offered.skills.get(skill)
    if there is None or there.instructions != instructions:
        return False
    digests = {file.digest for file in there.files}
    kept = await parts.store.skill_files.find([*digests])
    return len(kept) == len(digests) and await finds(parts, skill, there.description.en)


@pytest.mark.slow
async def test_a_skill_that_changes_meanwhile_is_taken_up_with_its_files(tmp_path: Path) -> None:
    skills = tmp_path / "skills"
    skills.mkdir()
    beside(write(skills), "references/a.md", "one")
    async with running(data=tmp_path, skills=skills) as parts:
        (before,) = parts.offered.skills
        assert before.files[0].path == "references/a.md"
        beside(write(skills, body="Changed now."), "references/a.md", "two")
        write(skills, "name: broken", name="broken")
        beside(write(skills, "name: other\ndescription: flamingos", name="other"), "b.md")
        for name, body in (("trip-planner", "Changed now."), ("other", "Plan the trip.")):
            while not await holds(parts, name, body):  # noqa: ASYNC110 - files
                await asyncio.sleep(0.05)
        assert "broken" not in parts.offered.skills
        old = await parts.store.skill_files.find([before.files[0].digest])
    assert list(old.values()) == [b"one"]
