"""`intent-router route`: explanations for people and for programs."""

import io
import json
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest
import typer

from router.cli.dry_run import said
from router.cli.options import moment
from router.cli.route import readable
from router.domain.errors import InvalidInput
from tests.fakes.model_server import Behaviour, ModelServer, calls, fails, rate_limits
from tests.unit.cli.conftest import Run

NOW = ("--now", "2026-11-18T10:00+08:00")
Stdin = Callable[[bytes], None]


@pytest.fixture
def stdin(monkeypatch: pytest.MonkeyPatch) -> Stdin:
    """Sets what the command reads."""

    def given(content: bytes) -> None:
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(content)))

    return given


def test_json_is_the_explanation_that_the_api_gives(run: Run) -> None:
    explanation = run.json("route", "我要请年假，下周一到周三", "--json", *NOW)
    assert explanation["text"] == "我要请年假，下周一到周三"
    decided = {"kind": "flow", "target": "leave_request", "by": "pattern"}
    assert decided.items() <= explanation["decision"].items()
    values = [entity["value"] for entity in explanation["entities"]]
    assert {"start": "2026-11-23", "end": "2026-11-25"} in values


def test_for_people_the_decision_comes_first(run: Run) -> None:
    shown = run.printed("route", "I want to take annual leave tomorrow", "--user", "frank", *NOW)
    assert shown.startswith("flow leave_request, by pattern (confidence 1.00)\n")
    assert "2026-11-19" in shown


@pytest.mark.slow
def test_of_several_wishes_all_are_shown_with_what_is_left_to_be_decided(run: Run) -> None:
    text = "帮我请下周一的年假，顺便帮我报销昨天打车58块，另外告诉我食堂几点开饭"
    explanation = run.json("route", text, "--json", *NOW)
    decisions = explanation["decisions"]
    targets = [decision.get("target") for decision in decisions]
    assert targets[:2] == ["leave_request", "reimbursement"]
    assert explanation["decision"] == decisions[0]
    assert decisions[0]["slots"]["start"] == "2026-11-23"
    assert "items" in decisions[1]["slots"]
    assert explanation["rest"] == "告诉我食堂几点开饭"
    assert decisions[2]["kind"] == "clarify"
    shown = run.printed("route", text, *NOW)
    assert "flow reimbursement, by pattern" in shown
    assert "left      告诉我食堂几点开饭" in shown


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "amounts"),
    [
        ("报销打车费1,234.50", ["1234.50"]),
        ("reimburse my hotel bill 12,000", ["12000.00"]),
        ("报销打车费1,234.50，酒店 2,000", ["1234.50", "2000.00"]),
        ("报销打车费120，350", ["120.00", "350.00"]),
        ("报销两张打车票 100,200", ["100.00", "200.00"]),
        ("报销三张打车票 100,200,300", ["100.00", "200.00", "300.00"]),
    ],
)
def test_a_comma_between_thousands_splits_no_amount(
    run: Run, text: str, amounts: list[str]
) -> None:
    items = run.json("route", text, "--json", *NOW)["decision"]["slots"]["items"]
    assert [item["amount"]["amount"] for item in items] == amounts


def test_what_no_rule_takes_gets_a_choice(run: Run) -> None:
    assert run.json("route", "qwertyuiop", "--json")["decision"]["kind"] == "clarify"


def test_what_was_considered_is_listed_best_first(run: Run, elsewhere: Path) -> None:
    candidates = run.json("route", "年假余额情况", "--json")["candidates"]
    scores = [candidate["score"] for candidate in candidates]
    assert (candidates[0]["kind"], candidates[0]["name"]) == ("tool", "get_leave_balance")
    assert scores == sorted(scores, reverse=True)
    assert not list(elsewhere.iterdir())  # a single text isn't worth encoding what there is


@pytest.mark.slow
def test_vectors_of_an_earlier_command_are_searched_too(
    run: Run, model: ModelServer, stdin: Stdin, elsewhere: Path
) -> None:
    stdin("年假余额情况\n".encode())
    hybrid = run.json("route", "-")["candidates"]
    asked = len(model.requests)
    again = run.json("route", "年假余额情况", "--json")["candidates"]
    assert (elsewhere / ".data" / "vectors.db").exists()
    assert again == hybrid
    assert [one.path for one in model.requests[asked:]] == ["/v1/embeddings"]  # of the message


@pytest.mark.slow
def test_a_model_decides_what_rules_cannot(run: Run, model: ModelServer) -> None:
    model.then(calls(("get_leave_balance", {"leave_type": "annual"})))
    explanation = run.json("route", "我还有几天年假可休", "--json", "--llm", *NOW)
    reason = explanation["decision"].pop("reason")
    assert "其次是" in reason
    assert "scripted 选了它（提示词 router-1@" in reason
    assert explanation["decision"] == {
        "kind": "tool",
        "target": "get_leave_balance",
        "by": "llm",
        "slots": {"leave_type": "annual"},
    }
    assert "get_leave_balance" in [candidate["name"] for candidate in explanation["candidates"]]


def test_a_model_is_not_asked_what_rules_decide(run: Run, model: ModelServer) -> None:
    assert run.json("route", "我要请假", "--json", "--llm")["decision"]["by"] == "pattern"
    assert model.requests == []


@pytest.mark.slow
def test_lines_of_stdin_are_decided_by_the_model_one_after_the_other(
    run: Run, model: ModelServer, stdin: Stdin, monkeypatch: pytest.MonkeyPatch
) -> None:
    # By the scripted vectors anything is near to anything: nothing counts as meant.
    Path("strict.json").write_text('{"known": 1}')
    monkeypatch.setenv("ROUTER_THRESHOLDS", "strict.json")
    asked = calls(("ask_clarification", {"text": "Which?", "options": ["this", "that"]}))
    model.then(calls(("respond_message", {"text": "Hello!"})), asked)
    stdin(b"hello\nwhat did I claim\n")
    lines = run("route", "-", "--llm").out.split("\n")[:2]
    assert [json.loads(line)["decision"]["kind"] for line in lines] == ["reply", "clarify"]


@pytest.mark.slow
@pytest.mark.parametrize("behaviour", [fails(401, "bad key"), rate_limits("60"), fails(500)])
def test_a_model_that_was_asked_for_is_not_done_without(
    run: Run, model: ModelServer, behaviour: Behaviour
) -> None:
    model.then(*[behaviour] * 3)
    told = run.refused("route", "hello", "--llm")
    assert told.startswith("error: no model answered: scripted at http://127.0.0.1:")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("", "error: the text can't be a message: it is empty"),
        ("\n\t ", "error: the text can't be a message: it is empty"),
        ("a" * 8001, "8001 characters"),
        ("a\x07b", "U+0007"),
        ("\udcff", "error: the text isn't UTF-8"),
    ],
)
def test_what_cannot_be_routed_says_why(run: Run, text: str, line: str) -> None:
    assert line in run.refused("route", text)


def test_lines_of_stdin_get_a_line_of_json_each_and_none_get_none(run: Run, stdin: Stdin) -> None:
    stdin(b"")
    assert run.printed("route", "-") == ""
    stdin("我要请假\r\nI want to claim expenses".encode())
    answers = [json.loads(line) for line in run.printed("route", "-", *NOW).splitlines()]
    assert [(answer["text"], answer["decision"]["target"]) for answer in answers] == [
        ("我要请假", "leave_request"),
        ("I want to claim expenses", "reimbursement"),
    ]


def test_bad_lines_are_answered_too_and_the_others_as_well(run: Run, stdin: Stdin) -> None:
    stdin("请假\n\n".encode() + b"\xff\n" + "请病假\n".encode())
    outcome = run("route", "-")
    assert outcome.status == 1
    assert outcome.first_line.startswith("error: 2 of the lines can't be explained")
    good, empty, broken, last = map(json.loads, outcome.out.splitlines())
    assert good["decision"]["target"] == last["decision"]["target"] == "leave_request"
    why = "the text can't be a message: it is empty or only white space"
    assert empty == {"text": "", "error": why}
    assert "UTF-8" in broken["error"]


def test_a_time_without_zone_is_the_speakers() -> None:
    assert moment("2026-11-18T10:00", "Asia/Shanghai").utcoffset() == timedelta(hours=8)
    assert moment("2026-11-18T10:00Z", "Asia/Shanghai").isoformat() == "2026-11-18T18:00:00+08:00"
    with pytest.raises(typer.BadParameter):
        moment("18/11/2026", "Asia/Shanghai")


def test_said_gives_the_text_back_as_it_is() -> None:
    assert said(" 请假\t") == " 请假\t"
    with pytest.raises(InvalidInput):
        said(" ")


def test_readable_shows_everything_that_was_found() -> None:
    decision = {"kind": "flow", "target": "f", "by": "pattern", "confidence": 1.0}
    explained = {
        "patterns": [{"flow": "f", "pattern": "p", "span": [0, 2], "blocked_by": "how"}],
        "entities": [{"type": "number", "text": "二", "span": [3, 4], "value": "2"}],
        "candidates": [{"kind": "tool", "name": "t", "score": 0.5}],
        "decision": {**decision, "reason": "because", "slots": {"a": 1, "b": "x"}},
    }
    assert readable(explained) == (
        "flow f, by pattern (confidence 1.00)\n"
        "  because   because\n"
        "  slots     a = 1\n"
        '            b = "x"\n'
        "  patterns  f: p at 0–2, blocked by how\n"
        "  entities  number '二' at 3–4: \"2\"\n"
        "  others    tool t (0.50)"
    )
