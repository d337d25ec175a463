"""What differs between two versions of a flow: every change is said, in words that people know."""

import re
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from router.domain.locale import LOCALES, Locale, Localised
from router.drawing import graph_of, svg_of
from router.drawing.flowchart import EXITS
from router.drawing.svg import MARKS
from router.extensions.authoring.difference import LABELS, FlowDifference, difference
from router.extensions.authoring.new_name import with_new_name
from router.flow.definition import Branch, FlowDefinition, State
from router.flow.loader import examine_text
from router.flow.states import FILE_MODELS
from router.flow.validation import Vocabulary
from router.formats.data_edit import RenameKey
from router.formats.yaml_document import read_yaml
from router.runtime.definitions import load_registry, vocabulary
from router.settings import Settings
from tests.samples import one_in
from tests.table import each_row

FLOW = """\
flow: overtime
version: 1
title: {zh: "加班申请", en: "Overtime"}
description: {zh: "登记加班", en: "Log overtime"}
triggers:
  roles: [employee]
  patterns: ['^overtime']
  examples: ["log overtime"]
slots:
  hours:
    type: number
    label: {zh: "小时", en: "Hours"}
    ask: {zh: "几小时？", en: "How many?"}
    check:
      - that: "slots.hours <= 12.0"
        say: {zh: "太多了", en: "That is too many."}
  kind:
    type: choice
    ask: {zh: "哪种？", en: "Which kind?"}
    choices:
      weekday: {label: {zh: "工作日", en: "weekday"}}
      holiday: {label: {zh: "节假日", en: "holiday"}}
start: gather
states:
  gather: {collect: [hours, kind], next: agree}
  agree:
    name: {zh: "经理审批", en: "Manager decides"}
    approve:
      by: manager(requester)
      title: {zh: "{{ shown.hours }} 小时", en: "{{ shown.hours }} hours"}
      remind_every: PT24H
      expire_after: P14D
    approved:
      - {if: "slots.hours > 8.0", name: {zh: "超过 8 小时", en: "more than 8 hours"}, to: second}
      - to: noted
    rejected: turned_down
    expired: turned_down
  second:
    name: {zh: "总监审批", en: "Director decides"}
    approve: {by: "role('director')", title: {zh: "审批", en: "Decide"}}
    approved: noted
    rejected: turned_down
  noted: {say: {zh: "已登记", en: "Noted."}, end: completed}
  turned_down: {say: {zh: "没有批准", en: "Turned down."}, end: rejected}
"""


@pytest.fixture(scope="module")
def known() -> Vocabulary:
    return vocabulary(load_registry(Settings(_env_file=None)))


def read(text: str, known: Vocabulary) -> FlowDefinition:
    file = examine_text(Path("flows/overtime.yaml"), text, known)
    assert list(map(str, file.problems)) == []
    return file.definition


PEOPLE = {
    "manager(requester)": Localised(zh="申请人的经理", en="their manager"),
    "role('hr')": Localised(zh="人事", en="HR"),
}

EDITS: dict[str, tuple[str, str, list[str], list[str]]] = {
    "who-approves": (
        "by: manager(requester)",
        "by: role('hr')",
        ["“Manager decides”: who approves was “their manager” and is “HR” now."],
        ["“经理审批”：审批人由“申请人的经理”改为“人事”。"],
    ),
    "a-reminder": (
        "remind_every: PT24H",
        "remind_every: PT48H",
        ["“Manager decides”: how often they are reminded was 1 d and is 2 d now."],
        ["“经理审批”：多久催一次由1 天改为2 天。"],
    ),
    "no-reminder": (
        "      remind_every: PT24H\n",
        "",
        ["“Manager decides”: how often they are reminded was 1 d; now there is none."],
        ["“经理审批”：多久催一次原为1 天，现在没有了。"],
    ),
    "a-check-s-limit": (
        "slots.hours <= 12.0",
        "slots.hours <= 3.0",
        ["“Hours”: “That is too many.” has another limit, 12.0 ▸ 3.0."],
        ["“小时”：“太多了”的界限由 12.0 改为 3.0。"],
    ),
    "a-check-of-another-kind": (
        "slots.hours <= 12.0",
        "slots.kind == 'holiday'",
        ["“Hours”: “That is too many.” is decided in another way."],
        ["“小时”：“太多了”的判断方式变了。"],
    ),
    "a-check-s-words": (
        "That is too many.",
        "Too many!",
        [
            "“Hours”, the checks: now without “That is too many.”.",
            "“Hours”, the checks: now with “Too many!”.",
        ],
        ["“小时”：告知的话（英文）由“That is too many.”改为“Too many!”。"],
    ),
    "a-branch-s-limit": (
        "slots.hours > 8.0",
        "slots.hours > 6.0",
        ["“Manager decides”: “more than 8 hours” has another limit, 8.0 ▸ 6.0."],
        ["“经理审批”：“超过 8 小时”的界限由 8.0 改为 6.0。"],
    ),
    "where-it-leads": (
        "rejected: turned_down\n    expired",
        "rejected: gather\n    expired",
        ["“Manager decides”, rejected: it led to “turned_down”; it leads to “gather” now."],
        ["“经理审批”，拒绝：原先去“turned_down”，现在去“gather”。"],
    ),
    "a-text": (
        'en: "Noted."',
        'en: "It is noted."',
        ["“noted”: what is said was “Noted.” and is “It is noted.” now."],
        ["“noted”：告知的话（英文）由“Noted.”改为“It is noted.”。"],
    ),
    "what-is-filled-in": (
        "{{ shown.hours }} hours",
        "{{ slots.hours }} hours",
        ["“Manager decides”: the title has something else filled in."],
        ["“经理审批”：标题里填入的内容变了。"],
    ),
    "a-state-s-name-in-words": (
        'en: "Manager decides"',
        'en: "Boss decides"',
        ["“Boss decides”: its name was “Manager decides” and is “Boss decides” now."],
        ["“经理审批”：步骤名（英文）由“Manager decides”改为“Boss decides”。"],
    ),
    "another-question": (
        "How many?",
        "How long?",
        ["“Hours”: the question was “How many?” and is “How long?” now."],
        ["“小时”：问法（英文）由“How many?”改为“How long?”。"],
    ),
    "a-choice-less": (
        '      holiday: {label: {zh: "节假日", en: "holiday"}}\n',
        "",
        ["“kind”, the choices: now without “holiday”."],
        ["“kind”：选项去掉“节假日”。"],
    ),
    "not-required": (
        "type: choice\n",
        "type: choice\n    required: false\n",
        ["“kind”: whether it is required was yes and is no now."],
        ["“kind”：是否必填由是改为否。"],
    ),
    "patterns-are-counted": (
        "['^overtime']",
        "['^overtime', '^extra']",
        ["The flow: the patterns that start it: 1 added, 0 taken out."],
        ["流程：触发句式增加 1 条，减少 0 条。"],
    ),
    "who-may-start-it": (
        "roles: [employee]",
        "roles: [hr]",
        [
            "The flow, the roles that may: now with “hr”.",
            "The flow, the roles that may: now without “employee”.",
        ],
        ["流程：可以发起或告知的角色增加“hr”。", "流程：可以发起或告知的角色去掉“employee”。"],
    ),
    "a-comment": (
        "start: gather",
        "# Why not.\nstart: gather",
        ["No step, slot or text is another: only how the file is written."],
        ["步骤、内容和文字都没有变，只是文件写法不同。"],
    ),
}


def told(before: str, after: str, locale: Locale, known: Vocabulary) -> FlowDifference:
    return difference(read(before, known), read(after, known), locale, PEOPLE)


@pytest.mark.slow
@each_row(("old", "new", "en", "zh"), EDITS.values(), ids=EDITS)
def test_an_edit_is_said_in_words(
    old: str, new: str, en: list[str], zh: list[str], known: Vocabulary
) -> None:
    assert FLOW.count(old) == 1
    after = FLOW.replace(old, new)
    assert list(told(FLOW, after, "en", known).sentences) == en
    assert list(told(FLOW, after, "zh", known).sentences) == zh


EXPRESSION = re.compile(r"slots\.|requester\b|==|\{\{|\{%")


@each_row(("old", "new"), [each[:2] for each in EDITS.values()], ids=EDITS)
@each_row("locale", LOCALES)
def test_no_expression_is_shown_where_it_has_a_name(
    old: str, new: str, locale: Locale, known: Vocabulary
) -> None:
    said = " ".join(told(FLOW, FLOW.replace(old, new), locale, known).sentences)
    assert not EXPRESSION.search(said)


def test_a_renamed_state_is_one_that_was_renamed_and_everything_that_leads_to_it_is_as_it_was(
    known: Vocabulary,
) -> None:
    after = FLOW.replace("turned_down", "declined")
    found = told(FLOW, after, "en", known)
    assert found.sentences == ("The step “turned_down” is called “declined” in the file now.",)
    assert (found.added, found.removed, dict(found.changed)) == (frozenset(), frozenset(), {})


def test_a_renamed_slot_is_one_that_was_renamed_wherever_it_is_read(known: Vocabulary) -> None:
    after = FLOW.replace("slots.hours", "slots.length").replace("  hours:\n", "  length:\n")
    after = after.replace("[hours, kind]", "[length, kind]").replace("shown.hours", "shown.length")
    found = told(FLOW, after, "en", known)
    assert found.sentences == ("The slot “hours” is called “length” in the file now.",)


def test_states_that_are_new_gone_and_others_are_told_apart(known: Vocabulary) -> None:
    after = FLOW.replace("  second:\n", "  third:\n").replace("to: second", "to: third")
    after = after.replace("role('director')", "role('hr')").replace("总监审批", "人事审批")
    found = told(FLOW, after.replace("Director decides", "HR decides"), "en", known)
    assert found.added == {"third"}
    assert found.removed == {"second"}
    assert found.changed == {"agree": "agree"}
    assert "There is a new step: “HR decides” (asks for approval)." in found.sentences
    assert "A step is gone: “Director decides” (asks for approval)." in found.sentences


def test_a_flow_that_there_was_not_is_new_as_a_whole(known: Vocabulary) -> None:
    found = difference(None, read(FLOW, known), "en")
    assert found.sentences == ("This flow is new: 5 steps, 2 slots.",)
    assert found.marks_after == dict.fromkeys(read(FLOW, known).states, "added")


@each_row("locale", LOCALES)
def test_marks_are_said_in_the_picture_and_explained_below_it(
    locale: Locale, known: Vocabulary
) -> None:
    after = FLOW.replace("  second:\n", "  third:\n").replace("to: second", "to: third")
    after = after.replace("role('director')", "role('hr')").replace("总监审批", "人事审批")
    found = told(FLOW, after, locale, known)
    pictures = {
        "before": (FLOW, found.marks_before, {"removed", "changed"}),
        "after": (after, found.marks_after, {"added", "changed"}),
    }
    for text, marks, there in pictures.values():
        drawn = svg_of(graph_of(read(text, known), locale, plain=True), marks=marks)
        root = ET.fromstring(drawn)
        texts = [each.text or "" for each in root.iter("{http://www.w3.org/2000/svg}text")]
        for mark, words in MARKS.items():
            count = sum(words.within(locale) == each for each in texts)
            assert count == (list(marks.values()).count(mark) + 1 if mark in there else 0)
        assert float(root.attrib["height"]) > 0


def test_a_picture_without_marks_has_no_legend(known: Vocabulary) -> None:
    assert 'class="legend' not in svg_of(graph_of(read(FLOW, known), "en"))


def test_every_key_of_a_flow_file_has_words_here() -> None:
    whole = {"flow", "version", "triggers", "slots", "states", "words", "approve", "wait"}
    keys = {
        info.alias or name
        for model in FILE_MODELS
        if model not in {State, Branch}
        for name, info in model.model_fields.items()
    }
    ways = {key for key in keys if key in EXITS} - {"otherwise"}
    left = {key for key in keys - whole - ways if not key.startswith("=")} - {"that"}
    assert left - LABELS.keys() == set()


LABELLED = [
    (path, name)
    for path in [*sorted(Path("flows").glob("*.yaml")), Path("flows/gallery/certificate.yaml")]
    for name, slot in read_yaml(path.read_text()).data["slots"].items()
    if "label" in slot
]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("path", "name"), one_in(4, LABELLED), ids=[f"{p.stem}.{n}" for p, n in LABELLED]
)
def test_of_a_slot_that_is_only_called_otherwise_that_alone_is_said(path: Path, name: str) -> None:
    text = path.read_text()
    edit = RenameKey(place=("slots", name), key="another_name")
    renamed, _ = with_new_name(text, "", edit)
    before, after = (examine_text(path, each).definition for each in (text, renamed))

    found = difference(before, after, "en")

    said = f"The slot “{name}” is called “another_name” in the file now."
    assert (found.sentences, found.changed) == ((said,), {})
