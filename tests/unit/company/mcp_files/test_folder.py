"""One folder for strangers: what is in it they get, and nothing else."""

import os
from pathlib import Path

import pytest

from company.mcp_files import folder as limits
from company.mcp_files.folder import FolderRefused, Hit, ServedFolder
from tests.table import each_row


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    """A file that nobody may get at."""
    secret = tmp_path / "secret.txt"
    secret.write_text("hush")
    return secret


@pytest.fixture
def root(tmp_path: Path, outside: Path) -> Path:
    root = tmp_path / "root"
    (root / "notes").mkdir(parents=True)
    (root / "notes" / "plan.md").write_text("Plan\nBuy 茶 and bread\n", encoding="utf-8")
    (root / ".env").write_text("TOKEN=hush")
    (root / "link.txt").symlink_to(outside)
    (root / "up").symlink_to("..")
    (root / "raw.bin").write_bytes(b"\x00\x01hush")
    (root / "latin.txt").write_bytes("café".encode("latin-1"))
    os.mkfifo(root / "pipe")
    return root


@pytest.fixture
def folder(root: Path) -> ServedFolder:
    return ServedFolder(root)


HOSTILE = [
    "../secret.txt", "notes/../../secret.txt", "notes/..", "/etc/passwd", "//etc/passwd",
    "~/.ssh/id_rsa", "link.txt", "up/secret.txt", "up/root/notes/plan.md", "notes/plan.md/..",
    "notes/plan.md/x", "..\\secret.txt", "C:\\secret.txt", "notes\x00.md", "notes/plan.md\x00.png",
    "notes\n/plan.md", "", ".", "..", "/", "notes//plan.md", "notes/", " /x", ".env",
    "notes/.hidden", "raw.bin/../../secret.txt", "pipe", "notes", "x" * 300, "/".join(["d"] * 20),
    "x/" * 400 + "y", "\ud800",
]  # fmt: skip


@each_row("path", HOSTILE)
def test_nothing_outside_is_read(folder: ServedFolder, path: str) -> None:
    with pytest.raises(FolderRefused):
        folder.read(path)


@each_row("path", HOSTILE)
def test_nobody_writes_outside(folder: ServedFolder, root: Path, outside: Path, path: str) -> None:
    before = sorted(outside.parent.rglob("*"))
    with pytest.raises(FolderRefused):
        folder.save(path, "mine now", overwrite=True)
    after = [each for each in sorted(outside.parent.rglob("*")) if not each.is_dir()]
    assert after == [each for each in before if not each.is_dir()]
    assert outside.read_text() == "hush"


@each_row("path", ["raw.bin", "latin.txt"])
def test_what_is_no_text_is_not_read(folder: ServedFolder, path: str) -> None:
    with pytest.raises(FolderRefused, match="is no text"):
        folder.read(path)


def test_a_text_is_read_in_pages(folder: ServedFolder) -> None:
    assert folder.read("notes/plan.md").text == "Plan\nBuy 茶 and bread\n"
    folder.save("long.txt", "茶" * (limits.PAGE + 5))
    first = folder.read("long.txt")
    assert first.next == limits.PAGE
    rest = folder.read("long.txt", first.next)
    assert (rest.text, rest.next) == ("茶" * 5, None)


@each_row("offset", [-1, 10_000])
def test_nothing_is_read_beyond_the_end(folder: ServedFolder, offset: int) -> None:
    with pytest.raises(FolderRefused, match="read from 0"):
        folder.read("notes/plan.md", offset)


def test_what_is_too_large_is_neither_read_nor_saved(folder: ServedFolder, root: Path) -> None:
    (root / "large.txt").write_text("x" * (limits.LARGEST + 1))
    with pytest.raises(FolderRefused, match="over 256 KiB"):
        folder.read("large.txt")
    with pytest.raises(FolderRefused, match="up to 256 KiB"):
        folder.save("larger.txt", "x" * (limits.LARGEST + 1))
    assert not (root / "larger.txt").exists()


@each_row("text", ["a\x00b", "\ud800"])
def test_what_is_no_text_is_not_saved(folder: ServedFolder, root: Path, text: str) -> None:
    with pytest.raises(FolderRefused):
        folder.save("new.txt", text)
    assert not (root / "new.txt").exists()


def test_a_file_is_saved_with_its_folders_and_replaced_on_demand(
    folder: ServedFolder, root: Path
) -> None:
    assert folder.save("a/b/c.txt", "茶") == 3
    assert (root / "a/b/c.txt").read_text(encoding="utf-8") == "茶"
    with pytest.raises(FolderRefused, match="is there already"):
        folder.save("notes/plan.md", "new")
    folder.save("notes/plan.md", "new", overwrite=True)
    assert (root / "notes/plan.md").read_text() == "new"
    assert [each.name for each in (root / "notes").iterdir()] == ["plan.md"]


def test_words_are_found_in_texts_and_names_and_in_nothing_hidden(folder: ServedFolder) -> None:
    name, line = Hit("notes/plan.md", 0, "notes/plan.md"), Hit("notes/plan.md", 1, "Plan")
    assert folder.search("PLAN") == [name, line]
    assert folder.search("hush") == folder.search("TOKEN") == []


@each_row("query", ["", "  ", "x" * 300])
def test_a_search_for_nothing_is_refused(folder: ServedFolder, query: str) -> None:
    with pytest.raises(FolderRefused, match="search for 1 to"):
        folder.search(query)


def test_no_more_is_found_than_anybody_reads(folder: ServedFolder) -> None:
    folder.save("many.txt", "tea\n" * 500)
    assert len(folder.search("tea")) == limits.MOST_HITS


def test_a_folder_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(FolderRefused, match="there is no folder"):
        ServedFolder(tmp_path / "none")
