"""Skills read from folders: heads, files and links."""

import os
import shutil
import socket
from hashlib import sha256
from pathlib import Path
from time import process_time

import pytest

import skills
from router.domain.errors import DefinitionError
from router.skill.loader import (
    LARGEST,
    LARGEST_FILE,
    MOST_FILES,
    WatchedSkills,
    broken_links,
    folders_in,
    load_all,
    read_folder,
    read_skill,
)

HEAD = "name: trip-planner\ndescription: Plans trips."
BODY = "Plan the trip."


def write(folder: Path, head: str = HEAD, body: str = BODY, name: str = "trip-planner") -> Path:
    skill = folder / name
    skill.mkdir(exist_ok=True)
    (skill / "SKILL.md").write_text(f"---\n{head}\n---\n{body}\n", "utf-8")
    return skill


def beside(skill: Path, path: str, content: str | bytes = "x") -> Path:
    """A file beside the skill's instructions."""
    place = skill / path
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_bytes(content.encode() if isinstance(content, str) else content)
    return place


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


PATHS = ["references/limits.md", "assets/a b.png", "scripts/sum.py"]


@pytest.mark.parametrize(
    "body",
    [
        "See [limits](references/limits.md).",
        "See [limits](./references/limits.md#shanghai) and [all](references/).",
        "![a](assets/a%20b.png) ![b](<assets/a b.png> 'title')",
        "[one](https://example.com/x.md) [two](mailto:a@b.c) [three](#below) [four](/etc/x)",
        "Write `[x](none.md)`, or\n```md\n[x](none.md)\n```\n~~~\n[x](none.md)\n```\n~~~",
        "[ref]\n\n[ref]: scripts/sum.py 'the sum'",
        "[templates]({name}.md) [nothing]() call(me).md",
    ],
)
def test_links_that_lead_somewhere_are_fine(body: str) -> None:
    assert list(broken_links(body, PATHS)) == []


@pytest.mark.parametrize(
    ("body", "line", "path"),
    [
        ("one\n\n[x](references/none.md)", 3, "references/none.md"),
        ("```\ncode\n```\n![x](assets/none.png)", 4, "assets/none.png"),
        ("[ref]: scripts/none.py", 1, "scripts/none.py"),
        ("[up](../other/SKILL.md)", 1, "../other/SKILL.md"),
    ],
)
def test_a_link_to_nowhere_is_named_with_its_line(body: str, line: int, path: str) -> None:
    ((number, fault),) = broken_links(body, PATHS)
    assert (number, fault.what) == (line, f"it links to {path}, which is not there")


def test_the_file_that_was_meant_is_named() -> None:
    ((_, fault),) = broken_links("[x](references/limit.md)", PATHS)
    assert fault.remedy == "did you mean references/limits.md?"


@pytest.mark.parametrize("piece", ["[](", "`" * 50 + "a", "](<", "](a '", "[a]: "])
def test_a_line_made_to_take_long_takes_no_time(piece: str) -> None:
    began = process_time()
    list(broken_links(piece * 10_000, PATHS))
    assert process_time() - began < 1


def touched(file: Path) -> None:
    """As if it were written later, however coarse the clock of the file system is."""
    stamp = file.stat().st_mtime_ns + 1_000_000_000
    os.utime(file, ns=(stamp, stamp))


def instructions(watched: WatchedSkills) -> dict[str, str]:
    """What has changed, by name; fails where nothing has."""
    loaded = watched.reload()
    assert loaded is not None
    return {skill.name: skill.instructions for skill in loaded.catalog}


@pytest.fixture
def watched(tmp_path: Path) -> WatchedSkills:
    write(tmp_path)
    watched = WatchedSkills(tmp_path)
    watched.load()
    return watched


def test_what_is_new_edited_or_gone_is_followed(tmp_path: Path, watched: WatchedSkills) -> None:
    assert watched.reload() is None
    other = write(tmp_path, "name: other\ndescription: d", "Do the other.", "other")
    assert instructions(watched) == {"trip-planner": "Plan the trip.", "other": "Do the other."}
    assert watched.reload() is None
    touched(write(tmp_path, body="Plan it well.") / "SKILL.md")
    assert instructions(watched)["trip-planner"] == "Plan it well."
    shutil.rmtree(other)
    assert instructions(watched) == {"trip-planner": "Plan it well."}


def test_a_file_beside_the_instructions_counts_too(tmp_path: Path, watched: WatchedSkills) -> None:
    file = beside(tmp_path / "trip-planner", "references/a.md", "one")
    first = watched.reload()
    assert first is not None
    file.write_text("two")
    touched(file)
    second = watched.reload()
    assert second is not None
    (before,), (after,) = first.contents.values(), second.contents.values()
    assert (before, after) == (b"one", b"two")


def test_a_broken_one_stays_as_it_was_and_is_logged_once_while_others_change(
    tmp_path: Path, watched: WatchedSkills, caplog: pytest.LogCaptureFixture
) -> None:
    touched(write(tmp_path, "name: trip-planner", "Broken.") / "SKILL.md")
    write(tmp_path, "name: other\ndescription: d", "Do the other.", "other")
    write(tmp_path, "name: never\ndescription: [", "Never.", "never")
    assert instructions(watched) == {"trip-planner": "Plan the trip.", "other": "Do the other."}
    assert watched.reload() is None
    said = [record.getMessage() for record in caplog.records if record.levelname == "ERROR"]
    assert len(said) == 2
    assert "never isn't used: " in said[0]
    assert "stays as it was: " in said[1]
    assert "SKILL.md:2: there is no description" in said[1]
    mended = write(tmp_path, HEAD, "Mended.") / "SKILL.md"
    touched(mended)
    touched(mended)
    assert instructions(watched)["trip-planner"] == "Mended."


def test_what_could_not_be_taken_up_is_found_again(watched: WatchedSkills) -> None:
    assert watched.reload() is None
    watched.forget()
    assert instructions(watched) == {"trip-planner": "Plan the trip."}
    assert watched.reload() is None


def test_a_broken_one_is_refused_at_the_start(tmp_path: Path) -> None:
    write(tmp_path, "name: trip-planner")
    with pytest.raises(DefinitionError, match="there is no description"):
        WatchedSkills(tmp_path).load()


async def test_changes_are_yielded_as_they_are_seen(tmp_path: Path, watched: WatchedSkills) -> None:
    write(tmp_path, "name: other\ndescription: d", name="other")
    async for loaded in watched.changes(0.001):
        assert "other" in loaded.catalog
        break
