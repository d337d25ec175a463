"""Whatever the reference validator of the format accepts can be used here."""

from pathlib import Path

import pytest
from skills_ref.validator import validate

from router.domain.errors import DefinitionError
from router.skill.loader import LARGEST, read_skill
from tests.unit.skill.folders import BODY, HEAD, beside, write

EVERYTHING = (
    "license: MIT\ncompatibility: needs git\nallowed-tools: Bash(git add:*) Read\n"
    "metadata:\n  author: me\n  version: 1.0"
)
ACCEPTED = {
    "the least": ("a", "name: a\ndescription: d", BODY),
    "every field": (
        "a",
        f"name: a\ndescription: d\n{EVERYTHING}",
        BODY,
    ),
    "a name in Chinese": ("行程", "name: 行程\ndescription: 安排行程", BODY),
    "a name in Cyrillic": ("план-поездки", "name: план-поездки\ndescription: d", BODY),
    "a name with full-width letters": ("ａ", "name: ａ\ndescription: d", BODY),
    "a name that is a number": ("2026", "name: 2026\ndescription: d", BODY),
    "a name that is a word of YAML": ("null", "name: null\ndescription: d", BODY),
    "a name in quotes": ("a", 'name: " a "\ndescription: d', BODY),
    "a description that is a number": ("a", "name: a\ndescription: 1.50", BODY),
    "a description of many lines": ("a", "name: a\ndescription: >-\n  one\n  two", BODY),
    "a description as long as may be": ("a", f"name: a\ndescription: {'d' * 1024}", BODY),
    "no instructions": ("a", "name: a\ndescription: d", ""),
    "no compatibility": ("a", "name: a\ndescription: d\ncompatibility:", BODY),
    "no license": ("a", "name: a\ndescription: d\nlicense:", BODY),
    "no tools": ("a", "name: a\ndescription: d\nallowed-tools:", BODY),
    "tools below each other": ("a", "name: a\ndescription: d\nallowed-tools:\n  - x\n  - y", BODY),
    "tools that are fields": ("a", "name: a\ndescription: d\nallowed-tools:\n  x: y", BODY),
    "no metadata": ("a", "name: a\ndescription: d\nmetadata:", BODY),
    "metadata that is a text": ("a", "name: a\ndescription: d\nmetadata: x", BODY),
    "metadata that is a list": ("a", "name: a\ndescription: d\nmetadata:\n  - x", BODY),
    "metadata that is nested": ("a", "name: a\ndescription: d\nmetadata:\n  x:\n    y: z", BODY),
    "metadata by numbers": ("a", "name: a\ndescription: d\nmetadata:\n  1: x\n  true: y", BODY),
    "comments": ("a", "# head\nname: a # name\ndescription: d", BODY),
    "a rule in the body": ("a", "name: a\ndescription: d", "one\n\n---\n\ntwo"),
    "a link to nowhere": ("a", "name: a\ndescription: d", "See [this](references/none.md)."),
    "a long body": ("a", "name: a\ndescription: d", "line\n" * 5000),
}
REFUSED = {
    "no name": ("a", "description: d", BODY),
    "another name": ("a", "name: b\ndescription: d", BODY),
    "capitals": ("A", "name: A\ndescription: d", BODY),
    "underscores": ("a_b", "name: a_b\ndescription: d", BODY),
    "a long name": ("a" * 65, f"name: {'a' * 65}\ndescription: d", BODY),
    "no description": ("a", "name: a", BODY),
    "a long description": ("a", f"name: a\ndescription: {'d' * 1025}", BODY),
    "a long compatibility": ("a", f"name: a\ndescription: d\ncompatibility: {'c' * 501}", BODY),
}


@pytest.mark.parametrize("case", ACCEPTED)
def test_what_the_reference_accepts_can_be_loaded(tmp_path: Path, case: str) -> None:
    name, head, body = ACCEPTED[case]
    folder = write(tmp_path, head, body, name)
    assert validate(folder) == []
    assert read_skill(folder).skill.name == name


@pytest.mark.parametrize("case", REFUSED)
def test_what_breaks_a_rule_of_the_format_is_refused_by_both(tmp_path: Path, case: str) -> None:
    name, head, body = REFUSED[case]
    folder = write(tmp_path, head, body, name)
    assert validate(folder) != []
    with pytest.raises(DefinitionError):
        read_skill(folder)


def test_a_file_in_small_letters_is_a_skill_too(tmp_path: Path) -> None:
    folder = write(tmp_path)
    (folder / "SKILL.md").rename(folder / "skill.md")
    assert validate(folder) == []
    assert read_skill(folder).skill.name == "trip-planner"


def test_a_folder_that_is_linked_goes_by_the_name_of_the_link(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    write(tmp_path / "elsewhere", name="v2")
    (tmp_path / "trip-planner").symlink_to(tmp_path / "elsewhere" / "v2")
    assert validate(tmp_path / "trip-planner") == []
    assert read_skill(tmp_path / "trip-planner").skill.name == "trip-planner"


def test_files_beyond_all_bounds_are_left_out_of_a_skill_that_can_be_used(tmp_path: Path) -> None:
    folder = write(tmp_path)
    beside(folder, "assets/film.mp4", b"\0" * (1024 * 1024 + 1))
    assert validate(folder) == []
    assert read_skill(folder).skill.files == ()


@pytest.mark.parametrize(
    ("head", "body"),
    [(HEAD, "x" * LARGEST), (f"{HEAD}\nmetadata:\n  router.max-turns: many", BODY)],
    ids=["instructions that no prompt would hold", "a slip in a key of ours"],
)
def test_only_this_is_refused_here_and_accepted_there(tmp_path: Path, head: str, body: str) -> None:
    folder = write(tmp_path, head, body)
    assert validate(folder) == []
    with pytest.raises(DefinitionError):
        read_skill(folder)
