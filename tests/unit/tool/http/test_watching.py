"""Tools that follow their files."""

import os
from pathlib import Path

import pytest

from router.domain.errors import DefinitionError
from router.tool.kinds.declarations import GROUP, WatchedTools
from router.tool.registry import Registry
from tests.unit.tool.http.declaring import Folder, declaration
from tests.unit.tool.samples import sample_registry


def watched(folder: Folder, registry: Registry) -> WatchedTools:
    return WatchedTools(folder.path, folder.load, registry)


def touched(file: Path) -> None:
    """As if it were written later, however coarse the clock of the file system is."""
    stamp = file.stat().st_mtime_ns + 1_000_000_000
    os.utime(file, ns=(stamp, stamp))


def names(registry: Registry) -> list[str]:
    return [tool.name for tool in registry if registry.group_of(tool.name) == GROUP]


def test_what_is_new_edited_or_gone_is_followed(folder: Folder) -> None:
    registry = sample_registry()
    tools = watched(folder, registry)
    tools.load()
    assert not tools.reload()
    file = folder.write(declaration(name="one"))
    assert tools.reload()
    assert names(registry) == ["one"]
    assert not tools.reload()
    folder.write(declaration(name="two"))
    touched(file)
    assert tools.reload()
    assert names(registry) == ["two"]
    file.unlink()
    assert tools.reload()
    assert names(registry) == []


@pytest.mark.parametrize("broken", ["{", declaration(name="greet"), declaration(retries="x")])
def test_a_broken_file_keeps_the_old_tools_and_is_logged_once(
    folder: Folder, broken: object, caplog: pytest.LogCaptureFixture
) -> None:
    registry = sample_registry()
    tools = watched(folder, registry)
    file = folder.write(declaration(name="one"))
    tools.load()
    one = registry["one"]
    folder.write(broken)
    touched(file)
    assert not tools.reload()
    assert not tools.reload()
    assert registry["one"] is one
    assert len([r for r in caplog.records if "stay as they were" in r.getMessage()]) == 1
    folder.write(declaration(name="mended"))
    touched(file)
    touched(file)
    assert tools.reload()
    assert names(registry) == ["mended"]


def test_a_document_that_is_selected_from_is_watched_too(folder: Folder) -> None:
    registry = Registry()
    tools = watched(folder, registry)
    document = (
        "openapi: 3.1.0\nservers: [{url: https://a.example}]\npaths: {/a: {get: {operationId: %s}}}"
    )
    file = folder.write(document % "a", "crm.yaml")
    folder.write({"openapi": "crm.yaml", "operations": ["a"]})
    tools.load()
    assert not tools.reload()
    folder.write((document % "a").replace("get:", "put:"), "crm.yaml")
    touched(file)
    assert tools.reload()
    assert registry["a"].writes


def test_a_name_of_the_code_is_not_taken_at_start(folder: Folder) -> None:
    folder.write(declaration(name="greet"))
    with pytest.raises(DefinitionError, match=r"samples\.py"):
        watched(folder, sample_registry()).load()


async def test_changes_are_yielded_as_they_are_seen(folder: Folder) -> None:
    registry = Registry()
    tools = watched(folder, registry)
    tools.load()
    folder.write(declaration(name="one"))
    async for _ in tools.changes(0.001):
        break
    assert names(registry) == ["one"]
