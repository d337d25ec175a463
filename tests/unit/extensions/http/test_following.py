"""Files of declared tools that change while a process runs."""

import asyncio
import json
from pathlib import Path

import pytest

from router.domain.messages import Message, Option
from router.domain.principals import EVERYONE
from router.extensions.http.settings import HttpSettings
from router.extensions.http.source import DeclarationSource
from router.flow.paused import Situation
from router.runtime.composition import assembled
from router.runtime.upkeep import Misfits
from router.settings import Settings
from tests.unit.extensions.http.declaring import declaration
from tests.unit.runtime.test_composition import finds, running
from tests.unit.tool.samples import NOW

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


@pytest.mark.slow
async def test_a_tool_that_is_declared_meanwhile_is_found_and_can_be_chosen(tmp_path: Path) -> None:
    declared = tmp_path / "declared"
    declared.mkdir()
    async with running(HttpSettings(tools=declared), data=tmp_path) as parts:
        (declared / "a.json").write_text(json.dumps(declaration(name="get_flamingos")))
        while not await finds(parts, "get_flamingos", "flamingos"):  # noqa: ASYNC110 - a file
            await asyncio.sleep(0.05)
        offered = [Option(label="Flamingos", value="get_flamingos")]
        roles = frozenset({EVERYONE})
        situation = Situation(now=NOW, locale="en", roles=roles, offered=offered)
        reading = parts.reader.read(Message(text="Flamingos"), situation)
    assert [command.type for command in reading.commands] == ["start_flow"]


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
    settings = Settings(data=tmp_path, flows=flows).having(HttpSettings(tools=declared))
    async with assembled(settings) as parts:
        file.unlink()
        (source,) = (each for each in parts.tools.each if isinstance(each, DeclarationSource))
        assert source.watched
        assert source.watched.reload()
        Misfits(parts).warn()
    assert "birds.yaml:12: there is no tool get_flamingos" in caplog.text
