"""Skills read from folders: heads, files and links."""

import os
import shutil
import socket
from hashlib import sha256
from pathlib import Path
from time import process_time

import pytest

from router.domain.errors import DefinitionError
from router.skill.loader import (
    LARGEST,
    LARGEST_FILE,
    MOST_FILES,
    LoadedSkills,
    WatchedSkills,
    broken_links,
    folders_in,
    load_all,
    read_folder,
    read_skill,
    remarks,
)
from tests.table import each_row

HEAD = "name: trip-planner\ndescription: Plans trips."
BODY = "Plan the trip."


def write(folder: Path, head: str = HEAD, body: str = BODY, name: str = "trip-planner") -> Path:
    return beside(folder / name, "SKILL.md", f"---\n{head}\n---\n{body}\n").parent


def beside(skill: Path, path: str, content: str | bytes = "x") -> Path:
    """A file of the skill, written a second later than before, however coarse the clock."""
    place = skill / path
    place.parent.mkdir(parents=True, exist_ok=True)
    before = place.stat().st_mtime if place.exists() else None
    place.write_bytes(content.encode() if isinstance(content, str) else content)
    if before:
        os.utime(place, (before + 1, before + 1))
    return place


def problems(folder: Path) -> list[str]:
    with pytest.raises(DefinitionError) as refused:
        read_skill(folder)
    return [f"{p.line}: {p.what}; {p.remedy}" for p in refused.value.problems]


def test_a_folder_from_elsewhere_works_as_it_is(tmp_path: Path) -> None:
    head = f"{HEAD}\nlicense: MIT\nversion: 3\nallowed-tools: Bash(git:*) Read\nmetadata:\n  a: b"
    skill = read_skill(write(tmp_path, head)).skill
    assert (skill.name, skill.title.en) == ("trip-planner", "trip planner")
    assert skill.instructions == BODY
    assert skill.description.zh == skill.description.en == "Plans trips."
    assert skill.allowed_tools == frozenset({"Bash(git:*)", "Read"})
    assert not skill.may_use("calculate")
    assert read_skill(write(tmp_path)).skill.may_use("calculate")


def test_what_is_ours_stands_under_metadata(tmp_path: Path) -> None:
    head = (
        f"{HEAD}\nmetadata:\n  router.roles: hr manager\n  router.max-turns: 5\n"
        '  router.token-budget: "9000"\n  router.model: big\n  router.mode: react\n'
        '  router.require-done: "true"\n  router.reflect: true\n  router.confirm-plan: TRUE\n'
        "  router.title-zh: 行程\n  router.examples: |\n    去上海\n\n    to Rome\n"
    )
    skill = read_skill(write(tmp_path, head)).skill
    assert (set(skill.roles), skill.examples) == ({"hr", "manager"}, ("去上海", "to Rome"))
    assert (skill.max_turns, skill.token_budget, skill.model) == (5, 9000, "big")
    assert (skill.title.zh, skill.title.en) == ("行程", "trip planner")
    assert skill.require_done
    assert skill.reflect
    assert skill.confirm_plan


@each_row(("said", "turns"), [("", 24), ("  router.max-turns: 9\n", 9)])
def test_by_a_plan_it_has_more_turns_unless_it_says(tmp_path: Path, said: str, turns: int) -> None:
    head = f"{HEAD}\nmetadata:\n  router.mode: plan\n{said}"
    skill = read_skill(write(tmp_path, head)).skill
    assert (skill.mode, skill.max_turns, skill.token_budget) == ("plan", turns, 180_000)


def handing(tmp_path: Path, **hands_to: str) -> LoadedSkills:
    """These skills, each of which hands to the one that is named for it."""
    for name, other in hands_to.items():
        metadata = f"\nmetadata:\n  router.hands-to: {other}" if other else ""
        write(tmp_path, f"name: {name}\ndescription: d{metadata}", name=name)
    return load_all(folders_in(tmp_path))


def test_skills_that_hand_over_are_checked_together(tmp_path: Path) -> None:
    loaded = handing(tmp_path, a="b c", b="c d", c="")
    assert [skill.hands_to for skill in loaded.catalog] == [("b", "c"), ("c", "d"), ()]
    (remark,) = remarks(loaded, ())
    assert (remark.file, remark.line) == (str(tmp_path / "b" / "SKILL.md"), 4)
    assert remark.what == "router.hands-to names no skill: d"


@each_row(
    ("hands_to", "circle"),
    [
        ({"a": "a"}, ["a ▸ a"]),
        ({"a": "b", "b": "a"}, ["a ▸ b ▸ a", "b ▸ a ▸ b"]),
        ({"a": "b", "b": "c", "c": "a"}, ["a ▸ b ▸ c ▸ a", "b ▸ c ▸ a ▸ b", "c ▸ a ▸ b ▸ c"]),
    ],
)
def test_no_skills_hand_over_in_a_circle(
    tmp_path: Path, hands_to: dict[str, str], circle: list[str]
) -> None:
    with pytest.raises(DefinitionError) as refused:
        handing(tmp_path, **hands_to)
    (problem,) = refused.value.problems
    begins, _, round_ = problem.what.partition(": ")
    assert begins == "router.hands-to leads in a circle"
    assert round_ in circle
    assert problem.file == str(tmp_path / round_[0] / "SKILL.md")


def test_a_plan_hands_nothing_over(tmp_path: Path) -> None:
    head = f"{HEAD}\nmetadata:\n  router.mode: plan\n  router.hands-to: trip-planer"
    write(tmp_path, head)
    said = [remark.what for remark in remarks(load_all(folders_in(tmp_path)), ())]
    assert said == [
        "router.hands-to names no skill: trip-planer",
        "router.hands-to has no use by a plan, whose steps hand nothing over",
    ]


@each_row(
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
        (f"{HEAD}\nmetadata:\n  router.require-done: yes", "is 'yes'; write true or false"),
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


@each_row(
    ("more", "body", "wrong"),
    [
        ("\nmetadata: 3", BODY, "4: metadata isn't a mapping; write keys and texts below it"),
        (
            *("\nallowed-tools: {a: b}", BODY),
            "4: allowed-tools isn't a list of names; write names with spaces between them",
        ),
        ("", "", "4: there are no instructions; write them below the second ---"),
        (
            *("", "\n\nFirst.\n\nSee [this](references/a.md)."),
            "9: it links to references/a.md, which is not there; add the file",
        ),
    ],
)
def test_flaws_are_told_and_hinder_nobody(tmp_path: Path, more: str, body: str, wrong: str) -> None:
    found = read_skill(write(tmp_path, HEAD + more, body))
    (flaw,) = found.flaws
    assert f"{flaw.line}: {flaw.what}; {flaw.remedy}".startswith(wrong)
    assert found.skill.instructions == (body.strip() or "Plans trips.")
    # Tools that can't be made out are no leave to use all.
    assert found.skill.may_use("calculate") is ("allowed-tools" not in more)


def test_what_is_wrong_besides_is_told_with_what_it_is_refused_for(tmp_path: Path) -> None:
    found = problems(write(tmp_path, "name: trip-planner", "See [this](a.md)."))
    assert [said[:20] for said in found] == ["2: there is no descr", "4: it links to a.md,"]


@each_row("name", ["Trip", "trip_planner", "trip--planner", "-trip", "行 程", "a/b", "É"])
def test_a_name_has_to_be_in_kebab_case(tmp_path: Path, name: str) -> None:
    found = problems(write(tmp_path, f"name: {name}\ndescription: d"))
    assert any("isn't in kebab-case" in problem for problem in found)


def test_the_name_has_to_be_the_folders(tmp_path: Path) -> None:
    said = "2: the name is 'trip-planner' and the folder 'planner'; give both the same name"
    assert problems(write(tmp_path, name="planner")) == [said]


@each_row(
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


@pytest.fixture
def skill(tmp_path: Path) -> Path:
    return write(tmp_path)


def paths(skill: Path) -> list[str]:
    return [file.path for file in read_folder(skill).files]


def flaws(skill: Path) -> list[str]:
    """What was left out, without the folder's own place."""
    found = read_folder(skill).flaws
    return [f"{flaw.file.removeprefix(str(skill))}: {flaw.what}" for flaw in found]


def test_files_are_named_by_what_is_in_them_and_what_is_hidden_is_none(skill: Path) -> None:
    beside(skill, "references/限额.md", "上海 600")
    beside(skill, "assets/logo.png", b"\x89PNG")
    for path in (".git/config", ".DS_Store", "scripts/__pycache__/a.pyc"):
        beside(skill, path)
    found = read_folder(skill)
    listed = [(f.path, f.size) for f in found.files]
    assert listed == [("assets/logo.png", 4), ("references/限额.md", 10)]
    digest = sha256("上海 600".encode()).hexdigest()
    assert (found.files[1].digest, found.contents[digest]) == (digest, "上海 600".encode())
    assert found.flaws == []


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


def test_a_file_may_be_so_large_and_its_path_so_long(skill: Path) -> None:
    beside(skill, "fits", b"x" * LARGEST_FILE)
    beside(skill, "more", b"x" * (LARGEST_FILE + 1))
    beside(skill, f"{'长' * 40}/a")
    assert paths(skill) == ["fits"]
    too_long = f"/{'长' * 40}/a: its path is over 120 bytes"
    assert flaws(skill) == ["/more: it is over 1 MiB", too_long]


def test_all_files_together_may_be_so_large(skill: Path) -> None:
    for number in range(9):
        beside(skill, f"{number}", bytes([number]) * LARGEST_FILE)
    beside(skill, "a", "still fits nowhere")
    assert paths(skill) == [str(number) for number in range(8)]
    assert flaws(skill) == [f"/{n}: with it the folder is over 8 MiB" for n in ("8", "a")]


@pytest.mark.slow
def test_there_may_be_so_many_files_as_fit_into_a_workflows_input(skill: Path) -> None:
    long = "长" * 39
    for number in range(MOST_FILES + 1):
        beside(skill, f"{number:03}{long}")
    found = read_folder(skill)
    assert len(found.files) == MOST_FILES
    (flaw,) = found.flaws
    said = f"there are 201 files; keep at most 200; those after 199{long} are left out"
    assert str(flaw).endswith(said)
    listed = "".join(file.model_dump_json() for file in found.files)
    assert len(listed.encode()) < 60_000


PATHS = ["references/limits.md", "assets/a b.png", "scripts/sum.py"]


@each_row(
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


@each_row(
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
    ((_, near),) = broken_links("[x](references/limit.md)", PATHS)
    assert near.remedy == "did you mean references/limits.md?"


@each_row("piece", ["[](", "`" * 50 + "a", "](<", "](a '", "[a]: "])
def test_a_line_made_to_take_long_takes_no_time(piece: str) -> None:
    began = process_time()
    list(broken_links(piece * 10_000, PATHS))
    assert process_time() - began < 1


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


async def test_what_is_new_edited_or_gone_is_seen(tmp_path: Path, watched: WatchedSkills) -> None:
    assert watched.reload() is None
    other = write(tmp_path, "name: other\ndescription: d", "Do the other.", "other")
    async for loaded in watched.changes(0.001):
        assert [skill.name for skill in loaded.catalog] == ["other", "trip-planner"]
        break
    assert watched.reload() is None
    write(tmp_path, body="Plan it well.")
    assert instructions(watched)["trip-planner"] == "Plan it well."
    shutil.rmtree(other)
    assert instructions(watched) == {"trip-planner": "Plan it well."}


def test_a_file_beside_the_instructions_counts_too(tmp_path: Path, watched: WatchedSkills) -> None:
    for content in ("one", "two"):
        beside(tmp_path / "trip-planner", "references/a.md", content)
        loaded = watched.reload()
        assert loaded is not None
        assert list(loaded.contents.values()) == [content.encode()]


def test_a_broken_one_stays_as_it_was_and_is_logged_once_while_others_change(
    tmp_path: Path, watched: WatchedSkills, caplog: pytest.LogCaptureFixture
) -> None:
    write(tmp_path, "name: trip-planner", "Broken.")
    write(tmp_path, "name: other\ndescription: d", "Do the other.", "other")
    write(tmp_path, "name: never\ndescription: [", "Never.", "never")
    assert instructions(watched) == {"trip-planner": "Plan the trip.", "other": "Do the other."}
    assert watched.reload() is None
    said = [record.getMessage() for record in caplog.records if record.levelname == "ERROR"]
    assert len(said) == 2
    assert "never isn't used: " in said[0]
    assert "stays as it was: " in said[1]
    assert "SKILL.md:2: there is no description" in said[1]
    write(tmp_path, HEAD, "Mended.")
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


def test_the_keys_say_who_may_call_it(tmp_path: Path) -> None:
    more = "disable-model-invocation: true\nargument-hint: [week]"
    skill = read_skill(write(tmp_path, f"{HEAD}\n{more}")).skill
    assert (skill.by_model, skill.by_name, skill.hint) == (False, True, "[week]")
    assert (skill.capability.by_model, skill.capability.hint) == (False, "[week]")
    skill = read_skill(write(tmp_path, f"{HEAD}\nuser-invocable: 'false'")).skill
    assert (skill.by_model, skill.by_name, skill.hint) == (True, False, "")


@each_row(
    ("line", "wrong"),
    [
        ("disable-model-invocation: maybe", "disable-model-invocation is 'maybe'; write true or"),
        ("user-invocable: [1]", "user-invocable isn't text; write it as text"),
        (f"argument-hint: {'x' * 201}", "argument-hint has 201 characters; write 200 at most"),
        ("argument-hint: {a: b}", "argument-hint isn't text"),
        ("metadata:\n  router.subagents: '13'", "is '13'; write a whole number from 0 to 12"),
        ("metadata:\n  router.subagents: many", "is 'many'; write a whole number from 0 to 12"),
    ],
)
def test_a_key_with_a_value_that_is_none_is_refused(tmp_path: Path, line: str, wrong: str) -> None:
    (problem,) = problems(write(tmp_path, f"{HEAD}\n{line}"))
    assert wrong in problem


def test_a_key_that_nobody_knows_is_told_with_the_nearest_and_hinders_nobody(
    tmp_path: Path,
) -> None:
    found = read_skill(write(tmp_path, f"{HEAD}\nallowed_tools: calculate\ncolour: red"))
    told = [f"{p.line}: {p.what}; {p.remedy}" for p in found.flaws]
    assert told == [
        "4: there is no key 'allowed_tools'; did you mean allowed-tools?",
        "5: there is no key 'colour'; take it out, or put it under metadata",
    ]


def test_keys_of_other_agents_are_told_to_mean_nothing_here(tmp_path: Path) -> None:
    more = "model: opus\nhooks: {}\ndisable-model-invocation: true\nuser-invocable: false"
    write(tmp_path, f"{HEAD}\n{more}")
    loaded = load_all([tmp_path])
    assert loaded.flaws == []
    told = [f"{p.line}: {p.what}" for p in remarks(loaded, ())]
    assert told == [
        "5: hooks means nothing here",
        "4: model means nothing here",
        "6: neither a model may choose it nor people call it",
    ]


def test_a_plan_creates_no_sub_agents(tmp_path: Path) -> None:
    more = "metadata:\n  router.mode: plan\n  router.subagents: 3"
    write(tmp_path, f"{HEAD}\n{more}")
    (remark,) = remarks(load_all([tmp_path]), ())
    assert remark.what.startswith("router.subagents has no use by a plan")
