"""Files that are written into, and read again: what won't load is as it was before."""

import importlib
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from router.domain.errors import Conflict, InvalidInput, MisconfiguredError
from router.extensions.evaluation.examples.source import (
    ExampleSource,
    FlowSource,
    ModuleSource,
    check_added,
)
from router.extensions.evaluation.examples.source_file import SourceFile
from tests.table import each_row

MODULE = '''\
"""A tool."""

from router.tool.tool import tool


@tool(permission="read", title={"zh": "查灯", "en": "Look up a lamp"})  # nobody asks yet
async def look_up_lamp(room: str) -> str:
    """Looks up the lamp of a room."""
    return room
'''


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleSource]:
    """A module that is imported already, as those of tools are."""
    path = tmp_path / "lamp_tools.py"
    path.write_text(MODULE, encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    importlib.import_module(path.stem)
    yield ModuleSource(path, path.stem, "look_up_lamp")
    sys.modules.pop(path.stem)


def add(source: ExampleSource, *sentences: str) -> None:
    file = SourceFile(source.path)
    before = source.examples()
    changed = source.changed(file.text, sentences)
    file.write(changed, lambda: check_added(source, before, sentences))


def test_a_tool_of_code_gets_them_in_its_decorator_and_runs_as_it_did(module: ModuleSource) -> None:
    before = sys.modules[module.module]
    add(module, "灯在哪")
    add(module, "where is the lamp")
    assert list(module.examples()) == ["灯在哪", "where is the lamp"]
    text = module.path.read_text(encoding="utf-8")
    assert "# nobody asks yet" in text
    assert text.endswith(MODULE.partition("# nobody asks yet")[2])
    assert sys.modules[module.module] is before


def test_what_the_house_would_not_load_brings_back_the_old_file(module: ModuleSource) -> None:
    with pytest.raises(InvalidInput, match="can't be loaded with the sentences, and is as it was"):
        add(module, "")
    assert module.path.read_text(encoding="utf-8") == MODULE
    file = SourceFile(module.path)
    with pytest.raises(InvalidInput, match=r"is as it was: .*SyntaxError"):
        file.write("async def (", lambda: check_added(module, (), ()))
    assert module.path.read_text(encoding="utf-8") == MODULE
    assert module.examples() == ()


def test_one_that_loads_with_other_examples_is_brought_back_too(tmp_path: Path) -> None:
    path = tmp_path / "lamp.yaml"
    text = (
        "flow: lamp\nversion: 1\ntitle: {zh: 灯, en: lamp}\ndescription: {zh: 灯, en: lamp}\n"
        "triggers: {examples: [a]}\nstart: x\n"
        "states: {x: {say: {zh: 好, en: fine}, end: completed}}\n"
    )
    path.write_text(text, encoding="utf-8")
    source, file = FlowSource(path), SourceFile(path)
    changed = text.replace("[a]", "[b]")
    with pytest.raises(InvalidInput, match="it has 1 examples then, not 2"):
        file.write(changed, lambda: check_added(source, ["a"], ["b"]))
    assert path.read_text(encoding="utf-8") == text


@each_row("error", [KeyboardInterrupt, ZeroDivisionError])
def test_whatever_interrupts_the_check_brings_it_back(
    tmp_path: Path, error: type[BaseException]
) -> None:
    path = tmp_path / "a"
    path.write_text("old")

    def check() -> None:
        assert path.read_text() == "new"
        raise error

    with pytest.raises(error):
        SourceFile(path).write("new", check)
    assert path.read_text() == "old"


def test_mode_link_mark_and_folder_stay_as_they_were(tmp_path: Path) -> None:
    path, link = tmp_path / "a", tmp_path / "b"
    path.write_bytes(b"\xef\xbb\xbfold\r\n")
    path.chmod(0o640)
    link.symlink_to(path)
    file = SourceFile(link)
    assert file.text == "old\r\n"
    file.write("new\r\n", lambda: None)
    file.write("newer\r\n", lambda: None)
    assert link.is_symlink()
    assert path.read_bytes() == b"\xef\xbb\xbfnewer\r\n"
    assert path.stat().st_mode & 0o777 == 0o640
    assert sorted(each.name for each in tmp_path.iterdir()) == ["a", "b"]


def test_a_file_that_another_has_changed_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_text("old")
    file = SourceFile(path)
    path.write_text("theirs")
    with pytest.raises(Conflict, match="was changed meanwhile and is left alone: run this again"):
        file.write("new", lambda: None)
    assert path.read_text() == "theirs"


def test_one_that_cannot_be_read_says_so(tmp_path: Path) -> None:
    with pytest.raises(MisconfiguredError, match="can't be read"):
        SourceFile(tmp_path / "none")
    (tmp_path / "a").write_bytes(b"\xff")
    with pytest.raises(MisconfiguredError, match="isn't UTF-8: save it as UTF-8 first"):
        _ = SourceFile(tmp_path / "a").text
