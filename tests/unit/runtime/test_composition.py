"""The rooms put together, as a process that stays has them."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from router.domain.messages import Message, Option
from router.domain.principals import EVERYONE, Principal
from router.flow.paused import Situation
from router.runtime.composition import Parts, assembled
from router.runtime.definitions import load_capabilities
from router.runtime.upkeep import Misfits, at_work
from router.settings import Settings
from router.tool.kinds.declarations import DeclarationSource
from tests.fakes.model_server import ModelServer
from tests.unit.skill.test_loader import beside, write
from tests.unit.tool.http.declaring import declaration
from tests.unit.tool.samples import NOW
from tests.waiting import HANGS_AFTER_S

BIRDS = """
flow: birds
version: 1
title: {zh: "鸟", en: "Birds"}
description: {zh: "看鸟", en: "Looks at birds"}
triggers: {patterns: ['看鸟']}
slots:
  name: {type: text, ask: {zh: "哪种？", en: "Which?"}}
start: details
states:
  details: {collect: [name], next: look}
  look: {call: get_flamingos, next: done, on_error: sorry}
  done: {say: {zh: "好", en: "Done"}, end: completed}
  sorry: {say: {zh: "没成", en: "Sorry"}, end: failed}
"""


async def finds(parts: Parts, name: str, words: str) -> bool:
    """True once the index knows it."""
    selection = await parts.index.select(words, always=[name])
    return name in {candidate.name for candidate in selection.candidates}


@asynccontextmanager
async def running(**settings: Any) -> AsyncIterator[Parts]:
    """A process that stays, whose encoder answers at once; half a minute for what it does."""
    async with ModelServer() as vectors:
        scripted = Settings(llm_base_url=vectors.url, embedder="openai:scripted", **settings)
        async with at_work(scripted) as parts, asyncio.timeout(HANGS_AFTER_S):
            yield parts


@pytest.mark.slow
async def test_a_tool_that_is_declared_meanwhile_is_found_and_can_be_chosen(tmp_path: Path) -> None:
    declared = tmp_path / "declared"
    declared.mkdir()
    async with running(data=tmp_path, http_tools=declared) as parts:
        (declared / "a.json").write_text(json.dumps(declaration(name="get_flamingos")))
        while not await finds(parts, "get_flamingos", "flamingos"):  # noqa: ASYNC110 - a file
            await asyncio.sleep(0.05)
        offered = [Option(label="Flamingos", value="get_flamingos")]
        roles = frozenset({EVERYONE})
        situation = Situation(now=NOW, locale="en", roles=roles, offered=offered)
        reading = parts.reader.read(Message(text="Flamingos"), situation)
    assert [command.type for command in reading.commands] == ["start_flow"]


def test_currencies_are_converted_only_where_there_are_rates() -> None:
    alice = Principal(id="alice", name="Alice")

    def offered(settings: Settings) -> set[str]:
        return {tool.name for tool in load_capabilities(settings).visible_to(alice)}

    rates = Settings(rates_url="https://rates.example/daily.json")
    assert offered(rates) - offered(Settings()) == {"convert_currency"}
    assert "convert_currency" in load_capabilities(Settings()).registry


@pytest.mark.slow
async def test_a_flow_whose_tool_is_deleted_is_named_with_its_line(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    declared, flows = tmp_path / "declared", tmp_path / "flows"
    declared.mkdir()
    flows.mkdir()
    file = declared / "a.json"
    file.write_text(json.dumps(declaration(name="get_flamingos")))
    (flows / "birds.yaml").write_text(BIRDS)
    settings = Settings(data=tmp_path, http_tools=declared, flows=flows)
    async with assembled(settings) as parts:
        file.unlink()
        (source,) = (each for each in parts.tools.each if isinstance(each, DeclarationSource))
        assert source.watched
        assert source.watched.reload()
        Misfits(parts).warn()
    assert "birds.yaml:12: there is no tool get_flamingos" in caplog.text


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
