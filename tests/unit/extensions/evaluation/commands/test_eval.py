"""`eval`: labelled messages, figures, and what its page says of them."""

import asyncio
import inspect
import json
import re
import shlex
import sqlite3
import stat
from contextlib import closing
from dataclasses import fields
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from router.domain.messages import ChoicesReply, Message, Option, Route, Turn
from router.domain.records import ConversationRecord, LogEntry
from router.extensions.evaluation.commands.routing import evaluate
from router.extensions.evaluation.dataset import TARGETLESS, LabelledLine
from router.retrieval.selection import Thresholds
from router.store.database import Database
from router.store.store import Store
from router.store.tables import ROUTER
from tests.fakes.model_server import ModelServer, calls, fails, rate_limits, says
from tests.unit.cli.conftest import Run

LEAVE = {"text": "我要请假", "label": "leave_request"}
CLAIM = {"text": "报销打车费58元", "label": "reimbursement"}
HELLO = {"text": "hello there", "label": "reply"}
UNUSUAL = (
    {"text": "年假剩多少对吧", "label": "get_leave_balance"},
    {"text": "同事的邮箱", "label": "find_colleague"},
    {"text": "1 + 1 等于几", "label": "calculate"},
    {"text": "唱首歌吧", "label": "none"},
    {"text": "tell me a joke", "label": "none"},
    LEAVE,
)
"""Lines that rules mostly don't take."""
AT = datetime(2026, 11, 18, 2, tzinfo=UTC)


def written(*lines: dict[str, Any], name: str = "dev.jsonl") -> str:
    content = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)
    Path(name).write_text(content, encoding="utf-8")
    return name


def report(folder: str = "report") -> dict[str, Any]:
    read: dict[str, Any] = json.loads(Path(folder, "report.json").read_text(encoding="utf-8"))
    return read


def keep(conversation: str, owner: str, text: str, chosen: str) -> None:
    """A message that was asked about, and the button that was pressed then."""
    Path(".data").mkdir(exist_ok=True)
    asyncio.run(_kept(conversation, owner, text, chosen))


async def _kept(conversation: str, owner: str, text: str, chosen: str) -> None:
    database = Database("sqlite:///.data/router.db")
    await database.migrate(ROUTER)
    store = Store(database)
    record = ConversationRecord(
        id=conversation, tenant="default", owner=owner, locale="zh", created_at=AT
    )
    await store.conversations.create(record)
    options = [Option(label="…", value=chosen), Option(label="…", value="leave_request")]
    asked = Turn(
        message_id="m1",
        turn=1,
        route=Route(kind="clarify", by="retrieval"),
        replies=[ChoicesReply(text="?", options=options)],
    )
    pressed = Turn(message_id="m2", turn=2, route=Route(kind="flow", target=chosen, by="action"))
    rows = _rows(conversation, text, Message(text=text).digest, asked)
    await store.log.append("default", [*rows, *_rows(conversation, "…", "pressed", pressed)])
    await database.dispose()


def _rows(conversation: str, text: str, digest: str, turn: Turn) -> list[LogEntry]:
    at, key = AT + timedelta(minutes=turn.turn - 1), f"{conversation}:{turn.message_id}"
    about: dict[str, Any] = {"at": at, "conversation": conversation, "message_id": turn.message_id}
    whole: dict[str, Any] = {"digest": digest, "turn": turn.model_dump(mode="json")}
    return [
        LogEntry(key=f"{key}:user", kind="message", data={"role": "user", "text": text}, **about),
        LogEntry(key=f"{key}:turn", kind="turn", data=whole, **about),
    ]


pytestmark = pytest.mark.usefixtures("vectors")


@pytest.mark.slow
def test_a_file_is_routed_and_its_figures_are_printed(run: Run) -> None:
    file = written(LEAVE, CLAIM, {"text": "今天天气不错", "label": "none"})
    lines = run.printed("eval", file).splitlines()
    assert lines[0].split() == ["label", "lines", "precision", "recall", "F1"]
    assert "accuracy    100.0 % (3 of 3; 0 more offered)" in lines
    assert "model       0 calls, 0 + 0 tokens" in lines


@pytest.mark.slow
def test_the_report_is_a_page_a_picture_and_numbers(run: Run) -> None:
    wrong = {"text": "我要报销", "label": "leave_request"}
    printed = run.printed("eval", written(LEAVE, wrong), "--report", "deep/report")
    assert "report      deep/report/report.html" in printed
    page = Path("deep/report/report.html").read_text(encoding="utf-8")
    assert "我要报销" in page
    assert "<svg" in page
    assert Path("deep/report/confusion.svg").read_text(encoding="utf-8").startswith("<svg")
    numbers = report("deep/report")
    assert numbers["accuracy"] == {"right": 1, "of": 2, "share": 0.5}
    assert numbers["confusion"] == {"leave_request": {"leave_request": 1, "reimbursement": 1}}
    assert (numbers["by"], numbers["about"]["model"]) == ({"pattern": 2}, None)
    assert {
        file.name for file in Path("deep/report").iterdir() if f"`{file.name}`" not in PAGE
    } == set()


@pytest.mark.slow
def test_slots_and_entities_are_compared_exactly(run: Run) -> None:
    on = {"now": "2026-11-18T10:00+08:00"}
    monday = {"text": "我要请年假，下周一到周三", "label": "leave_request", **on}
    slots = {"leave_type": "annual", "start": "2026-11-23", "end": "2026-11-24"}
    money = {"type": "money", "value": {"amount": "58.00", "currency": "CNY"}}
    file = written({**monday, "slots": slots}, {"text": "58元", "entities": [money]})
    outcome = run("eval", file)
    assert "slot        0.0 % (0 of 1) leave_request.end" in outcome.out
    assert "slot        100.0 % (1 of 1) leave_request.start" in outcome.out
    assert "entities    100.0 % (1 of 1 lines exact)" in outcome.out


@pytest.mark.slow
def test_each_line_is_said_by_whom_and_when_it_says(run: Run) -> None:
    mine = {"text": "I want to take leave tomorrow", "label": "leave_request"}
    theirs = {**mine, "user": "frank", "now": "2026-11-20T10:00+08:00"}
    file = written(
        {**mine, "slots": {"start": "2026-11-19"}}, {**theirs, "slots": {"start": "2026-11-21"}}
    )
    outcome = run("eval", file, "--user", "dave", "--now", "2026-11-18T10:00+08:00")
    assert "slot        100.0 % (2 of 2) leave_request.start" in outcome.out


@pytest.mark.slow
def test_what_is_asked_back_is_wrong_but_counted_where_it_was_offered(run: Run) -> None:
    text = "我还有几天年假可休"
    outcome = run("eval", written({"text": text, "label": "get_leave_balance"}))
    assert f"line 1: get_leave_balance, came to clarify, and offered it: {text}" in outcome.out
    assert "accuracy    0.0 % (0 of 1; 1 more offered)" in outcome.out
    assert "selection   100.0 % nearest, 100.0 % among the candidates, of 1" in outcome.out


@pytest.mark.slow
def test_one_split_of_a_file_can_be_taken(run: Run) -> None:
    file = written({**LEAVE, "split": "dev"}, {**CLAIM, "split": "test"})
    assert "(1 of 1;" in run("eval", file, "--split", "test").out
    told = run.refused("eval", file, "--split", "train")
    assert told.endswith("is on no line of dev.jsonl: it has dev, test")


@pytest.mark.slow
@pytest.mark.parametrize(("least", "status"), [("0.5", 0), ("0.50001", 1), ("1", 1), ("0", 0)])
def test_an_accuracy_below_what_was_asked_ends_with_1(run: Run, least: str, status: int) -> None:
    file = written(LEAVE, {"text": "我要报销", "label": "leave_request"})
    outcome = run("eval", file, "--at-least", least, "--report", "report")
    assert outcome.status == status
    assert "accuracy    50.0 %" in outcome.out
    assert report()["lines"] == 2
    if status:
        assert outcome.first_line == (
            f"error: accuracy 0.5 is below --at-least {least}: 1 of 2 lines are wrong"
        )


@pytest.mark.slow
@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "error: bad.jsonl:1: has no labelled line"),
        (b'{"text": "a", "label": "leave"}', "error: bad.jsonl:1: label 'leave' is nothing"),
        (b'{"text": "a\\u0007", "label": "none"}', "control character U+0007"),
        (b'{"text": "a", "label": "none", "user": "eve"}', "user 'eve' isn't in the directory"),
        (
            b'{"text": "a", "label": "leave_request", "slots": {"begin": 1}}',
            "slot 'begin' isn't one of leave_request; leave_request has days, ",
        ),
        (
            b'{"text": "a", "label": "get_leave_balance", "slots": {"type": 1}}',
            "get_leave_balance has leave_type, on",
        ),
    ],
)
def test_a_bad_file_is_refused_before_routing(run: Run, content: bytes, said: str) -> None:
    Path("bad.jsonl").write_bytes(content)
    assert said in run.refused("eval", "bad.jsonl")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "status", "said"),
    [
        ("nowhere.jsonl", 1, "nowhere.jsonl can't be read (No such file or directory)"),
        (".", 1, ". can't be read (Is a directory)"),
        ("dev.jsonl --report dev.jsonl", 1, "--report dev.jsonl can't be written"),
        ("dev.jsonl --user eve", 1, "--user 'eve' isn't in the directory"),
        ("dev.jsonl --now soon", 2, "--now 'soon' is no ISO 8601 time"),
        ("dev.jsonl --at-least 90", 2, "'--at-least': Input should be less than or equal to 1"),
        ("dev.jsonl --llm", 1, "--llm needs a model and none is configured"),
        ("dev.jsonl --fit nowhere.jsonl", 1, "nowhere.jsonl can't be read"),
        ("", 2, "Missing argument 'FILE.jsonl'"),
    ],
)
def test_what_cannot_be_evaluated_says_why(run: Run, words: str, status: int, said: str) -> None:
    written(LEAVE)
    outcome = run("eval", *words.split())
    assert (outcome.status, outcome.out) == (status, "")
    assert said in outcome.first_line


@pytest.fixture
def strict(monkeypatch: pytest.MonkeyPatch, run: Run) -> None:
    """By the scripted vectors anything is near to anything: nothing counts as meant."""
    Path("strict.json").write_text('{"known": 1}')
    monkeypatch.setenv("ROUTER_THRESHOLDS", "strict.json")


@pytest.mark.usefixtures("strict")
class TestWithAModel:
    @pytest.mark.slow
    def test_a_configured_model_decides_and_its_calls_and_tokens_are_counted(
        self, run: Run, model: ModelServer
    ) -> None:
        model.then(*[says("Hi!")] * 2)
        file = written(LEAVE, HELLO, {"text": "good bye", "label": "reply"})
        printed = run.printed("eval", file, "--report", "report")
        assert "accuracy    100.0 % (3 of 3; 0 more offered)" in printed
        assert "model       2 calls, 200 + 20 tokens" in printed
        assert report()["about"]["model"] == "scripted"
        assert report()["by"] == {"llm": 2, "pattern": 1}
        assert "model       0 calls" in run("eval", file, "--no-llm").out
        assert len(model.chats) == 2

    @pytest.mark.slow
    def test_arguments_of_tools_are_compared_like_slots(self, run: Run, model: ModelServer) -> None:
        model.then(calls(("is_workday", {"day": "2027-01-02"})))
        wanted = {"day": "2027-01-03"}
        line = {"text": "do we work on January 2", "label": "is_workday", "slots": wanted}
        outcome = run("eval", written(line))
        assert "accuracy    100.0 %" in outcome.out
        assert "slot        0.0 % (0 of 1) is_workday.day" in outcome.out

    @pytest.mark.slow
    def test_a_busy_model_is_asked_again_once_and_a_line_without_an_answer_is_counted(
        self, run: Run, model: ModelServer
    ) -> None:
        model.then(rate_limits("0"), says("Hi!"))
        printed = run("eval", written(HELLO)).out
        assert "accuracy    100.0 %" in printed
        assert "without an answer" not in printed
        model.then(rate_limits("0"), rate_limits("0"))
        outcome = run("eval", written({"text": "the sky is so blue", "label": "reply"}))
        assert outcome.status == 0
        assert "line 1: reply, came to clarify: the sky is so blue" in outcome.out
        assert "model       0 calls, 0 + 0 tokens; 1 lines without an answer" in outcome.out

    @pytest.mark.slow
    def test_a_key_that_is_refused_ends_it(self, run: Run, model: ModelServer) -> None:
        model.then(*[fails(401, "bad key")] * 3)
        told = run.refused("eval", written(HELLO, {"text": "good bye", "label": "reply"}))
        assert told.startswith("error: no model answered: scripted at ")


class TestFitting:
    @pytest.mark.slow
    def test_thresholds_are_fitted_written_and_used(self, run: Run) -> None:
        dev = written(*UNUSUAL, name="fit.jsonl")
        outcome = run("eval", written(LEAVE), "--fit", dev)
        assert outcome.status == 0
        assert "fitted to 5 lines that no rule takes (few: take 50 or more)" in outcome.out
        assert "set ROUTER_THRESHOLDS=.data/thresholds.json to use them" in outcome.out
        kept = json.loads(Path(".data/thresholds.json").read_text(encoding="utf-8"))
        assert set(kept) == {field.name for field in fields(Thresholds)}
        assert kept["reliability"] == []

    @pytest.mark.slow
    def test_they_are_kept_where_the_setting_says_and_take_effect(
        self, run: Run, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("ROUTER_THRESHOLDS", "mine.json")
        outcome = run("eval", written(*UNUSUAL), "--fit", "dev.jsonl")
        assert "written to mine.json\n" in outcome.out
        assert "ROUTER_THRESHOLDS" not in outcome.out
        Path("mine.json").write_text('{"known": 0, "needs_tool": 0, "margin": 0}')
        always = json.loads(run("route", "唱首歌吧", "--json").out)["decision"]
        Path("mine.json").write_text('{"known": 1, "needs_tool": 1, "margin": 0}')
        never = json.loads(run("route", "年假剩多少对吧", "--json").out)["decision"]
        assert (always["by"], never["by"]) == ("retrieval", "fallback")

    @pytest.mark.slow
    @pytest.mark.parametrize("line", [LEAVE, {"text": "唱首歌吧", "label": "none"}])
    def test_lines_that_teach_nothing_change_nothing(self, run: Run, line: dict[str, str]) -> None:
        outcome = run("eval", written(line), "--fit", "dev.jsonl")
        assert outcome.status == 1
        assert "has no line that is for a capability and that no rule takes" in outcome.first_line
        assert not Path(".data/thresholds.json").exists()

    @pytest.mark.parametrize("words", [["bad.jsonl"], ["dev.jsonl", "--llm"]])
    def test_nothing_is_kept_where_nothing_is_evaluated(self, run: Run, words: list[str]) -> None:
        written(*UNUSUAL)
        Path("bad.jsonl").write_text("{")
        assert run("eval", *words, "--fit", "dev.jsonl").status == 1
        assert not Path(".data").exists()

    def test_a_thresholds_file_that_is_not_there_is_named(
        self, run: Run, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("ROUTER_THRESHOLDS", "gone.json")
        told = run.refused("eval", written(LEAVE))
        assert told.startswith("error: ROUTER_THRESHOLDS=gone.json can't be read")


class TestFromTheLog:
    @pytest.mark.slow
    def test_what_people_chose_is_written_and_evaluated(self, run: Run) -> None:
        keep("c1", "alice", "看看我还能休多久", "get_leave_balance")
        for conversation in ("c2", "c3"):
            keep(conversation, "frank", "any news of my money", "get_my_claims")
        printed = run.printed("eval", "chosen.jsonl", "--from-log")
        assert printed.startswith("2 lines from the log written to chosen.jsonl, 1 left out\n")
        assert "(0 of 2; " in printed
        lines = [json.loads(line) for line in Path("chosen.jsonl").read_text().splitlines()]
        assert lines[0] == {
            "text": "看看我还能休多久",
            "label": "get_leave_balance",
            "user": "alice",
            "now": "2026-11-18T02:00:00.000000+00:00",
        }
        assert stat.S_IMODE(Path("chosen.jsonl").stat().st_mode) == 0o600

    @pytest.mark.slow
    def test_who_is_gone_and_what_is_gone_is_left_out_and_that_it_was_read_is_audited(
        self, run: Run
    ) -> None:
        keep("c1", "mallory", "休多久", "get_leave_balance")
        keep("c2", "alice", "订一间会议室", "book_room")
        told = run.refused("eval", "chosen.jsonl", "--from-log")
        assert "has no message that was asked about" in told
        assert not Path("chosen.jsonl").exists()
        with closing(sqlite3.connect(".data/router.db")) as database:
            rows = database.execute("SELECT who, act, detail FROM audit_trail").fetchall()
        ((who, *what),) = rows
        assert who.startswith("shell:")
        assert what == ["conversations.export", "into chosen.jsonl"]

    def test_a_file_that_is_there_is_never_written_over(self, run: Run) -> None:
        keep("c1", "alice", "看看我还能休多久", "get_leave_balance")
        before = Path(written(LEAVE)).read_bytes()
        assert "dev.jsonl is there already" in run.refused("eval", "dev.jsonl", "--from-log")
        assert Path("dev.jsonl").read_bytes() == before

    def test_where_there_is_no_log_none_is_made(self, run: Run) -> None:
        told = run.refused("eval", "chosen.jsonl", "--from-log")
        assert told.startswith("error: there is no log at .data/router.db yet")
        assert not Path(".data").exists()


ROOT = Path(__file__).parents[5]
PAGE = (ROOT / "docs" / "evaluation.md").read_text(encoding="utf-8")
COMMANDS = [
    line.partition("intent-router ")[2]
    for line in PAGE.splitlines()
    if ".venv/bin/intent-router eval " in line
]


@pytest.fixture
def _files(elsewhere: Path) -> None:
    (elsewhere / "docs").symlink_to(ROOT / "docs")
    written(*UNUSUAL, name="dev.jsonl")
    written(*UNUSUAL, name="test.jsonl")
    written(LEAVE, CLAIM, name="requests.jsonl")
    keep("c1", "alice", "看看我还能休多久", "get_leave_balance")


@pytest.mark.slow
@pytest.mark.usefixtures("_files")
@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_of_the_page_runs(run: Run, command: str) -> None:
    assert "accuracy " in run.printed(*shlex.split(command))


@pytest.mark.slow
def test_the_lines_that_the_page_shows_are_read(run: Run) -> None:
    (shown,) = re.findall(r"```jsonl\n(.*?)```", PAGE, re.DOTALL)
    Path("shown.jsonl").write_text(shown, encoding="utf-8")
    outcome = run("eval", "shown.jsonl")
    assert outcome.status == 0
    assert "slot        100.0 % (1 of 1) leave_request.start" in outcome.out


@pytest.mark.slow
def test_the_example_is_right_wherever_rules_decide_values_included(run: Run) -> None:
    example = ROOT / "docs" / "examples" / "requests.jsonl"
    assert run("eval", str(example), "--report", "report").status == 0
    by_rules = [line for line in report()["results"] if line["by"] == "pattern"]
    assert len(by_rules) >= 7
    assert all(line["right"] and all(line["slots"].values()) for line in by_rules)


def test_every_key_kind_of_label_and_option_is_described() -> None:
    keys = [*LabelledLine.model_fields, *TARGETLESS]
    assert [key for key in keys if not re.search(rf"`[^`]*\b{key}\b[^`]*`", PAGE)] == []
    options = inspect.signature(evaluate).parameters.keys() - {"file"}
    assert [name for name in options if f"`--{name.replace('_', '-')}" not in PAGE] == []


class TestLearning:
    @pytest.mark.slow
    def test_what_people_chose_is_proposed_and_nothing_is_changed(self, run: Run) -> None:
        keep("c1", "alice", "看看我还能休多久", "get_leave_balance")
        keep("c2", "frank", "any news of my money", "get_my_claims")
        file = written({"text": "看看我还能休多久啊", "label": "get_leave_balance"})
        told = run.printed("learn", "--eval", file)
        assert "get_leave_balance (nearest right " in told
        assert "▸ 1 of 1)\n      “看看我还能休多久”" in told
        assert "patterns that misfire\n  none" in told
        with closing(sqlite3.connect(".data/router.db")) as database:
            (what,) = database.execute("SELECT act, detail FROM audit_trail").fetchall()
        assert what == ("conversations.export", "learn")

    @pytest.mark.slow
    def test_programs_get_it_as_json(self, run: Run) -> None:
        keep("c1", "alice", "看看我还能休多久", "get_leave_balance")
        found = run.json("learn", "--json")
        (example,) = found["examples"]
        assert example == {"capability": "get_leave_balance", "sentences": ["看看我还能休多久"]}
        assert found["topics"] == found["misfires"] == found["confusions"] == []

    @pytest.mark.slow
    def test_examples_are_written_for_a_person_to_edit_and_apply(self, run: Run) -> None:
        keep("c1", "alice", "看看我还能休多久", "get_leave_balance")
        told = run.printed("learn", "--out", "proposed.yaml")
        assert told.endswith("edit it, then `intent-router examples --from proposed.yaml`\n")
        written_down = Path("proposed.yaml").read_text()
        assert '- name: "get_leave_balance"' in written_down
        assert '    - "看看我还能休多久"' in written_down

    def test_where_there_is_no_log_that_is_said(self, run: Run) -> None:
        assert "there is no log at .data/router.db yet" in run.refused("learn")
