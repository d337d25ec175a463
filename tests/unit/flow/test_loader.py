from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from router.domain.errors import DefinitionError, Problem
from router.flow.definition import DEFAULT_IDLE
from router.flow.loader import LARGEST, UnmadeFlow, load_all, load_flow, load_flows, looked_at
from tests.table import each_row

FLOWS = Path(__file__).parents[3] / "flows"
TEXT = '{zh: "好", en: "well"}'
SOUND = """\
flow: holiday
title: {zh: "好", en: "well"}
description: {zh: "好", en: "well"}
slots:
  start: {type: date, ask: {zh: "好", en: "well"}}
start: details
states:
  details: {collect: [start], next: done}
  done: {say: {zh: "好", en: "well"}, end: completed}
"""


def written(folder: Path, content: str | bytes, name: str = "holiday") -> Path:
    path = folder / f"{name}.yaml"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def problems(path: Path) -> list[Problem]:
    with pytest.raises(DefinitionError) as caught:
        load_flow(path)
    return caught.value.problems


def test_the_flows_of_this_project_load() -> None:
    catalog = load_flows(FLOWS)
    names = ("business_trip", "equipment_request", "leave_request", "reimbursement")
    assert tuple(flow.flow for flow in catalog) == names


def test_a_sound_file_becomes_a_definition_that_survives_json(tmp_path: Path) -> None:
    flow = load_flow(written(tmp_path, SOUND))
    assert type(flow).model_validate_json(flow.model_dump_json()) == flow
    assert flow.states["details"].exits()["next"][0].to == "done"


def test_what_is_optional_and_has_a_question_of_its_own_can_be_skipped(tmp_path: Path) -> None:
    more = f"""slots:
  note: {{type: text, required: false, ask: {TEXT}}}
  extra: {{type: text, required: false}}
  days: {{type: date, required: false, ask: {TEXT}, lookup: slots.start}}
"""
    text = SOUND.replace("slots:\n", more).replace("[start]", "[start, note, extra, days]")
    flow = load_flow(written(tmp_path, text))
    assert [name for name, slot in flow.slots.items() if slot.skippable] == ["note"]


def test_a_text_that_is_no_flow_is_read_once_however_often_it_is_looked_at(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    text, made = "- a\n" * 100 + f"# {'long ' * 20_000}", list[int]()
    composed = YAML.compose

    def noted(*given: Any) -> Any:
        made.append(1)
        return composed(*given)

    monkeypatch.setattr(YAML, "compose", noted)
    found = [looked_at(Path("holiday.yaml"), text) for _ in range(2)]
    assert isinstance(found[0], UnmadeFlow)
    assert found[0].document is not None
    assert found[0].document.data == ["a"] * 100
    assert (found[1], made) == (found[0], [1])


@each_row(("line", "idle"), [("", DEFAULT_IDLE), ("idle: PT2H", timedelta(hours=2))])
def test_a_file_says_when_silence_ends_a_run_or_three_days_do(
    tmp_path: Path, line: str, idle: timedelta
) -> None:
    assert load_flow(written(tmp_path, f"{SOUND}{line}\n")).idle == idle


def test_words_are_written_out_once_and_for_all(tmp_path: Path) -> None:
    triggers = r"""triggers:
  words: {KIND: '(?:年|病)', LEAVE: '{KIND}假'}
  patterns: ['请{LEAVE}', '^{LEAVE}{1,2}$', '\p{Han}{KIND}\{KIND}']
  unless: ['{KIND}级']
"""
    flow = load_flow(written(tmp_path, SOUND + triggers))
    assert flow.triggers.patterns == (
        "请(?:年|病)假",
        "^(?:年|病)假{1,2}$",
        r"\p{Han}(?:年|病)\{KIND}",
    )
    assert flow.triggers.unless == ("(?:年|病)级",)
    assert "words" not in flow.model_dump_json()
    assert type(flow).model_validate_json(flow.model_dump_json()) == flow


def test_a_problem_with_a_word_is_told_where_the_word_stands(tmp_path: Path) -> None:
    triggers = (
        "triggers:\n  words:\n    KIND: '(年'\n  patterns:\n    - '{KIND}假'\n    - '{KINDS}'\n"
    )
    found = problems(written(tmp_path, SOUND + triggers))
    assert [(p.line, p.what, p.remedy) for p in found] == [
        (
            12,
            "the word KIND isn't RE2: missing ): (年",
            "see https://github.com/google/re2/wiki/Syntax",
        ),
        (15, "there is no word KINDS for '{KINDS}'", "did you mean KIND?"),
    ]


def test_every_problem_is_told_at_once_in_the_order_of_the_lines(tmp_path: Path) -> None:
    bad = SOUND.replace("flow: holiday", "flow: holidays").replace("end: completed", "end: complet")
    bad = bad.replace("[start]", "[strat]").replace(', en: "well"}\ndesc', "}\ndesc")
    found = problems(written(tmp_path, bad))
    assert [(p.line, p.remedy) for p in found] == [
        (1, "call the file holidays.yaml, or the flow holiday"),
        (2, 'add en: "…"'),
        (5, "add it to a collect, give it a lookup, or say required: false"),
        (8, "did you mean start?"),
        (9, "did you mean completed?"),
    ]
    assert str(found[0]).startswith(f"{tmp_path}/holiday.yaml:1: the flow is called holidays")


@each_row(
    ("content", "line", "what"),
    [
        (b"", 1, "this is empty"),
        (b"# nothing but a comment\n", 1, "this is empty"),
        (b"- a\n- b\n", 1, "this is a list"),
        (b"just words", 1, "this is a str"),
        (b"flow: \xff\xfe", 1, "isn't UTF-8"),
        ("flow: a\ntitle: 请假".encode("gbk"), 2, "isn't UTF-8"),
        (SOUND.encode("utf-16"), 1, "isn't UTF-8"),
        (b"x" * (LARGEST + 1), 1, "over 128 KiB"),
        (b"a: " + b"y" * 10_000_000, 1, "over 128 KiB"),
        (b"flow: a\n\tversion: 1", 2, "a tab"),
        (b"[" * 100_000, 1, "deep"),
        (b"flow: \x00", 1, "U+0000"),
        (b"flow: !!python/object/apply:os.system [ls]", 1, "isn't allowed"),
    ],
)
def test_hostile_files_are_refused_with_file_line_and_reason(
    tmp_path: Path, content: bytes, line: int, what: str
) -> None:
    found = problems(written(tmp_path, content))
    assert any(p.line == line and what in p.what for p in found), found
    assert all(p.remedy for p in found)


def test_a_byte_order_mark_does_no_harm(tmp_path: Path) -> None:
    assert load_flow(written(tmp_path, b"\xef\xbb\xbf" + SOUND.encode())).flow == "holiday"


def test_a_link_to_nothing_says_where_it_leads(tmp_path: Path) -> None:
    link = tmp_path / "holiday.yaml"
    link.symlink_to(tmp_path / "gone.yaml")
    (problem,) = problems(link)
    assert "gone.yaml, which it links to" in problem.what


def test_a_folder_named_like_a_file_is_no_flow(tmp_path: Path) -> None:
    (tmp_path / "holiday.yaml").mkdir()
    assert "no such file" in problems(tmp_path / "holiday.yaml")[0].what


@each_row("missing", ["flow", "title", "description", "start", "states"])
def test_a_missing_key_is_named(tmp_path: Path, missing: str) -> None:
    lines = [line for line in SOUND.splitlines() if not line.startswith(f"{missing}:")]
    if missing == "states":
        lines = [line for line in lines if not line.startswith(("  details", "  done"))]
    found = problems(written(tmp_path, "\n".join(lines)))
    assert any(p.what == f"{missing} is missing" for p in found), found


def test_all_flows_of_a_folder_are_loaded_but_not_those_within_its_folders(tmp_path: Path) -> None:
    written(tmp_path, SOUND)
    (tmp_path / "tests").mkdir()
    written(tmp_path / "tests", "- a story")
    assert len(load_flows(tmp_path)) == 1


def test_problems_of_all_files_are_told_together(tmp_path: Path) -> None:
    written(tmp_path, "", "one")
    written(tmp_path, "", "two")
    (tmp_path / "three.yml").write_text(SOUND)
    with pytest.raises(DefinitionError) as caught:
        load_flows(tmp_path)
    files = {Path(p.file).name for p in caught.value.problems}
    assert files == {"one.yaml", "two.yaml", "three.yml"}


def test_two_flows_of_one_name_are_refused(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        written(tmp_path / name, SOUND)
    with pytest.raises(DefinitionError, match=r"there is a flow holiday in .* already"):
        load_all([tmp_path / "a", tmp_path / "b"])


def test_a_place_named_twice_is_read_once(tmp_path: Path) -> None:
    path = written(tmp_path, SOUND)
    assert len(load_all([tmp_path, path])) == 1


def test_a_folder_that_is_not_there_is_a_problem(tmp_path: Path) -> None:
    with pytest.raises(DefinitionError, match="no such file"):
        load_flows(tmp_path / "gone")
