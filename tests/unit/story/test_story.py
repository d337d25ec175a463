"""Stories: read, told, judged, and what of a flow they come by."""

import re
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from router.domain.errors import DefinitionError
from router.domain.messages import Message
from router.domain.run_history import HistoryEntry
from router.flow.definition import FlowDefinition
from router.flow.validation.phrases import said_in
from router.formats.yaml_document import read_yaml
from router.story.coverage import (
    Coverage,
    TakenTransitions,
    Transition,
    coverages,
    taken_in,
    transitions_of,
)
from router.story.coverage import told as report
from router.story.entries import (
    BEGINS,
    STEPS,
    BotStep,
    CardStep,
    EventBody,
    Expectation,
    ExpectStep,
    ModelAnswer,
    RunExpectation,
    StoryNames,
    ToldStep,
    ToolStep,
)
from router.story.expectations import (
    Divergence,
    Mismatch,
    ObservedCall,
    Seen,
    ShownCard,
    Standing,
    StoryOutcome,
    judge,
    told,
)
from router.story.loader import LARGEST, load_stories, read_stories
from router.story.story import Story, StoryStep
from tests.table import each_row

CHINESE = re.compile("[\u4e00-\u9fff]")
BADGE = FlowDefinition.model_validate(
    {
        "flow": "badge",
        "title": {"zh": "门卡", "en": "Badge"},
        "description": {"zh": "办门卡", "en": "A badge"},
        "slots": {"name": {"type": "text", "ask": {"zh": "谁？", "en": "Who?"}}},
        "start": "details",
        "states": {
            "details": {"collect": ["name"], "next": "review"},
            "review": {
                "confirm": {"zh": "办吗？", "en": "Shall I?"},
                "declined": "details",
                "confirmed": [{"if": "slots.name == 'bob'", "to": "make"}, {"to": "tell_no"}],
            },
            "make": {"call": "make_badge", "next": "tell_yes", "on_error": "tell_no"},
            "tell_yes": {"say": {"zh": "好了", "en": "Done"}, "end": "completed"},
            "tell_no": {"say": {"zh": "不行", "en": "No"}, "end": "rejected"},
        },
    }
)
KNOWN = StoryNames(("alice", "bob"), ("make_badge", "find_badge"), {"badge": BADGE})


def read(text: str) -> tuple[list[Story], list[str]]:
    """The stories in the text, and its faults as `line: what; remedy`."""
    document = read_yaml(text)
    stories, faults = read_stories(document, "badge.yaml", KNOWN)
    assert (stories, faults) == read_stories(document, "badge.yaml", KNOWN), "it was changed"
    return stories, [f"{fault.line}: {fault.what}; {fault.remedy}" for fault in faults]


def test_a_story_names_tools_that_only_an_mcp_server_knows() -> None:
    known = replace(KNOWN, prefixes=("lookup__",))
    text = "- story: a\n  tool_answers: {lookup__find: 7, lookup_find: 7}\n  steps: [{user: x}]"
    _, faults = read_stories(read_yaml(text), "badge.yaml", known)
    assert [f"{fault.what}; {fault.remedy}" for fault in faults] == [
        "'lookup_find' is no tool; did you mean lookup__…?"
    ]


def history(*moves: str) -> list[HistoryEntry]:
    """A history of `event state`, in that order."""
    at = datetime.fromisoformat("2026-11-18T10:00+08:00")
    pairs = (move.split() for move in moves)
    return [HistoryEntry(at=at, state=state, event=event) for event, state in pairs]


WHOLE = """
- story: a badge
  user: bob
  locale: en
  now: 2026-12-01T09:00+08:00
  tool_fails: {make_badge: transient}
  steps:
    - user: a badge, please
"""


def test_a_story_says_who_talks_in_which_language_and_when_it_begins(tmp_path: Path) -> None:
    (tmp_path / "badge.yaml").write_text(WHOLE)
    (story,) = load_stories([tmp_path], KNOWN)
    assert (story.file, story.line) == (str(tmp_path / "badge.yaml"), 2)
    assert (story.name, story.user, story.locale) == ("a badge", "bob", "en")
    assert story.now == datetime.fromisoformat("2026-12-01T09:00+08:00")
    assert story.failing == {"make_badge": "transient"}


def test_what_a_story_leaves_out_is_alice_on_a_wednesday_in_her_language() -> None:
    (story,), _ = read("- story: a\n  steps: [{user: hello}]")
    assert (story.user, story.locale, story.now, story.failing) == ("alice", None, BEGINS, {})


@each_row(
    "text",
    [
        "- story: a badge\n  steps:\n    - user: hello",
        "- a badge:\n    - user: hello",
        "a badge:\n  - user: hello",
    ],
)
def test_a_bare_list_of_steps_under_its_name_is_a_story(text: str) -> None:
    (story,), faults = read(text)
    assert (story.name, [*map(str, story.steps)], faults) == ("a badge", ["user: hello"], [])


def test_a_story_has_a_model_where_a_step_scripts_one_if_only_to_be_asked_nothing() -> None:
    (plain, modelled), _ = read(
        "- story: a\n  steps: [{user: x}]\n- story: b\n  steps: [{user: x, model: []}]"
    )
    assert (plain.has_model, modelled.has_model) == (False, True)


def acts(**action: object) -> dict[str, Message]:
    return {"user": Message.model_validate({"action": action})}


def meant(**fields: Any) -> Any:
    """The step of the fields, of which the first tells its sort."""
    return STEPS[next(iter(fields))].model_construct(**fields)


@each_row(
    ("step", "fields"),
    [
        ("user: hello", {"user": Message(text="hello")}),
        (
            "{user: hello, model: [{says: Hi, sees: [a, /b+/]}, {call: {find: {of: b}, list: }}]}",
            {
                "user": Message(text="hello"),
                "model": (
                    ModelAnswer(says="Hi", sees=["a", "/b+/"]),
                    ModelAnswer(call={"find": {"of": "b"}, "list": {}}),
                ),
            },
        ),
        (
            "{user: hello, model: [{call: [{find: {of: bob}}, {find: {of: alice}}]}]}",
            {
                "user": Message(text="hello"),
                "model": (ModelAnswer(call=[{"find": {"of": "bob"}}, {"find": {"of": "alice"}}]),),
            },
        ),
        ("{user: hello, model: []}", {"user": Message(text="hello"), "model": ()}),
        ("user: {confirm: true}", acts(type="confirm", value=True, question="")),
        ("user: {choose: annual}", acts(type="choose", value="annual")),
        ("user: {form: {days: 3}}", acts(type="form", values={"days": 3})),
        ("user: {start: badge}", acts(type="start", flow="badge")),
        (
            "user: {type: start, flow: badge, slots: {name: bob}}",
            acts(type="start", flow="badge", slots={"name": "bob"}),
        ),
        ("bot: 请确认", {"bot": ("请确认",)}),
        ("bot: [one, /t(w)o/]", {"bot": ("one", "/t(w)o/")}),
        (
            "expect: {status: completed}",
            {"expect": RunExpectation.model_construct(status="completed")},
        ),
        ("{approver: bob, decides: approve}", {"approver": "bob", "decides": "approve"}),
        ("approver: {bob: approve}", {"approver": "bob", "decides": "approve"}),
        (
            "{approver: {bob: delegate}, to: alice, comment: yours}",
            {"approver": "bob", "decides": "delegate", "comment": "yours", "to": "alice"},
        ),
        ("after: PT24H", {"after": timedelta(days=1)}),
        ("tool: make_badge", {"tool": "make_badge", "arguments": {}, "times": None}),
        (
            "{tool: make_badge, with: {name: bob}, times: 2}",
            {"tool": "make_badge", "arguments": {"name": "bob"}, "times": 2},
        ),
        ("tool_fails: {make_badge: no}", {"tool_fails": {"make_badge": "no"}}),
        ("tool_fails: {make_badge: false}", {"tool_fails": {"make_badge": "no"}}),
        (
            "tool_answers: {make_badge: {number: 7}, find_badge: null}",
            {"tool_answers": {"make_badge": {"number": 7}, "find_badge": None}},
        ),
        ("{withdraw: true, comment: never mind}", {"withdraw": True, "comment": "never mind"}),
        ("nudge: true", {"nudge": True}),
        (
            "{card: bob, shows: {Days: 3}, changes: {Until: [22, /2./]}}",
            {"card": "bob", "shows": {"Days": "3"}, "changes": {"Until": ("22", "/2./")}},
        ),
        ("{told: bob, how: reminded}", {"told": "bob", "how": "reminded"}),
        (
            "event: {name: paid, amount: 3}",
            {"event": EventBody.model_construct(name="paid", amount=3)},
        ),
    ],
)
def test_every_sort_of_step_is_read(step: str, fields: dict[str, Any]) -> None:
    (story,), faults = read(f"- story: a\n  steps:\n    - {step}")
    assert (faults, story.steps) == ([], (StoryStep(3, "", meant(**fields)),))


STEP = "- story: a\n  steps:\n    - "

HOSTILE = [
    ("", "1: a file of stories is a list of them, and this is empty"),
    ("just words", "1: a file of stories is a list of them, and this is a text"),
    ("[]", "1: a file of stories is a list of them, and this is empty"),
    ("- hello", "1: 'hello' is no story; write - story: a name"),
    ("steps: []", "1: the story 'steps' has no steps"),
    ("story: a", "1: story stands outside a story"),
    ("- story: a", "1: the story 'a' has no steps; write some"),
    ("- steps: [{user: x}]", "1: the story's name is empty; write a text"),
    ("- story: a\n  steps: {}", "2: the story 'a' has no steps"),
    ("- story: a\n  usr: bob\n  steps: [{user: x}]", "2: there is no key usr here; did you mean"),
    ("- story: a\n  user: bbo\n  steps: [{user: x}]", "2: 'bbo' is no user of the directory; did"),
    ("- story: a\n  locale: fr\n  steps: [{user: x}]", "2: 'fr' is no language; there are en, zh"),
    ("- story: a\n  now: soon\n  steps: [{user: x}]", "2: 'soon' is no date and time"),
    ("- story: a\n  now: 0001-01-01\n  steps: [{user: x}]", "2: '0001-01-01' is no date and time"),
    ("- story: a\n  tool_fails: make_badge\n  steps: [{user: x}]", "2: 'make_badge' are no keys"),
    ("- a: [{user: x}]\n- a: [{user: x}]", "2: there is a story 'a' on line 1 already; rename"),
    ("- story: a\n  story: b\n  steps: [{user: x}]", "2: story comes twice"),
    (STEP + "hello", "3: 'hello' is no step"),
    (STEP + "{}", "3: {} is no step"),
    (STEP + "{use: hello}", "3: no step has use; did you mean user?"),
    (STEP + "{user: a, bot: b}", "3: this is user and bot at once"),
    (STEP + "{user: a, comment: b}", "3: there is no key comment here; there are user"),
    (STEP + "user: 3", "3: what the user says is 3; write a text, in quotes"),
    (STEP + "user: ' '", "3: what the user says is ' '"),
    (STEP + f"user: {'a' * 8001}", "3: what the user says is over 8,000 characters; shorten it"),
    (
        STEP + "approver: {bob: approve, comment: ok}",
        "3: comment stands within approver; `comment:` and `to:` go beside `approver:`",
    ),
    (STEP + "user: {press: yes}", "3: 'press: yes' is nothing to press; write {confirm: true}"),
    (STEP + "user: {confirm: perhaps}", "3: 'confirm: perhaps' is nothing to press"),
    (STEP + "{user: a, model: hello}", "3: 'hello' is no list; write [{says"),
    (STEP + "{user: a, model: [{}]}", "3: it answers nothing; write {says"),
    (STEP + "{user: a, model: [{say: x}]}", "3: there is no key say here; did you mean says?"),
    (STEP + "{user: a, model: [{call: find}]}", "3: 'find' is no call; write {get_weather"),
    (STEP + "{user: a, model: [{call: {find: bob}}]}", "3: what find is called with is 'bob'"),
    (STEP + "{user: a, model: [{call: []}]}", "3: nothing is called; write"),
    (STEP + "{user: a, model: [{says: x, sees: /a(/}]}", "3: /a(/ is no RE2 expression"),
    (STEP + "bot: []", "3: what the bot says is []"),
    (STEP + "bot: ''", "3: what the bot says is ''"),
    (STEP + "bot: 58", "3: what the bot says is 58"),
    (STEP + "bot: /a(b/", "3: /a(b/ is no RE2 expression: missing )"),
    (STEP + "bot: ['a', '/(?=b)/']", "3: /(?=b)/ is no RE2 expression"),
    (STEP + "expect: {}", "3: nothing is expected; say flow, status"),
    (STEP + "expect: completed", "3: 'completed' are no keys and values"),
    (STEP + "expect: {stat: x}", "3: there is no key stat here; did you mean stat"),
    (STEP + "expect: {status: done}", "3: 'done' is no status"),
    (STEP + "expect: {flow: badge, state: revew}", "3: 'revew' is no state of badge; did you mean"),
    (STEP + "expect: {flow: badge, slots: {nam: x}}", "3: 'nam' is no slot of badge; did you mean"),
    (STEP + "expect: {slots: 3}", "3: 3 are no keys and values; write {days: 3}"),
    (STEP + "expect: {approvers: [zoe]}", "3: 'zoe' is no user of the directory"),
    (STEP + "approver: bob", "3: empty is no decision; there are add, approve"),
    (STEP + "approver: {bob: aprove}", "3: 'aprove' is no decision; did you mean approve?"),
    (STEP + "approver: {zoe: approve}", "3: 'zoe' is no user of the directory; there are"),
    (STEP + "approver: {bob: delegate}", "3: who delegates names nobody in to; add to: <user>"),
    (STEP + "{approver: {bob: approve}, to: alice}", "3: who approves names someone in to"),
    (STEP + "{approver: {bob: approve}, comment: 3}", "3: the comment is 3"),
    (STEP + "after: 24h", "3: '24h' is no time that can pass; write it like PT24H"),
    (STEP + "after: 24", "3: 24 is no time that can pass"),
    (STEP + "after: -PT1H", "3: '-PT1H' is no time that can pass"),
    (STEP + "after: PT0S", "3: 'PT0S' is no time that can pass"),
    (STEP + "after: P99999999Y", "3: 'P99999999Y' is no time that can pass"),
    (STEP + "tool: make_bage", "3: 'make_bage' is no tool; did you mean make_badge?"),
    (STEP + "{tool: make_badge, times: -1}", "3: -1 is no number of times"),
    (STEP + "{tool: make_badge, times: true}", "3: True is no number of times"),
    (STEP + "{tool: make_badge, with: bob}", "3: 'bob' are no keys and values"),
    (STEP + "tool_fails: {make_badge: badly}", "3: 'badly' is no way to fail; there are argument"),
    (STEP + "tool_fails: {make_bage: permanent}", "3: 'make_bage' is no tool; did you mean"),
    (STEP + "tool_answers: {make_bage: 1}", "3: 'make_bage' is no tool; did you mean"),
    (STEP + "tool_answers: 7", "3: 7 are no keys and values; write {reserve_room"),
    ("- story: a\n  tool_answers: [1]\n  steps: [{user: x}]", "2: [1] are no keys and values"),
    (STEP + "withdraw: false", "3: it is False; write true, or leave the step out"),
    (STEP + "nudge: please", "3: it is 'please'; write true"),
    (STEP + "card: zoe", "3: 'zoe' is no user of the directory"),
    (STEP + "{card: bob, shows: 3}", "3: 3 are no labels and values; write {Until"),
    (STEP + "{card: bob, shows: {Days: /a(/}}", "3: /a(/ is no RE2 expression"),
    (STEP + "{card: bob, changes: [1]}", "3: [1] are no labels and values"),
    (STEP + "{card: bob, changes: {Days: 3}}", "3: the change of Days is 3; write Days: [what"),
    (STEP + "{card: bob, changes: {Days: [1, /a(/]}}", "3: /a(/ is no RE2 expression"),
    (STEP + "told: bob", "3: empty is no way to be told; there are added, asked, copied"),
    (STEP + "{told: bob, how: reminder}", "3: 'reminder' is no way to be told; did you mean"),
    (STEP + "event: paid", "3: 'paid' are no keys and values; write {name: paid"),
    (STEP + "event: {amount: 3}", "3: the event's name is empty"),
    (STEP + "!!python/object:os.system {user: x}", "3: the tag"),
]


@pytest.mark.slow
@each_row(("text", "fault"), HOSTILE)
def test_a_bad_file_is_refused_with_line_and_remedy(text: str, fault: str) -> None:
    _, faults = read(text)
    assert any(found.startswith(fault) for found in faults), faults
    for found in read_stories(read_yaml(text), "badge.yaml", KNOWN)[1]:
        for said in (found.what, found.remedy):
            assert CHINESE.search(said_in("zh", said)) or said.startswith("write {"), said
    assert all("; " in found for found in faults)


def test_everything_wrong_is_said_at_once_in_the_order_of_lines() -> None:
    _, faults = read("- story: a\n  usr: b\n  steps:\n    - bott: x\n    - after: soon\n")
    assert [found.partition(":")[0] for found in faults] == ["2", "4", "5"]


@pytest.mark.parametrize(
    ("name", "content", "fault"),
    [
        ("a.yaml", b"\xff\xfe", "a.yaml:1: this isn't UTF-8"),
        ("a.yaml", b"- {", "a.yaml:1: this isn't YAML"),
        ("a.yaml", b"a: " + b"[" * 300, "a.yaml:1: things are nested"),
        ("a.yaml", b"#" * (LARGEST + 1), "a.yaml:1: it is over 256 KiB; split it"),
        ("a.yaml", b"&a [*a]", "a.yaml:1: an alias contains itself"),
        ("a.yml", b"", "a.yml:1: it isn't read; call it .yaml"),
        ("a.txt", b"", ":1: there is no story; write one"),
    ],
)
def test_what_is_no_story_is_refused(tmp_path: Path, name: str, content: bytes, fault: str) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(DefinitionError) as refused:
        load_stories([tmp_path], KNOWN)
    assert fault in str(refused.value)


def test_a_path_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DefinitionError, match="there is no such file; check the path"):
        load_stories([tmp_path / "nowhere.yaml"], KNOWN)


TAKEN = (
    StoryStep(4, "user: a badge", meant(user=Message(text="a badge"))),
    StoryStep(5, "bot: Who?", meant(bot=("Who?",))),
)
STORY = Story("a badge", "badge.yaml", 2, TAKEN)


def test_a_story_that_went_another_way_says_where_and_how_it_stands() -> None:
    assert list(told(StoryOutcome(STORY, 0.514))) == ["ok       0.51 s  a badge"]
    standing = Standing("badge", "collecting", "details", {"days": 3}, ("name",))
    gone = Divergence(TAKEN, Mismatch(["Who?"], ["For whom?"]), ("Hello", "For whom?"), standing)
    assert list(told(StoryOutcome(STORY, 1.0, gone))) == [
        "failed   1.00 s  a badge  badge.yaml:2",
        "    at badge.yaml:5: bot: Who?",
        "      - Who?",
        "      + For whom?",
        "    the bot had said",
        "      | Hello",
        "      | For whom?",
        "    before it",
        "         4  user: a badge",
        "    now badge is collecting in details, asking for name",
        '        {"days": 3}',
    ]


def test_a_story_that_went_another_way_is_told_in_chinese_as_well() -> None:
    standing = Standing("badge", "waiting_approval", "review", {}, (), ("bob",))
    missed = judge(called(name="bob"), Seen())
    assert missed is not None
    gone = Divergence(TAKEN, missed, ("Hello",), standing)
    assert list(told(StoryOutcome(STORY, 1.0, gone), "zh")) == [
        "没通过      1.00 s  a badge  badge.yaml:2",
        "    在 badge.yaml:5: bot: Who?",
        '      - make_badge，调用至少一次，参数 {"name": "bob"}',
        "      + 没有调用；调用过的是：什么也没有",
        "    机器人说过",
        "      | Hello",
        "    在这之前",
        "         4  user: a badge",
        "    现在 badge 在 review（waiting_approval），在等 bob",
    ]


def test_what_was_said_is_not_said_twice_and_nothing_stands_before_a_first_step() -> None:
    gone = Divergence(TAKEN[:1], Mismatch(["user: a badge"], ["it was refused"]))
    assert list(told(StoryOutcome(STORY, 1.0, gone)))[1:] == [
        "    at badge.yaml:4: user: a badge",
        "      - user: a badge",
        "      + it was refused",
        "    now no flow was started",
    ]


SLOTS = {"name": None, "days": 3.0, "urgent": 1}
ASKED = Standing("badge", "collecting", "details", SLOTS, ("name",))


def told_of(step: Expectation, seen: Seen) -> Mismatch | None:
    """What speaks against the step, in English; in Chinese it says as much."""
    found = judge(step, seen)
    if found is None:
        return None
    assert [*map(len, found.within("zh"))] == [*map(len, found.within("en"))]
    return Mismatch(*found.within("en"))


def says(*patterns: str) -> BotStep:
    return BotStep.model_construct(bot=patterns)


def stands(**wanted: Any) -> ExpectStep:
    return ExpectStep.model_construct(expect=RunExpectation.model_construct(**wanted))


def called(times: int | None = None, **arguments: Any) -> ToolStep:
    return ToolStep.model_construct(tool="make_badge", arguments=arguments, times=times)


@each_row(
    "patterns",
    [("请确认",), ("请确认", "年假"), ("/确.*假/",), ("请", "确认", "吗"), ("年假\n提交",)],
)
def test_what_was_said_in_that_order_is_found(patterns: tuple[str, ...]) -> None:
    assert judge(says(*patterns), Seen(said=["请确认：年假", "提交吗"])) is None


def test_what_was_said_in_another_order_never_or_once_before_is_told_apart() -> None:
    said = ["one two"]
    assert told_of(says("two", "one"), Seen(said)) == Mismatch(["one, after two"], ["one two"])
    assert told_of(says("three"), Seen(said)) == Mismatch(["three"], ["one two"])
    assert told_of(says("three"), Seen()) == Mismatch(["three"], ["nothing"])
    heard = Seen(["yes"])
    assert judge(says("yes"), heard) is None
    assert judge(says("yes"), heard) is not None


@each_row(
    "wanted",
    [
        {"status": "collecting"},
        {"flow": "badge", "state": "details", "awaiting": ["name"], "approvers": []},
        {"slots": {"days": 3}},
        {"slots": {"name": None, "unheard_of": None}},
        {"slots": {}},
    ],
)
def test_a_run_that_stands_so_is_as_expected_whatever_else_there_is(wanted: dict[str, Any]) -> None:
    assert judge(stands(**wanted), Seen(standings=[ASKED])) is None


@each_row(
    ("wanted", "expected", "found"),
    [
        ({"status": "completed"}, "status: completed", "status: collecting"),
        ({"slots": {"days": 4}}, "slots.days: 4", "slots.days: 3.0"),
        ({"slots": {"days": "3"}}, "slots.days: 3", "slots.days: 3.0"),
        ({"slots": {"urgent": True}}, "slots.urgent: true", "slots.urgent: 1"),
        ({"slots": {"name": "bob"}}, "slots.name: bob", "slots.name: null"),
        ({"awaiting": []}, "awaiting: []", 'awaiting: ["name"]'),
        ({"awaiting": ["days"]}, "awaiting.0: days", "awaiting.0: name"),
    ],
)
def test_differences_are_said_by_place(wanted: dict[str, Any], expected: str, found: str) -> None:
    assert told_of(stands(**wanted), Seen(standings=[ASKED])) == Mismatch([expected], [found])


def test_of_several_runs_the_newest_of_the_flow_that_is_named_is_looked_at() -> None:
    seen = Seen(standings=[Standing("leave", "confirming", "review"), ASKED])
    assert judge(stands(flow="badge", status="collecting"), seen) is None
    assert judge(stands(status="confirming"), seen) is None
    assert judge(stands(status="collecting"), seen) is not None
    none = Mismatch(["status: running"], ["no flow was started"])
    assert told_of(stands(status="running"), Seen()) == none


def test_a_run_that_only_looks_something_up_is_no_request() -> None:
    looked_up = Standing("balance", "completed", "tell", looks_up=True)
    seen = Seen(standings=[looked_up, ASKED])
    assert judge(stands(status="collecting"), seen) is None
    assert judge(stands(flow="balance", status="completed"), seen) is None
    assert judge(stands(status="completed"), Seen(standings=[looked_up])) is None


CARDS = [
    ShownCard("bob", {"Until": "23 Dec", "Days": "3"}, {"Until": ("22 Dec", "23 Dec")}),
    ShownCard("carol", {"Until": "1 Jan 2027"}, {}),
]


def card(person: str, **wanted: Any) -> CardStep:
    known = StoryNames(["bob", "carol", "dave"], [], {})
    return CardStep.model_validate({"card": person, **wanted}, context=known)


@each_row(
    "step",
    [
        card("bob", shows={"Until": "23", "Days": 3}),
        card("bob", shows={"Until": "/Dec$/"}),
        card("bob", changes={"Until": ["22 Dec", "/^23 /"]}),
        card("carol", changes={}),
    ],
)
def test_a_card_that_shows_this_is_as_expected_whatever_else_it_shows(step: CardStep) -> None:
    assert judge(step, Seen(cards=list(CARDS))) is None


@each_row(
    ("step", "difference"),
    [
        (card("dave"), Mismatch(["a card for dave"], ["cards for bob, carol"])),
        (
            card("carol", shows={"Until": "2 Jan"}),
            Mismatch(["Until: 2 Jan"], ["Until: 1 Jan 2027"]),
        ),
        (
            card("bob", changes={}),
            Mismatch(["no change"], ["Until: 22 Dec → 23 Dec"]),
        ),
        (
            card("carol", changes={"Until": [31, 1]}),
            Mismatch(["Until: 31 → 1"], ["no change"]),
        ),
    ],
)
def test_a_card_that_shows_something_else_is_told(step: CardStep, difference: Mismatch) -> None:
    assert told_of(step, Seen(cards=list(CARDS))) == difference


def test_who_was_told_of_what_since_the_last_act_is_found() -> None:
    known = StoryNames(["bob", "dave"], [], {})
    copied = ToldStep.model_validate({"told": "dave", "how": "copied"}, context=known)
    assert judge(copied, Seen(told=[("bob", "asked"), ("dave", "copied")])) is None
    missed = Mismatch(["dave: copied"], ["bob: asked"])
    assert told_of(copied, Seen(told=[("bob", "asked")])) == missed
    assert told_of(copied, Seen()) == Mismatch(["dave: copied"], ["nobody was told anything"])


CALLS = [ObservedCall("make_badge", {"name": "bob", "days": 3.0}), ObservedCall("find_badge", {})]


@each_row(
    "step", [called(), called(1), called(name="bob"), called(1, days=3), called(0, name="zoe")]
)
def test_calls_are_counted_by_the_arguments_that_are_named(step: ToolStep) -> None:
    assert judge(step, Seen(calls=list(CALLS))) is None


def test_calls_that_were_not_made_or_too_often_are_told_with_those_that_were() -> None:
    assert told_of(called(2, name="bob"), Seen(calls=list(CALLS))) == Mismatch(
        ['make_badge, called 2 times with {"name": "bob"}'],
        ["1 such calls", 'with {"name": "bob", "days": 3.0}'],
    )
    assert told_of(called(), Seen(calls=CALLS[1:])) == Mismatch(
        ["make_badge, called at least once"], ["no call; called was find_badge"]
    )


BEGUN = ("began details", "next review")
HAPPY = history(*BEGUN, "confirmed make", "next tell_yes", "completed tell_yes")


def test_every_branch_of_every_exit_is_a_transition() -> None:
    assert [str(way) for way in transitions_of(BADGE)] == [
        "details.next ▸ review",
        "review.confirmed ▸ make",
        "review.confirmed ▸ tell_no",
        "review.declined ▸ details",
        "make.next ▸ tell_yes",
        "make.on_error ▸ tell_no",
    ]


def test_a_history_says_which_were_taken() -> None:
    taken = taken_in(BADGE, HAPPY)
    assert taken.states == {"details", "review", "make", "tell_yes"}
    begun = Transition("details", "next", "review")
    confirmed = Transition("review", "confirmed", "make")
    assert taken.transitions == {begun, confirmed, Transition("make", "next", "tell_yes")}
    # Lines that lead nowhere, and corrections.
    corrected = history(*BEGUN, "reminded review", "changed details", "next review")
    assert taken_in(BADGE, corrected).transitions == {begun}
    # An end that is named like an exit.
    refused = taken_in(BADGE, history(*BEGUN, "confirmed tell_no", "rejected tell_no"))
    assert refused.transitions == {begun, Transition("review", "confirmed", "tell_no")}


def test_coverage_names_what_no_story_took() -> None:
    (found,) = coverages([BADGE], {"badge": taken_in(BADGE, HAPPY)})
    assert found.states == ["tell_no"]
    assert list(report([found])) == [
        " 63 %  badge",
        "       no story comes to tell_no",
        "       no story takes review.confirmed ▸ tell_no",
        "       no story takes review.declined ▸ details",
        "       no story takes make.on_error ▸ tell_no",
    ]


def test_a_flow_that_no_story_has_is_there_with_nothing_and_only_all_of_it_is_a_hundred() -> None:
    (found,) = coverages([BADGE], {})
    assert found.share == 0
    assert len(found.states) + len(found.transitions) == found.parts
    everything = TakenTransitions(frozenset(BADGE.states), frozenset(transitions_of(BADGE)))
    assert list(report([Coverage(BADGE, everything)])) == ["100 %  badge"]


EVENTS = ["began", "next", "confirmed", "declined", "on_error", "changed", "nudged"]
STATES = [*BADGE.states, "gone"]
LINES = st.lists(st.builds("{} {}".format, st.sampled_from(EVENTS), st.sampled_from(STATES)))


@pytest.mark.slow
@given(LINES, LINES)
def test_only_transitions_of_the_flow_are_ever_counted(one: list[str], other: list[str]) -> None:
    first = taken_in(BADGE, history(*one))
    both = first | taken_in(BADGE, history(*other))
    assert both.states <= BADGE.states.keys()
    assert both.transitions <= set(transitions_of(BADGE))
    assert Coverage(BADGE, both).share >= Coverage(BADGE, first).share
