from pathlib import Path

import pytest

import skills
from router.domain.errors import DefinitionError
from router.skill.loader import LARGEST, folders_in, load_all, read_skill
from tests.unit.skill.folders import BODY, HEAD, write


def problems(folder: Path) -> list[str]:
    with pytest.raises(DefinitionError) as refused:
        read_skill(folder)
    return [f"{p.line}: {p.what}; {p.remedy}" for p in refused.value.problems]


def test_a_folder_from_elsewhere_works_as_it_is(tmp_path: Path) -> None:
    head = f"{HEAD}\nlicense: MIT\nversion: 3\nallowed-tools: Bash(git:*) Read\nmetadata:\n  a: b"
    skill = read_skill(write(tmp_path, head)).skill
    assert (skill.name, skill.description.zh, skill.description.en) == (
        "trip-planner",
        "Plans trips.",
        "Plans trips.",
    )
    assert skill.title.en == "trip planner"
    assert skill.instructions == BODY
    assert skill.allowed_tools == frozenset({"Bash(git:*)", "Read"})
    assert not skill.may_use("calculate")


def test_what_is_ours_stands_under_metadata(tmp_path: Path) -> None:
    head = (
        f"{HEAD}\nmetadata:\n  router.roles: hr manager\n  router.max-turns: 5\n"
        '  router.token-budget: "9000"\n  router.model: big\n  router.mode: react\n'
        "  router.title-zh: 行程\n  router.examples: |\n    去上海\n\n    to Rome\n"
    )
    skill = read_skill(write(tmp_path, head)).skill
    assert skill.roles == {"hr", "manager"}
    assert (skill.max_turns, skill.token_budget, skill.model) == (5, 9000, "big")
    assert skill.examples == ("去上海", "to Rome")
    assert (skill.title.zh, skill.title.en) == ("行程", "trip planner")


def test_a_skill_that_works_by_a_plan_has_more_turns_and_tokens_unless_it_says(
    tmp_path: Path,
) -> None:
    skill = read_skill(write(tmp_path, f"{HEAD}\nmetadata:\n  router.mode: plan\n")).skill
    assert (skill.mode, skill.max_turns, skill.token_budget) == ("plan", 24, 180_000)
    head = f"{HEAD}\nmetadata:\n  router.mode: plan\n  router.max-turns: 9\n"
    skill = read_skill(write(tmp_path, head)).skill
    assert (skill.max_turns, skill.token_budget) == (9, 180_000)


def test_without_allowed_tools_nothing_is_ruled_out(tmp_path: Path) -> None:
    assert read_skill(write(tmp_path)).skill.may_use("anything")


@pytest.mark.parametrize(
    ("head", "wrong"),
    [
        ("description: d", "2: there is no name; write a line name: …"),
        ("name: trip-planner", "2: there is no description; write a line description: …"),
        ("name: [a]\ndescription: d", "2: name isn't text"),
        (f"name: trip-planner\ndescription: {'d' * 1025}", "3: description has 1025 characters"),
        (f"{HEAD}\nmetadata:\n  router.max-turn: 3", "5: there is no router.max-turn; did you"),
        (f"{HEAD}\nmetadata:\n  router.max-turns: many", "5: router.max-turns is 'many'"),
        (f"{HEAD}\nmetadata:\n  router.max-turns: 0", "5: router.max-turns is '0'"),
        (f"{HEAD}\nmetadata:\n  router.max-turns: ٣", "5: router.max-turns is '٣'"),
        (f"{HEAD}\nmetadata:\n  router.mode: dream", "5: router.mode is 'dream'; write one of"),
        (f"{HEAD}\nmetadata:\n  router.roles: [hr]", "5: router.roles isn't text"),
        (f"{HEAD}\nname: other", "4: name comes twice"),
        ("- a\n- b", "1: the head has no fields"),
        ("", "1: the head has no fields"),
        ("name: 'a", "this isn't YAML"),
        ("a: !!python/object:os.system x", "the tag"),
    ],
)
def test_a_head_at_fault_is_refused_with_its_line(tmp_path: Path, head: str, wrong: str) -> None:
    assert any(wrong in problem for problem in problems(write(tmp_path, head)))


@pytest.mark.parametrize(
    ("head", "body", "wrong"),
    [
        (
            f"{HEAD}\nmetadata: 3",
            BODY,
            "4: metadata isn't a mapping; write keys and texts below it",
        ),
        (
            f"{HEAD}\nallowed-tools: {{a: b}}",
            BODY,
            "4: allowed-tools isn't a list of names; write names with spaces between them",
        ),
        (HEAD, "", "4: there are no instructions; write them below the second ---"),
        (
            HEAD,
            "\n\nFirst.\n\nSee [this](references/a.md).",
            "9: it links to references/a.md, which is not there; add the file",
        ),
    ],
)
def test_what_can_be_done_without_is_named_and_hinders_nobody(
    tmp_path: Path, head: str, body: str, wrong: str
) -> None:
    found = read_skill(write(tmp_path, head, body))
    (flaw,) = found.flaws
    assert f"{flaw.line}: {flaw.what}; {flaw.remedy}".startswith(wrong)
    assert found.skill.instructions == (body.strip() or "Plans trips.")


def test_tools_that_cannot_be_made_out_are_no_leave_to_use_all(tmp_path: Path) -> None:
    skill = read_skill(write(tmp_path, f"{HEAD}\nallowed-tools: {{a: b}}")).skill
    assert not skill.may_use("calculate")


def test_what_is_wrong_besides_is_told_with_what_it_is_refused_for(tmp_path: Path) -> None:
    folder = write(tmp_path, "name: trip-planner", "See [this](a.md).")
    assert [problem[:20] for problem in problems(folder)] == [
        "2: there is no descr",
        "4: it links to a.md,",
    ]


@pytest.mark.parametrize(
    "name", ["Trip", "trip_planner", "trip--planner", "-trip", "行 程", "a/b", "É"]
)
def test_a_name_has_to_be_in_kebab_case(tmp_path: Path, name: str) -> None:
    found = problems(write(tmp_path, f"name: {name}\ndescription: d"))
    assert any("isn't in kebab-case" in problem for problem in found)


def test_the_name_has_to_be_the_folders(tmp_path: Path) -> None:
    (problem,) = problems(write(tmp_path, name="planner"))
    assert problem == (
        "2: the name is 'trip-planner' and the folder 'planner'; give both the same name"
    )


@pytest.mark.parametrize(
    ("content", "wrong"),
    [
        (b"", "1: it doesn't begin with a head; write --- on line 1"),
        (b"# Trip planner\n", "1: it doesn't begin with a head; write --- on line 1"),
        (b"---\nname: trip-planner\n", "1: the head has no end; write --- on a line below it"),
        (b"---\nname: \xff\n---\n", "2: this isn't UTF-8; save the file as UTF-8"),
        (b"-" * (LARGEST + 1), "1: it is over 64 KiB; move what is long into references/"),
        (b"---\na: \x07\n---\n", "2: there is a control character, U+0007"),
    ],
)
def test_a_file_that_is_none_is_refused(tmp_path: Path, content: bytes, wrong: str) -> None:
    (write(tmp_path) / "SKILL.md").write_bytes(content)
    assert any(problem.startswith(wrong) for problem in problems(tmp_path / "trip-planner"))


def test_a_folder_without_the_file_is_no_skill(tmp_path: Path) -> None:
    (tmp_path / "notes").mkdir()
    write(tmp_path)
    assert [skill.name for skill in load_all(folders_in(tmp_path)).catalog] == ["trip-planner"]
    assert problems(tmp_path / "notes") == ["1: there is no such file; check the path"]


def test_every_problem_of_every_skill_is_told_at_once(tmp_path: Path) -> None:
    write(tmp_path, "name: One\ndescription: d", name="one")
    write(tmp_path, "name: two", "", name="two")
    with pytest.raises(DefinitionError) as refused:
        load_all(folders_in(tmp_path))
    assert len(refused.value.problems) == 4


def test_windows_line_ends_and_a_byte_order_mark_are_fine(tmp_path: Path) -> None:
    folder = write(tmp_path)
    path = folder / "SKILL.md"
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes().replace(b"\n", b"\r\n"))
    assert read_skill(folder).skill.name == "trip-planner"


def test_the_skills_that_ship_can_be_loaded_in_both_languages() -> None:
    catalog = load_all(folders_in(Path(next(iter(skills.__path__))))).catalog
    assert "policy-advisor" in catalog
    for skill in catalog:
        assert skill.description.zh != skill.description.en
        assert skill.title.zh != skill.title.en
