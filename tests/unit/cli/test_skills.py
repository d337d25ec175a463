"""`intent-router skills validate`, and the example in docs/skills.md."""

import re
from pathlib import Path

import skills
from router.documents.validation import keys_at
from router.skill.front_matter import SkillMetadata
from router.skill.loader import load_all
from tests.unit.cli.conftest import Run
from tests.unit.skill.folders import HEAD, beside, write

PAGE = (Path(__file__).parents[3] / "docs" / "skills.md").read_text()


def test_without_paths_the_skills_in_use_are_checked(run: Run) -> None:
    outcome = run("skills", "validate")
    assert (outcome.status, outcome.err) == (0, "")
    assert "ok  policy-advisor: " in outcome.out


def test_the_first_skill_of_the_docs_is_sound(run: Run, elsewhere: Path) -> None:
    example = re.search(r"```markdown\n(.*?)```", PAGE, re.DOTALL)
    assert example is not None
    (elsewhere / "trip-helper").mkdir()
    (elsewhere / "trip-helper" / "SKILL.md").write_text(example[1])
    outcome = run("skills", "validate", "trip-helper")
    assert (outcome.status, outcome.err) == (0, "")
    assert re.fullmatch(r"ok  trip-helper: \d+ words, 3 tools\n", outcome.out)
    assert run("skills", "validate", ".").out == outcome.out


def test_every_problem_has_a_line(run: Run, elsewhere: Path) -> None:
    (elsewhere / "broken").mkdir()
    (elsewhere / "broken" / "SKILL.md").write_text("---\nname: Broken\n---\nDo it.\n")
    outcome = run("skills", "validate", ".")
    assert outcome.status == 1
    lines = outcome.err.splitlines()
    assert all(re.match(r"(error: )?broken/SKILL\.md:\d+: ", line) for line in lines)
    assert len(lines) == 3


def test_a_path_without_a_skill_is_refused(run: Run) -> None:
    outcome = run("skills", "validate", "nowhere")
    assert outcome.status == 1
    assert outcome.first_line == (
        "error: nowhere/SKILL.md:1: there is no such file; check the path"
    )


def test_two_skills_of_one_name_are_refused(run: Run, elsewhere: Path) -> None:
    for place in ("one", "two"):
        folder = elsewhere / place / "same"
        folder.mkdir(parents=True)
        (folder / "SKILL.md").write_text("---\nname: same\ndescription: d\n---\nDo it.\n")
    outcome = run("skills", "validate", "one", "two")
    assert outcome.status == 1
    assert "there is a skill same in one/same already; rename one" in outcome.err


def test_every_key_of_ours_is_described() -> None:
    keys = {key for key in keys_at(SkillMetadata, ()) if not key.endswith(("-zh", "-en"))}
    assert {key for key in keys if f"`{key}`" not in PAGE} == set()


def test_the_skills_that_ship_are_listed_with_what_they_may_use() -> None:
    rows = {row.split("`")[1]: row for row in PAGE.splitlines() if row.startswith("| `")}
    for skill in load_all([Path(next(iter(skills.__path__)))]).catalog:
        listed = frozenset(re.findall(r"`(\w+)`", rows[skill.name]))
        assert listed == skill.allowed_tools, skill.name


def test_flaws_are_named_with_their_lines_and_end_with_1(run: Run, elsewhere: Path) -> None:
    folder = write(elsewhere, body="See [a](references/a.md)\nand [b](references/b.md).")
    beside(folder, "references/b.md")
    (folder / "passwd").symlink_to("/etc/passwd")
    beside(folder, "assets/film.mp4", b"x" * (1024 * 1024 + 1))
    outcome = run("skills", "validate", "trip-planner")
    assert outcome.status == 1
    assert outcome.err.removeprefix("error: ").splitlines() == [
        (
            "trip-planner/SKILL.md:5: it links to references/a.md, which is not there; "
            "did you mean references/b.md?"
        ),
        (
            "trip-planner/assets/film.mp4:1: it is over 1 MiB; split it or make it less; "
            "it is left out"
        ),
        (
            "trip-planner/passwd:1: it links out of the folder; put a copy in its place; "
            "it is left out"
        ),
    ]


def test_what_might_be_better_is_a_warning(run: Run, elsewhere: Path) -> None:
    allowed = "allowed-tools: calculat leave_request Bash(git add:*) Read"
    folder = write(elsewhere, f"{HEAD}\n{allowed}", "line\n" * 501)
    beside(folder, "references/a.md")
    outcome = run("skills", "validate", "trip-planner")
    assert (outcome.status, outcome.err.splitlines()) == (
        0,
        [
            (
                "warning: trip-planner/SKILL.md:6: the instructions have 501 lines; "
                "move what is long into references/"
            ),
            (
                "warning: trip-planner/SKILL.md:4: there is no tool or flow calculat; "
                "did you mean calculate?"
            ),
        ],
    )
    assert outcome.out == "ok  trip-planner: 501 words, 4 tools, 1 file\n"
