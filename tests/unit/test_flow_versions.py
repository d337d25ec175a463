"""A flow may not change under its version: what is kept of versions, and who is refused."""

import asyncio
import logging
import shutil
from pathlib import Path

import pytest

import flows
from router.definitions import check_versions, load_catalog, load_registry
from router.domain.errors import DefinitionError
from router.settings import Settings
from router.store.database import Database
from router.store.store import Store
from router.upkeep import at_work

SHIPPED = Path(flows.__path__[0]) / "leave_request.yaml"


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


async def started(settings: Settings, *, editing: bool = False) -> None:
    database = Database(settings.database_url)
    try:
        await database.migrate()
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
    assert str(refused.value).startswith(
        f"{file}:4: leave_request does something else than version 1"
    )
    assert "raise version to 2 (runs of version 1 keep theirs)" in str(refused.value)


async def test_a_version_that_was_raised_is_welcome_and_the_old_one_too(
    settings: Settings, file: Path
) -> None:
    await started(settings)
    edited(file, "> 3.0", "> 1.0")
    edited(file, "version: 1", "version: 2")
    await started(settings)
    shutil.copy(SHIPPED, file)
    await started(settings)


async def test_wording_may_be_mended_under_a_version(settings: Settings, file: Path) -> None:
    await started(settings)
    edited(file, "想请什么假？", "请什么假？")
    await started(settings)


async def test_a_refusal_changes_nothing(settings: Settings, file: Path) -> None:
    await started(settings)
    edited(file, "> 3.0", "> 1.0")
    for _ in range(2):
        with pytest.raises(DefinitionError):
            await started(settings)
    shutil.copy(SHIPPED, file)
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
    assert "raise version to 2" in warned[0]


async def test_processes_that_start_at_once_agree(settings: Settings) -> None:
    await started(settings)
    await asyncio.gather(*(started(settings) for _ in range(4)))
