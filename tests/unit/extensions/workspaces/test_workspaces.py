"""Files of one's own: kept by path and version, read, edited, searched, and nobody else's."""

import asyncio
from collections.abc import Mapping
from typing import Any

import pytest
from sqlalchemy import select

from activities import provided
from activities.sandbox import Output, Script
from router.domain.errors import ArgumentsToolError, InvalidInput
from router.domain.principals import Principal
from router.extensions.workspaces import tools
from router.extensions.workspaces.settings import WorkspacesSettings
from router.extensions.workspaces.tables import workspace_files
from router.extensions.workspaces.tools.files import command_box
from router.settings import Settings
from router.settings.values import PayloadKeys
from router.store.database import Database
from tests.costly import SLOW_PATTERNS
from tests.databases import sqlite, templates
from tests.table import each_row
from tests.unit.activities.tools.conftest import ALICE, FRANK, Desk

__all__ = ["sqlite", "templates"]

KEYS = PayloadKeys("k1", {"k1": b"k" * 32})
ON_A_FILE: tuple[tuple[str, dict[str, Any]], ...] = (
    ("read_file", {}),
    ("delete_file", {}),
    ("edit_file", {"old": "one", "new": ""}),
)
TEXT = "one\ntwo\ntwo and three\n"


class EchoingBox:
    """A sandbox that says what it is given, and runs nothing."""

    async def run(self, script: Script, files: Mapping[str, bytes]) -> Output:
        return Output(f"{script.program} {files[script.path].decode()}", str(sorted(files)))


def settings(*, keys: PayloadKeys | None = None, **own: Any) -> Settings:
    core = Settings(payload_keys=keys) if keys else Settings()
    return core.having(WorkspacesSettings(**own))


@pytest.fixture
def database(sqlite: Database) -> Database:
    return sqlite


@pytest.fixture
def desk() -> Desk:
    desk = Desk()
    desk.registry.discover(tools)
    return desk


@pytest.fixture
def mine(desk: Desk, database: Database) -> Desk:
    set_ = settings(keys=KEYS, workspace=True, workspace_files=3, workspace_bytes=2000)
    desk.dependencies.provide(provided.settings, set_)
    desk.dependencies.provide(provided.database, database)
    desk.dependencies.provide(command_box, EchoingBox())
    return desk


async def save(desk: Desk, path: str = "notes/a.md", text: str = TEXT, **more: Any) -> Any:
    return await desk.ask("save_file", path=path, text=text, **more)


async def test_what_is_saved_is_read_by_lines_and_listed(mine: Desk) -> None:
    assert await save(mine) == {"path": "notes/a.md", "size": 22, "version": 1}
    part = await mine.ask("read_file", path="notes/a.md", first=2, lines=1)
    about = {"path": "notes/a.md", "version": 1, "first": 2, "last": 2, "lines": 3}
    assert part == {**about, "text": "two\n"}
    await save(mine, "b.md", "")
    assert (await mine.ask("read_file", path="b.md"))["text"] == ""
    listed = await mine.ask("list_files")
    assert [item["path"] for item in listed["items"]] == ["b.md", "notes/a.md"]
    within = await mine.ask("list_files", folder="notes/")
    assert ([item["path"] for item in within["items"]], within["more"]) == (["notes/a.md"], False)


async def test_an_edit_replaces_what_stands_there_once(mine: Desk) -> None:
    await save(mine)
    edited = await mine.ask("edit_file", path="notes/a.md", old="one\n", new="1\n")
    assert (edited["version"], edited["replaced"]) == (2, 1)
    every = await mine.ask("edit_file", path="notes/a.md", old="two", new="2", every=True)
    assert (every["version"], every["replaced"]) == (3, 2)
    assert (await mine.ask("read_file", path="notes/a.md"))["text"] == "1\n2\n2 and three\n"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("old", "said"),
    [
        ("four", "doesn't stand in notes/a.md; read the file"),
        ("two", "stands in notes/a.md 2 times, at lines 2, 3"),
        ("two  and three", "with other spaces from line 3 on"),
        (" ", "stands in notes/a.md 2 times, at lines 3, 3"),
    ],
)
async def test_an_edit_that_fits_nowhere_or_twice_says_so(mine: Desk, old: str, said: str) -> None:
    await save(mine)
    with pytest.raises(ArgumentsToolError, match=said):
        await mine.ask("edit_file", path="notes/a.md", old=old, new="x")
    assert (await mine.ask("read_file", path="notes/a.md"))["text"] == TEXT


async def test_nobody_writes_over_what_they_have_not_seen(mine: Desk) -> None:
    await save(mine)
    await save(mine, version=1)
    for stale in (
        save(mine, version=1),
        save(mine, version=0),
        mine.ask("edit_file", path="notes/a.md", old="one", new="1", version=1),
    ):
        with pytest.raises(ArgumentsToolError, match="at version 2 by now"):
            await stale


@pytest.mark.parametrize("tool", ["save_file", "edit_file", "delete_file"])
async def test_a_version_is_of_no_later_file_of_the_same_path(mine: Desk, tool: str) -> None:
    seen = await save(mine)
    await save(mine, "b.md")
    await mine.ask("delete_file", path="notes/a.md")
    await save(mine, text="one, anew")
    more: dict[str, Any] = {**dict(ON_A_FILE), "save_file": {"text": "x"}}[tool]
    with pytest.raises(ArgumentsToolError, match="at version 2 by now"):
        await mine.ask(tool, path="notes/a.md", version=seen["version"], **more)
    assert (await mine.ask("read_file", path="notes/a.md"))["text"] == "one, anew"
    assert (await mine.ask("delete_file", path="notes/a.md", version=2))["version"] == 2
    assert (await save(mine, "c.md"))["version"] == 3


async def test_of_a_deletion_and_a_change_at_once_only_one_is_done(mine: Desk) -> None:
    await save(mine)
    both = (
        mine.ask("delete_file", path="notes/a.md", version=1),
        save(mine, "notes/a.md", version=1),
    )
    outcomes = await asyncio.gather(*both, return_exceptions=True)
    refused = [one for one in outcomes if isinstance(one, ArgumentsToolError)]
    assert len(refused) == 1


def test_what_names_a_version_is_not_tried_again(mine: Desk) -> None:
    """The second try would find what the first has made, and call that somebody else's."""
    tools = [mine.registry[name] for name in ("save_file", "edit_file", "delete_file")]
    assert [one.retries for one in tools] == [0, 0, 0]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("there", "other"),
    [("notes", "notes/plan.md"), ("a/b/c", "a/b"), ("a", "a/b/c"), ("a/b/c", "a")],
)
async def test_a_name_is_a_files_or_a_folders(mine: Desk, there: str, other: str) -> None:
    await save(mine, there)
    with pytest.raises(ArgumentsToolError, match=f"there is a file {there}:"):
        await save(mine, other)
    assert [item["path"] for item in (await mine.ask("list_files"))["items"]] == [there]
    for beside in (f"{there}b", f"{there}.md"):
        assert (await save(mine, beside))["version"] == 1


async def test_a_folder_is_none_of_another_case(mine: Desk) -> None:
    await save(mine, "Notes/a.md")
    await save(mine, "notes")
    assert (await mine.ask("list_files", folder="notes"))["items"] == []


async def test_of_edits_at_once_none_is_lost(mine: Desk) -> None:
    await save(mine, text="abcd")
    edits = [mine.ask("edit_file", path="notes/a.md", old=old, new="-") for old in "abcd"]
    outcomes = await asyncio.gather(*edits, return_exceptions=True)
    done = [one for one in outcomes if not isinstance(one, BaseException)]
    text = (await mine.ask("read_file", path="notes/a.md"))["text"]
    assert text.count("-") == len(done) >= 1
    assert all(isinstance(one, ArgumentsToolError) for one in outcomes if one not in done)


async def test_lines_are_found_by_an_expression(mine: Desk) -> None:
    await save(mine)
    await save(mine, "b.md", "TWO")
    found = await mine.ask("search_files", expression="(?i)^two")
    hits = [(hit["path"], hit["line"]) for hit in found["items"]]
    assert hits == [("b.md", 1), ("notes/a.md", 2), ("notes/a.md", 3)]
    one = await mine.ask("search_files", expression="two", folder="notes")
    assert [hit["text"] for hit in one["items"]] == ["two", "two and three"]
    with pytest.raises(ArgumentsToolError, match="RE2"):
        await mine.ask("search_files", expression="(?=x)")


@each_row("expression", SLOW_PATTERNS.values(), ids=SLOW_PATTERNS)
async def test_a_search_that_would_take_long_is_refused_in_words(
    mine: Desk, expression: str
) -> None:
    mine.dependencies.provide(provided.settings, settings(keys=KEYS, workspace=True))
    await save(mine, f"{len(expression)}.md", "ab" * 25_000)
    with pytest.raises(ArgumentsToolError, match="it takes too long"):
        await mine.ask("search_files", expression=expression)


async def test_what_is_deleted_is_gone(mine: Desk) -> None:
    await save(mine)
    gone = await mine.ask("delete_file", path="notes/a.md")
    assert gone == {"deleted": "notes/a.md", "version": 1}
    for tool, more in ON_A_FILE:
        with pytest.raises(ArgumentsToolError, match=r"there is no notes/a\.md; there are: none"):
            await mine.ask(tool, path="notes/a.md", **more)


async def test_nothing_of_another_persons_is_there(mine: Desk) -> None:
    await save(mine)
    elsewhere = ALICE.model_copy(update={"tenant": "acme"})
    for other in (FRANK, elsewhere, Principal(id="%", name="x"), Principal(id="alic_", name="x")):
        assert (await mine.ask("list_files", other))["items"] == []
        assert (await mine.ask("search_files", other, expression="."))["items"] == []
        for tool, more in ON_A_FILE:
            with pytest.raises(ArgumentsToolError, match="there is no"):
                await mine.ask(tool, other, path="notes/a.md", **more)
        await mine.ask("save_file", other, path="notes/a.md", text="theirs", version=0)
    assert (await mine.ask("read_file", path="notes/a.md"))["text"] == TEXT


HOSTILE = {
    "up and out": "../secret",
    "up within": "a/../../b",
    "absolute": "/etc/passwd",
    "a drive": "C:\\windows",
    "a backslash": "a\\b",
    "hidden": ".bashrc",
    "hidden within": "a/.git/config",
    "itself": "a/./b",
    "an empty name": "a//b",
    "a folder": "a/",
    "nothing": "",
    "spaces": " ",
    "a space at the end": "a /b",
    "a nul": "a\x00b",
    "a newline": "a\nb",
    "turned around": "a\u202etxt.exe",
    "of no width": "a\u200bb",
    "a lone surrogate": "a\ud800",
    "too long": "x" * 201,
    "too long once composed": "豈" * 201,
    "too deep": "/".join("abcdefghi"),
    "a name too long for a disk": "notes/" + "计" * 86,
}


@pytest.mark.slow
@pytest.mark.parametrize("path", HOSTILE.values(), ids=HOSTILE)
@pytest.mark.parametrize("tool", ["save_file", "read_file", "edit_file", "delete_file"])
async def test_no_path_leads_elsewhere(mine: Desk, tool: str, path: str) -> None:
    more: dict[str, Any] = {**dict(ON_A_FILE), "save_file": {"text": "x"}}[tool]
    with pytest.raises((ArgumentsToolError, InvalidInput)):
        await mine.ask(tool, path=path, **more)
    assert (await mine.ask("list_files"))["items"] == []


async def test_one_path_is_one_file_however_it_is_typed(mine: Desk) -> None:
    await save(mine, "cafe\u0301.md")
    assert (await mine.ask("read_file", path="caf\u00e9.md"))["path"] == "caf\u00e9.md"


async def test_there_is_only_so_much_room(mine: Desk) -> None:
    await save(mine, "a", "x" * 900)
    await save(mine, "b", "x" * 900)
    with pytest.raises(ArgumentsToolError, match="would have 2700"):
        await save(mine, "c", "x" * 900)
    assert (await save(mine, "a", "y" * 1100))["version"] == 2
    await save(mine, "c", "")
    with pytest.raises(ArgumentsToolError, match="has 3 files, of 3 at most"):
        await save(mine, "d", "")
    assert (await mine.ask("save_file", FRANK, path="a", text="x" * 1900))["version"] == 1


async def test_what_is_in_a_file_is_encrypted(mine: Desk, database: Database) -> None:
    await save(mine)
    content = select(workspace_files.c.content)
    (raw,) = await database.read(lambda c: c.execute(content).scalars().all())
    assert b"three" not in raw
    mine.dependencies.provide(provided.settings, settings(keys=KEYS, workspace=True))
    assert (await mine.ask("read_file", path="notes/a.md"))["text"] == TEXT


@pytest.mark.slow
async def test_all_files_are_searched_however_many(mine: Desk) -> None:
    many = settings(workspace=True, workspace_files=200)
    mine.dependencies.provide(provided.settings, many)
    for number in range(60):
        await save(mine, f"{number:02}.md", "here")
    found = await mine.ask("search_files", expression="here")
    assert [hit["path"] for hit in found["items"]] == [f"{n:02}.md" for n in range(60)]


async def test_a_command_sees_the_files_and_is_none(mine: Desk) -> None:
    await save(mine)
    ran = await mine.ask("run_command", command="wc -l notes/a.md")
    assert ran == {"output": "sh wc -l notes/a.md", "errors": "['.command.sh', 'notes/a.md']"}
    ran = await mine.ask("run_command", command="#!/usr/bin/env python3\nprint(1)")
    assert ran["output"].startswith("python #!")
    with pytest.raises(ArgumentsToolError, match="neither Python nor sh"):
        await mine.ask("run_command", command="#!/usr/bin/perl\n1")


def test_they_are_for_nobody_unless_an_operator_says_so(desk: Desk) -> None:
    def missing(**given: Any) -> set[str]:
        return {*desk.registry.lacking(settings(**given)).values()}

    ours = {"ROUTER_WORKSPACE", "ROUTER_RUN_COMMANDS"}
    assert missing() >= ours
    assert missing(workspace=True) & ours == ours - {"ROUTER_WORKSPACE"}
