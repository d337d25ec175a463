"""`intent-router route`: explanations for people and for programs."""

import io
import json
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


@pytest.fixture
def stdin(monkeypatch: pytest.MonkeyPatch) -> "Stdin":
    return Stdin(monkeypatch)


class Stdin:
    """What the command reads."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._monkeypatch = monkeypatch

    def __call__(self, content: bytes) -> None:
        self._monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(content)))


def test_json_is_the_explanation_that_the_api_gives(run: Run) -> None:
    outcome = run("route", "我要请年假，下周一到周三", "--json", *NOW)
    assert (outcome.status, outcome.err) == (0, "")
    explanation = json.loads(outcome.out)
    assert explanation["text"] == "我要请年假，下周一到周三"
    assert explanation["decision"]["kind"] == "flow"
    assert explanation["decision"]["target"] == "leave_request"
    assert explanation["decision"]["by"] == "pattern"
    assert {"start": "2026-11-23", "end": "2026-11-25"} in [
        entity["value"] for entity in explanation["entities"]
    ]


def test_for_people_the_decision_comes_first(run: Run) -> None:
    outcome = run("route", "I want to take annual leave tomorrow", "--user", "frank", *NOW)
    assert outcome.status == 0
    assert outcome.out.startswith("flow leave_request, by pattern (confidence 1.00)\n")
    assert "2026-11-19" in outcome.out


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
    items = json.loads(run("route", text, "--json", *NOW).out)["decision"]["slots"]["items"]
    assert [item["amount"]["amount"] for item in items] == amounts


def test_what_no_rule_takes_gets_a_choice(run: Run) -> None:
    outcome = run("route", "qwertyuiop", "--json")
    assert outcome.status == 0
    assert json.loads(outcome.out)["decision"]["kind"] == "clarify"


def test_what_was_considered_is_listed_best_first(run: Run, elsewhere: Path) -> None:
    explanation = json.loads(run("route", "年假余额情况", "--json").out)
    scores = [candidate["score"] for candidate in explanation["candidates"]]
    assert explanation["candidates"][0]["name"] == "get_leave_balance"
    assert explanation["candidates"][0]["kind"] == "tool"
    assert scores == sorted(scores, reverse=True)
    assert not list(elsewhere.iterdir())  # a single text isn't worth encoding what there is


def test_vectors_of_an_earlier_command_are_searched_too(
    run: Run, model: ModelServer, stdin: Stdin, elsewhere: Path
) -> None:
    stdin("年假余额情况\n".encode())
    hybrid = json.loads(run("route", "-").out)["candidates"]
    asked = len(model.requests)
    again = json.loads(run("route", "年假余额情况", "--json").out)["candidates"]
    assert (elsewhere / ".data" / "vectors.db").exists()
    assert again == hybrid
    assert [one.path for one in model.requests[asked:]] == ["/v1/embeddings"]  # of the message


def test_a_model_decides_what_rules_cannot(run: Run, model: ModelServer) -> None:
    model.then(calls(("get_leave_balance", {"leave_type": "annual"})))
    outcome = run("route", "我的假还剩几天来着", "--json", "--llm", *NOW)
    assert (outcome.status, outcome.err) == (0, "")
    explanation = json.loads(outcome.out)
    reason = explanation["decision"].pop("reason")
    assert reason.startswith("由 scripted 选定，提示词 router-1@")
    assert explanation["decision"] == {
        "kind": "tool",
        "target": "get_leave_balance",
        "by": "llm",
        "slots": {"leave_type": "annual"},
        "confidence": 1.0,
    }
    assert "get_leave_balance" in [candidate["name"] for candidate in explanation["candidates"]]


def test_a_model_is_not_asked_what_rules_decide(run: Run, model: ModelServer) -> None:
    assert (
        json.loads(run("route", "我要请假", "--json", "--llm").out)["decision"]["by"] == "pattern"
    )
    assert model.requests == []


def test_lines_of_stdin_are_decided_by_the_model_one_after_the_other(
    run: Run, model: ModelServer, stdin: Stdin
) -> None:
    model.then(calls(("respond_message", {"text": "Hello!"})), calls(("get_my_claims", {})))
    stdin(b"hello\nwhat did I claim\n")
    kinds = [
        json.loads(line)["decision"]["kind"]
        for line in run("route", "-", "--llm").out.split("\n")[:2]
    ]
    assert kinds == ["reply", "tool"]


@pytest.mark.parametrize("behaviour", [fails(401, "bad key"), rate_limits("60"), fails(500)])
def test_a_model_that_was_asked_for_is_not_done_without(
    run: Run, model: ModelServer, behaviour: Behaviour
) -> None:
    model.then(*[behaviour] * 3)
    outcome = run("route", "hello", "--llm")
    assert (outcome.status, outcome.out) == (1, "")
    assert outcome.first_line.startswith("error: no model answered: scripted at http://127.0.0.1:")


def test_llm_without_a_model_says_how_to_have_one(run: Run) -> None:
    outcome = run("route", "我要请假", "--llm")
    assert (outcome.status, outcome.out) == (1, "")
    assert outcome.first_line == (
        "error: --llm needs a model and none is configured: set ROUTER_LLM_MODEL, and "
        "ROUTER_LLM_BASE_URL or ROUTER_LLM_API_KEY (docs/models.md), or leave --llm out"
    )


@pytest.mark.parametrize(
    ("words", "status", "line"),
    [
        (["route", ""], 1, "error: the text can't be a message: it is empty"),
        (["route", "\n\t "], 1, "error: the text can't be a message: it is empty"),
        (["route", "a" * 8001], 1, "8001 characters"),
        (["route", "a\x07b"], 1, "U+0007"),
        (["route", "\udcff"], 1, "error: the text isn't UTF-8"),
        (["route", "请假", "--user", "alicia"], 1, "did you mean alice?"),
        (["route", "请假", "--now", "tomorrow"], 2, "--now 'tomorrow' is no ISO 8601 time"),
    ],
)
def test_what_cannot_be_routed_says_why(run: Run, words: list[str], status: int, line: str) -> None:
    outcome = run(*words)
    assert (outcome.status, outcome.out) == (status, "")
    assert line in outcome.first_line


def test_lines_of_stdin_get_a_line_of_json_each(run: Run, stdin: Stdin) -> None:
    stdin("我要请假\r\nI want to claim expenses".encode())
    outcome = run("route", "-", *NOW)
    assert (outcome.status, outcome.err) == (0, "")
    answers = [json.loads(line) for line in outcome.out.splitlines()]
    assert [answer["text"] for answer in answers] == ["我要请假", "I want to claim expenses"]
    assert [answer["decision"]["target"] for answer in answers] == [
        "leave_request",
        "reimbursement",
    ]


def test_bad_lines_are_answered_too_and_the_others_as_well(run: Run, stdin: Stdin) -> None:
    stdin("请假\n\n".encode() + b"\xff\n" + "请病假\n".encode())
    outcome = run("route", "-")
    assert outcome.status == 1
    assert outcome.first_line.startswith("error: 2 of the lines can't be explained")
    good, empty, broken, last = map(json.loads, outcome.out.splitlines())
    assert good["decision"]["target"] == last["decision"]["target"] == "leave_request"
    assert empty == {
        "text": "",
        "error": "the text can't be a message: it is empty or only white space",
    }
    assert "UTF-8" in broken["error"]


def test_nothing_on_stdin_is_nothing_to_do(run: Run, stdin: Stdin) -> None:
    stdin(b"")
    outcome = run("route", "-")
    assert (outcome.status, outcome.out, outcome.err) == (0, "", "")


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
    text = readable(
        {
            "patterns": [{"flow": "f", "pattern": "p", "span": [0, 2], "blocked_by": "how"}],
            "entities": [{"type": "number", "text": "二", "span": [3, 4], "value": "2"}],
            "candidates": [{"kind": "tool", "name": "t", "score": 0.5}],
            "decision": {
                "kind": "flow",
                "target": "f",
                "by": "pattern",
                "confidence": 1.0,
                "reason": "because",
                "slots": {"a": 1, "b": "x"},
            },
        }
    )
    assert text == (
        "flow f, by pattern (confidence 1.00)\n"
        "  because   because\n"
        "  slots     a = 1\n"
        '            b = "x"\n'
        "  patterns  f: p at 0–2, blocked by how\n"
        "  entities  number '二' at 3–4: \"2\"\n"
        "  others    tool t (0.50)"
    )
