"""The files beside a skill's instructions."""

import os
import socket
from hashlib import sha256
from pathlib import Path

import pytest

from router.skill.loader import LARGEST_FILE, MOST_FILES, read_folder
from tests.unit.skill.folders import beside, write


@pytest.fixture
def skill(tmp_path: Path) -> Path:
    return write(tmp_path)


def paths(skill: Path) -> list[str]:
    return [file.path for file in read_folder(skill).files]


def flaws(skill: Path) -> list[str]:
    """What was left out, without the folder's own place."""
    found = read_folder(skill).flaws
    return [f"{flaw.file.removeprefix(str(skill))}: {flaw.what}" for flaw in found]


def test_files_are_named_by_what_is_in_them(skill: Path) -> None:
    beside(skill, "references/限额.md", "上海 600")
    beside(skill, "assets/logo.png", b"\x89PNG")
    found = read_folder(skill)
    digest = sha256("上海 600".encode()).hexdigest()
    assert [(f.path, f.size) for f in found.files] == [
        ("assets/logo.png", 4),
        ("references/限额.md", 10),
    ]
    assert found.files[1].digest == digest
    assert found.contents[digest] == "上海 600".encode()
    assert found.flaws == []


def test_the_instructions_and_what_is_hidden_are_not_among_them(skill: Path) -> None:
    for path in (".git/config", ".DS_Store", "scripts/__pycache__/a.pyc", "LICENSE"):
        beside(skill, path)
    assert paths(skill) == ["LICENSE"]


def test_links_within_the_folder_are_followed(skill: Path) -> None:
    beside(skill, "references/a.md", "a")
    (skill / "b.md").symlink_to("references/a.md")
    assert paths(skill) == ["b.md", "references/a.md"]


@pytest.mark.parametrize(
    ("target", "why"),
    [
        ("/etc/passwd", "it links out of the folder"),
        ("../secret.md", "it links out of the folder"),
        ("references/../../secret.md", "it links out of the folder"),
        ("../trip-planner-2/secret.md", "it links out of the folder"),
        ("/dev/zero", "it links out of the folder"),
        ("/proc/self/environ", "it links out of the folder"),
        ("..", "it links out of the folder"),
        (".", "it links to a folder"),
        ("references", "it links to a folder"),
        ("nowhere", "it can't be read: No such file or directory"),
        ("link", "it can't be read: Too many levels of symbolic links"),
    ],
)
def test_no_link_leads_out_of_the_folder(skill: Path, target: str, why: str) -> None:
    (skill.parent / "secret.md").write_text("secret")
    (skill.parent / "trip-planner-2").mkdir()
    (skill.parent / "trip-planner-2" / "secret.md").write_text("secret")
    (skill / "references").mkdir()
    (skill / "link").symlink_to(target)
    assert paths(skill) == []
    assert [flaw.partition(" (")[0] for flaw in flaws(skill)] == [f"/link: {why}"]


def test_what_is_no_ordinary_file_is_left_out_and_not_waited_for(skill: Path) -> None:
    os.mkfifo(skill / "pipe")
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(skill / "socket"))
        assert paths(skill) == []
        assert len(flaws(skill)) == 2


@pytest.mark.parametrize(
    "name", ["a\\b", "a\\..\\b", "a\nb", "a\x1bb", "a\u202eb", "a\u200bb", "\udcff"]
)
def test_names_that_nobody_could_write_are_left_out(skill: Path, name: str) -> None:
    beside(skill, name)
    assert paths(skill) == []
    (flaw,) = flaws(skill)
    assert flaw.isprintable()
    assert flaw.endswith("its name can't be written in a path")


def test_a_long_path_is_left_out(skill: Path) -> None:
    beside(skill, f"{'长' * 40}/a")
    assert flaws(skill) == [f"/{'长' * 40}/a: its path is over 120 bytes"]


def test_a_file_may_be_so_large(skill: Path) -> None:
    beside(skill, "fits", b"x" * LARGEST_FILE)
    beside(skill, "more", b"x" * (LARGEST_FILE + 1))
    assert paths(skill) == ["fits"]
    assert flaws(skill) == ["/more: it is over 1 MiB"]


def test_all_files_together_may_be_so_large(skill: Path) -> None:
    for number in range(9):
        beside(skill, f"{number}", bytes([number]) * LARGEST_FILE)
    beside(skill, "a", "still fits nowhere")
    assert paths(skill) == [str(number) for number in range(8)]
    assert flaws(skill) == [f"/{n}: with it the folder is over 8 MiB" for n in ("8", "a")]


def test_there_may_be_so_many_files(skill: Path) -> None:
    for number in range(MOST_FILES + 1):
        beside(skill, f"{number:03}")
    found = read_folder(skill)
    assert len(found.files) == MOST_FILES
    (flaw,) = found.flaws
    assert str(flaw).endswith("there are 201 files; keep at most 200; those after 199 are left out")


def test_the_list_of_as_many_files_as_may_be_fits_into_a_workflows_input(skill: Path) -> None:
    for number in range(MOST_FILES):
        beside(skill, f"{number:03}{'长' * 39}")
    listed = "".join(file.model_dump_json() for file in read_folder(skill).files)
    assert len(listed.encode()) < 60_000
