"""Flows that follow their files."""

import logging
import os
import shutil
from pathlib import Path

import pytest

from router.domain.errors import DefinitionError
from router.flow.loader import Vocabulary, WatchedFlows

BADGE = """\
flow: badge
version: 1
title: {zh: "工牌", en: "Badge"}
description: {zh: "补办工牌", en: "A new badge"}
start: done
states:
  done: {call: print_badge, next: said}
  said: {say: {zh: "好了", en: "Done"}, end: completed}
"""
TOOLS = {"print_badge": frozenset[str]()}


def written(folder: Path, text: str = BADGE, name: str = "badge") -> Path:
    """A flow's file, as if it were written later, however coarse the file system's clock is."""
    folder.mkdir(exist_ok=True)
    file = folder / f"{name}.yaml"
    before = file.stat().st_mtime_ns if file.exists() else 0
    file.write_text(text)
    stamp = max(before, file.stat().st_mtime_ns) + 1_000_000_000
    os.utime(file, ns=(stamp, stamp))
    return file


def titles(flows: WatchedFlows) -> dict[str, str]:
    """What has changed, by name; fails where nothing has."""
    files = flows.reload()
    assert files is not None
    return {file.definition.flow: file.definition.title.en for file in files}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    written(tmp_path / "flows")
    return tmp_path / "flows"


@pytest.fixture
def flows(folder: Path) -> WatchedFlows:
    flows = WatchedFlows(folder, lambda: Vocabulary.of(TOOLS))
    assert [flow.flow for flow in flows.load()] == ["badge"]
    return flows


def test_what_is_new_edited_or_gone_is_followed(folder: Path, flows: WatchedFlows) -> None:
    assert flows.reload() is None
    other = written(folder, BADGE.replace("flow: badge", "flow: other"), "other")
    assert titles(flows) == {"badge": "Badge", "other": "Badge"}
    assert flows.reload() is None
    written(folder, BADGE.replace("en: Badge", "en: Pass").replace('"Badge"', '"Pass"'))
    assert titles(flows) == {"badge": "Pass", "other": "Badge"}
    other.unlink()
    assert titles(flows) == {"badge": "Pass"}


def test_a_broken_one_stays_as_it_was_and_is_logged_once_while_others_change(
    folder: Path, flows: WatchedFlows, caplog: pytest.LogCaptureFixture
) -> None:
    written(folder, BADGE.replace("next: said", "next: nowhere"))
    written(folder, BADGE.replace("flow: badge", "flow: other"), "other")
    written(folder, "flow: [", "new")
    assert titles(flows) == {"badge": "Badge", "other": "Badge"}
    assert flows.reload() is None
    first, second = [record.getMessage() for record in caplog.records]
    assert first.startswith(f"the flow in {folder / 'badge.yaml'} stays as it was: ")
    assert "badge.yaml:7: there is no state nowhere" in first
    assert second.startswith(f"the flow in {folder / 'new.yaml'} isn't used: ")
    written(folder)
    assert titles(flows) == {"badge": "Badge", "other": "Badge"}


def test_one_that_lacked_a_tool_is_read_again_once_tools_have_changed(folder: Path) -> None:
    tools = dict(TOOLS)
    flows = WatchedFlows(folder, lambda: Vocabulary.of(tools))
    flows.load()
    written(folder, BADGE.replace("print_badge", "engrave").replace('"Badge"', '"Engraved"'))
    assert titles(flows) == {"badge": "Badge"}
    tools["engrave"] = frozenset()
    flows.retry()
    assert titles(flows) == {"badge": "Engraved"}
    flows.retry()
    assert flows.reload() is None


def test_what_could_not_be_taken_up_is_found_again(flows: WatchedFlows) -> None:
    flows.forget()
    assert titles(flows) == {"badge": "Badge"}
    assert flows.reload() is None


def test_a_folder_that_is_away_for_a_moment_takes_no_flow_with_it(
    folder: Path, flows: WatchedFlows
) -> None:
    shutil.move(folder, folder.with_name("moved"))
    assert flows.reload() is None


@pytest.mark.parametrize("text", ["", "\x00", "flow: badge", "- a", "a: &a [*a]", "x" * 200_000])
def test_whatever_comes_instead_of_a_flow_the_one_before_stays(
    folder: Path, flows: WatchedFlows, text: str, caplog: pytest.LogCaptureFixture
) -> None:
    written(folder, text)
    assert titles(flows) == {"badge": "Badge"}
    assert [record.levelno for record in caplog.records] == [logging.ERROR]


def test_the_first_load_refuses_with_every_problem(folder: Path) -> None:
    written(folder, BADGE.replace("next: said", "next: nowhere"))
    with pytest.raises(DefinitionError, match="no state nowhere"):
        WatchedFlows(folder, lambda: Vocabulary.of(TOOLS)).load()
