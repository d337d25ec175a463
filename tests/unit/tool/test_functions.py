"""Tools of Python follow their modules while their author edits them."""

import asyncio
import errno
import importlib
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from router.tool.kinds.functions import WatchedModules
from router.tool.registry import Registry
from router.tool.tool import FunctionTool
from tests.table import each_row

TOOL = '''
from router.tool.tool import tool

@tool(permission="read")
async def {name}() -> str:
    """{says}"""
    return "{says}"
'''


HOOK = '''
from router.domain.hooks import TurnEvent
from router.tool.hook import hook

@hook("after_turn")
async def {name}(event: TurnEvent) -> None:
    """{says}"""
'''


class Author:
    """Somebody who edits the modules of a package that a process has loaded."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.registry = Registry()
        self.write("lamps", TOOL.format(name="find_lamps", says="Lamps."))
        self.write("shared", "LAMPS = 3\n" + TOOL.format(name="count", says="Counts."))
        self.write("borrows", "from shop.shared import LAMPS\n")
        self.modules = WatchedModules(self.registry, [importlib.import_module("shop")])
        self.modules.load()

    def write(self, module: str, text: str) -> Path:
        path = self.folder / f"{module}.py"
        path.write_text(text)
        return path

    def says(self, tool: str) -> str:
        return self.registry[tool].description


@pytest.fixture
def author(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Author]:
    (tmp_path / "shop").mkdir()
    (tmp_path / "shop" / "__init__.py").touch()
    monkeypatch.syspath_prepend(tmp_path)
    yield Author(tmp_path / "shop")
    for name in [name for name in sys.modules if name.partition(".")[0] == "shop"]:
        del sys.modules[name]


def test_a_module_that_is_added_brings_its_tools(author: Author) -> None:
    assert not author.modules.reload()
    author.write("rooms", TOOL.format(name="find_rooms", says="Rooms."))
    assert author.modules.reload()
    assert author.registry.names == {"find_lamps", "count", "find_rooms"}


def test_a_module_that_is_changed_is_run_anew_though_its_size_and_second_are_the_same(
    author: Author,
) -> None:
    author.write("lamps", TOOL.format(name="find_lamps", says="Lamps?"))
    assert author.modules.reload()
    assert author.says("find_lamps") == "Lamps?"


def test_a_tool_that_is_renamed_or_whose_module_goes_is_no_longer_there(author: Author) -> None:
    path = author.write("lamps", TOOL.format(name="light", says="Light, and no more."))
    assert author.modules.reload()
    assert author.registry.names == {"light", "count"}
    path.unlink()
    assert author.modules.reload()
    assert author.registry.names == {"count"}


def test_where_nothing_more_can_be_opened_all_stays_as_it_was(
    author: Author, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(folder: object) -> list[str]:
        raise OSError(errno.EMFILE, "Too many open files", str(folder))

    with monkeypatch.context() as patch:
        patch.setattr(os, "listdir", refused)
        assert author.modules.reload() is False
    assert author.modules.reload() is False
    assert author.registry.names == {"find_lamps", "count"}


def test_what_cannot_be_imported_stays_as_it_was_and_is_said_once(
    author: Author, caplog: pytest.LogCaptureFixture
) -> None:
    author.write("lamps", TOOL.format(name="find_lamps", says="Broken.") + "def x(\n")
    assert not author.modules.reload()
    assert not author.modules.reload()
    (said,) = caplog.messages
    assert "lamps.py stay as they were" in said
    assert "lamps.py:8: it can't be imported (SyntaxError" in said
    assert author.says("find_lamps") == "Lamps."
    author.write("lamps", TOOL.format(name="find_lamps", says="Mended."))
    assert author.modules.reload()
    assert author.says("find_lamps") == "Mended."


def test_a_tool_with_anothers_name_is_refused_and_the_other_stays(
    author: Author, caplog: pytest.LogCaptureFixture
) -> None:
    author.write("other", TOOL.format(name="count", says="Counts, too."))
    assert not author.modules.reload()
    assert "the tool count has a name that is taken" in caplog.text
    assert author.says("count") == "Counts."


def test_a_module_that_others_import_waits_for_a_restart_and_says_so(
    author: Author, caplog: pytest.LogCaptureFixture
) -> None:
    author.write("shared", TOOL.format(name="count", says="Counts otherwise."))
    author.write("borrows", "from shop.shared import LAMPS\nMORE = LAMPS + 1\n")
    assert not author.modules.reload()
    borrowed, shared = sorted(caplog.messages)
    assert "borrows.py has changed, and is read at a start alone: restart dev" in borrowed
    assert "shared.py has changed, and shop.borrows imported it as it was: restart dev" in shared
    assert author.says("count") == "Counts."


@each_row(
    "importing",
    [
        "from shop.prices import PRICE",
        "from shop import prices; PRICE = prices.PRICE",
        "from .prices import PRICE",
        "import shop.prices; PRICE = shop.prices.PRICE",
    ],
)
def test_a_helper_that_changes_is_run_again_with_the_tools_that_import_it(
    author: Author, importing: str
) -> None:
    tool = TOOL.format(name="price", says="Says.").replace('return "Says."', "return str(PRICE)")
    author.write("prices", "PRICE = 1\n")
    author.write("asks", f"{importing}\n{tool}")
    author.modules.reload()

    author.write("prices", "PRICE = 12\n")

    assert author.modules.reload()
    made = author.registry["price"]
    assert isinstance(made, FunctionTool)
    assert asyncio.run(made()) == "12"
    author.write("prices", "PRICE = 1 / 0\n")
    assert not author.modules.reload()
    assert author.registry["price"] is made
    assert sys.modules["shop"].prices.PRICE == 12


def test_hooks_are_found_beside_tools_and_follow_their_modules(author: Author) -> None:
    def names() -> dict[str, str]:
        return {each.name: each.description for each in author.registry.hooks}

    path = author.write("watch", HOOK.format(name="count_turns", says="Counts."))
    assert author.modules.reload()
    assert names() == {"count_turns": "Counts."}
    author.write("watch", HOOK.format(name="count_turns", says="Counts, now."))
    assert author.modules.reload()
    assert names() == {"count_turns": "Counts, now."}
    author.write("watch", HOOK.format(name="count_turns", says="").replace('""""""', "pass"))
    assert not author.modules.reload()
    assert names() == {"count_turns": "Counts, now."}
    path.unlink()
    assert author.modules.reload()
    assert names() == {}


def test_a_module_of_which_a_tool_is_refused_leaves_the_hooks_as_they_were(author: Author) -> None:
    text = HOOK.format(name="count_turns", says="Counts.")
    author.write("watch", text + TOOL.format(name="count", says="Taken."))
    assert not author.modules.reload()
    assert [*author.registry.hooks] == []
