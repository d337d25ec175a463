"""A flow may not change under its version: what is kept of versions, and who is refused."""

import asyncio
import logging
import shutil
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

import flows
from router.domain.errors import DefinitionError
from router.runtime.composition import Parts
from router.runtime.definitions import check_versions, load_catalog, load_registry
from router.runtime.upkeep import at_work
from router.settings import Settings
from router.store.database import Database
from router.store.store import Store
from router.store.tables import ROUTER
from tests.fakes.model_server import ModelServer
from tests.waiting import HANGS_AFTER_S

pytestmark = pytest.mark.slow

SHIPPED = Path(flows.__path__[0]) / "leave_request.yaml"
SHIPPED_TEXT = SHIPPED.read_text()


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A flow file that may be edited."""
    folder = tmp_path / "flows"
    folder.mkdir()
    return Path(shutil.copy(SHIPPED, folder))


@pytest.fixture
def settings(file: Path) -> Settings:
    return Settings.load(data=file.parents[1], flows=file.parent)


def edited(file: Path, old: str, new: str) -> None:
    text = file.read_text()
    assert old in text, old
    file.write_text(text.replace(old, new))


def beside(file: Path, flow: str, text: str) -> Path:
    """Another flow's file."""
    other = file.with_name(f"{flow}.yaml")
    other.write_text(text)
    return other


def gone(file: Path) -> None:
    file.unlink()


async def started(settings: Settings, *, editing: bool = False) -> None:
    database = Database(settings.database_url)
    try:
        await database.migrate(ROUTER)
        catalog = load_catalog(settings, load_registry(settings))
        await check_versions(settings, catalog, Store(database).flow_versions, editing=editing)
    finally:
        await database.dispose()


async def test_a_process_is_refused_with_what_to_do(settings: Settings, file: Path) -> None:
    await started(settings)
    edited(file, "> 3.0", "> 1.0")
    with pytest.raises(DefinitionError) as refused:
        async with at_work(settings):
            pass
    where = f"{file}:5: leave_request does something else than version 4"
    assert str(refused.value).startswith(where)
    assert "raise version to 5 (runs of version 4 keep theirs)" in str(refused.value)


async def test_a_version_that_was_raised_is_welcome_and_the_old_one_too(
    settings: Settings, file: Path
) -> None:
    await started(settings)
    edited(file, "> 3.0", "> 1.0")
    edited(file, "version: 4", "version: 5")
    await started(settings)
    shutil.copy(SHIPPED, file)
    await started(settings)


async def test_a_refusal_changes_nothing_and_wording_may_be_mended(
    settings: Settings, file: Path
) -> None:
    await started(settings)
    edited(file, "> 3.0", "> 1.0")
    for _ in range(2):
        with pytest.raises(DefinitionError):
            await started(settings)
    shutil.copy(SHIPPED, file)
    await started(settings)
    edited(file, "想请什么假？", "请什么假？")
    await started(settings)


async def test_an_author_is_warned_once_and_goes_on(
    settings: Settings, file: Path, caplog: pytest.LogCaptureFixture
) -> None:
    await started(settings, editing=True)
    edited(file, "> 3.0", "> 1.0")
    with caplog.at_level(logging.WARNING):
        for _ in range(2):
            await started(settings, editing=True)
    warned = [record.getMessage() for record in caplog.records if record.name == "router.flows"]
    assert len(warned) == 1
    assert "raise version to 5" in warned[0]


async def test_processes_that_start_at_once_agree(settings: Settings) -> None:
    await started(settings)
    await asyncio.gather(*(started(settings) for _ in range(4)))


@asynccontextmanager
async def running(settings: Settings, *, editing: bool = False) -> AsyncIterator[Parts]:
    """A process that stays, whose encoder answers at once."""
    async with ModelServer() as vectors:
        scripted = {"llm_base_url": vectors.url, "embedder": "openai:scripted"}
        async with at_work(settings.model_copy(update=scripted), editing=editing) as parts:
            yield parts


async def until(true: Callable[[], bool]) -> None:
    """Wait for what a process does by itself, a few seconds at most."""
    async with asyncio.timeout(HANGS_AFTER_S):
        while not true():  # noqa: ASYNC110 - it is a file that changes
            await asyncio.sleep(0.05)


def asks(parts: Parts) -> str:
    """The first question of the flow, as it is offered by now."""
    slots = parts.offered.catalog.flows["leave_request"].slots.values()
    return next(slot.ask for slot in slots if slot.ask).zh


async def test_a_process_takes_up_edits_while_it_runs(settings: Settings, file: Path) -> None:
    async with running(settings) as parts:
        edited(file, "想请什么假？", "请什么假？")
        await until(lambda: asks(parts) == "请什么假？")
        edited(file, "> 3.0", "> 1.0")
        edited(file, "version: 4", "version: 5")
        await until(lambda: parts.offered.catalog.flows["leave_request"].version == 5)
        other = beside(file, "days_off", SHIPPED_TEXT.replace("leave_request", "days_off"))
        await until(lambda: "days_off" in parts.offered.catalog.flows)
        names = {capability.name for capability in parts.offered.everything()}
        gone(other)
        await until(lambda: "days_off" not in parts.offered.catalog.flows)
    assert "days_off" in names


async def test_a_version_that_was_not_raised_is_refused_while_running_too(
    settings: Settings, file: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with running(settings) as parts:
        before = parts.offered.catalog.get("leave_request")
        edited(file, "> 3.0", "> 1.0")
        await until(lambda: "stays as it was" in caplog.text)
        assert parts.offered.catalog.get("leave_request") == before
        assert "raise version to 5" in caplog.text
        edited(file, "version: 4", "version: 5")
        await until(lambda: parts.offered.catalog.flows["leave_request"].version == 5)


async def test_an_author_sees_the_same_version_do_something_else_at_once(
    settings: Settings, file: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with running(settings, editing=True) as parts:
        before = parts.offered.catalog.get("leave_request")
        edited(file, "> 3.0", "> 1.0")
        await until(lambda: parts.offered.catalog.get("leave_request") != before)
    assert "raise version to 5" in caplog.text


async def test_flows_that_no_longer_fit_together_stay_as_they_were(
    settings: Settings, file: Path, caplog: pytest.LogCaptureFixture
) -> None:
    starting = """
flow: days_off
version: 1
title: {zh: "休假", en: "Days off"}
description: {zh: "休假", en: "Days off"}
start: leave
states:
  leave: {flow: leave_request, completed: done, otherwise: done}
  done: {end: completed}
"""
    beside(file, "days_off", starting)
    async with running(settings) as parts:
        gone(file)
        await until(lambda: "the flows stay as they were" in caplog.text)
        assert parts.offered.catalog.flows.keys() == {"days_off", "leave_request"}
    assert "days_off.yaml:8: there is no flow leave_request" in caplog.text
