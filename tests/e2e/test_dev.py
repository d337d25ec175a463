"""`intent-router dev` as people use it: at REST, at a terminal, and by what the pages print."""

import json
import os
import re
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import psutil
import pytest

from router.routing.structured import REFUSALS
from tests.docs.snippets import PLAYED, Snippet, all_snippets
from tests.e2e.house import COMMAND, House, Person
from tests.fakes.terminal import Terminal
from tests.table import each_row

pytestmark = pytest.mark.xdist_group("dev")


def test_alice_asks_in_chinese_bob_approves_and_her_balance_is_less(
    alice: Person, bob: Person
) -> None:
    before = alice.days_left()
    chat = alice.chat()
    turn = chat.say("我要请假")
    route = {"kind": "flow", "by": "pattern", "target": "leave_request"}
    assert turn["route"].items() >= route.items()
    assert turn["usage"]["llm_calls"] == 0
    assert turn["flow"]["awaiting"] == ["leave_type"]
    (choices,) = turn["replies"]
    assert {"label": "年假", "value": "annual"} in choices["options"]
    assert chat.act("choose", "annual")["route"]["by"] == "action"
    for said in ("2026-12-07", "12月9日", "家里有事"):
        turn = chat.say(said)
    assert turn["flow"]["status"] == "confirming"
    assert turn["replies"][-1]["type"] == "confirm"
    assert turn["replies"][-1]["summary"]
    turn = chat.say("好的")
    assert turn["flow"]["status"] == "waiting_approval"
    run = turn["flow"]["id"]
    (approval,) = (one for one in bob.approvals() if one["flow_run"] == run)
    assert approval["requester"] == "alice"
    assert bob.decide(approval["id"], "approve").status_code == 200
    assert bob.decide(approval["id"], "approve").status_code == 200
    assert bob.decide(approval["id"], "reject").status_code == 409
    chat.heard("批准")
    assert alice.days_left() == before - 3
    shown = alice.run(run)
    assert shown["status"] == "completed"
    assert shown["history"][0]["event"] == "began"
    assert "approve" in [line["event"] for line in shown["history"]]
    assert shown["temporal"]["workflow_id"].startswith("leave_request/default/")


def test_its_metrics_count_the_turns_of_its_people(house: House, alice: Person) -> None:
    alice.chat().say("你好")
    metrics = httpx.get(house.metrics, trust_env=False).text
    counted = re.findall(r"^router_routes_total\{.*\} (\S+)$", metrics, re.MULTILINE)
    assert sum(map(float, counted)) > 0, metrics


CTRL_C, CTRL_D = b"\x03", b"\x04"


@pytest.fixture
def state(tmp_path: Path) -> Path:
    return tmp_path / "state"


def at(house: House, state: Path, user: str, *words: str) -> Terminal:
    environment = {**house.environment, "XDG_STATE_HOME": str(state)}
    return Terminal([*COMMAND, "chat", "--url", house.url, "--user", user, *words], environment)


def piped(house: House, lines: str, *words: str) -> "subprocess.CompletedProcess[str]":
    return house.command("chat", "--url", house.url, *words, said=lines)


def test_leave_is_asked_for_and_its_approval_comes_over_it(house: House, state: Path) -> None:
    with (
        at(house, state, "frank", "--new") as frank,
        at(house, state / "bob", "bob", "--new") as bob,
    ):
        frank.sees("/help lists the commands")
        frank.types("I want annual leave from 2027-03-01 to 2027-03-02, family matters")
        frank.sees("Answer “yes” or “no”.")
        frank.types("y")
        frank.sees("This is with")
        bob.sees("/help")
        bob.types("/approvals")
        bob.sees("  1. ")
        bob.types("/approve 1 好的")
        bob.sees("已记录")
        frank.sees("approved")
        frank.sees(">")  # while news is printed above it, the prompt isn't there to hear a key
        frank.presses(CTRL_D)
        assert frank.ends() == 0


@pytest.mark.slow
def test_choices_take_numbers_and_forms_are_asked_field_by_field(house: House, state: Path) -> None:
    with at(house, state, "gina", "--new") as gina:
        gina.sees("/help")
        gina.types("我要请假")
        gina.sees("1. 年假")
        gina.types("1")
        gina.sees("从哪天开始")
        gina.types("")
        gina.sees("开始 (必填):")
        gina.types("2027-04-01")
        gina.sees("到哪天为止")
        gina.types("/why")
        gina.sees("leave_request ←")
        gina.types("/quit")
        assert gina.ends() == 0
    history = state / "intent-router" / "history"
    assert stat.S_IMODE(history.stat().st_mode) == 0o600
    assert "2027-04-01" not in history.read_text()


@pytest.mark.slow
def test_a_chat_goes_on_where_it_was_left(house: House, state: Path) -> None:
    begun = piped(house, "我要请假\n", "--user", "alice", "--new")
    with at(house, state, "alice") as alice:
        alice.sees("1. 年假")
        alice.types("1")
        alice.sees("从哪天开始？")
        alice.sees(">")
        alice.presses(CTRL_C)
        alice.sees("再按一次 Ctrl-C 离开")
        alice.presses(CTRL_C)
        assert alice.ends() == 0
    assert (begun.returncode, begun.stderr) == (0, "")


@pytest.mark.slow
def test_what_is_said_in_another_window_is_shown(house: House, state: Path) -> None:
    chat = Person(house, "dave").chat()
    with at(house, state, "dave", "--conversation", chat.id) as dave:
        dave.sees(chat.id)
        chat.say("I want leave")
        dave.sees("(elsewhere) > I want leave")
        dave.sees("What kind of leave would you like?")
        dave.types("2")
        dave.sees("rom which")


@pytest.mark.slow
def test_a_pipe_gets_plain_answers(house: House) -> None:
    ran = piped(house, "我要请假\n\n1\n", "--user", "alice", "--new")
    assert (ran.returncode, "\x1b" in ran.stdout) == (0, False)
    assert "1. 年假" in ran.stdout
    assert "从哪天开始？" in ran.stdout


@pytest.mark.slow
@each_row(
    ("words", "line"),
    [
        (["--user", "mallory"], "error: the API won't have this person: "),
        (["--conversation", "nope"], "error: There is no such conversation."),
    ],
)
def test_what_is_refused_is_said_in_one_line(house: House, words: list[str], line: str) -> None:
    ran = piped(house, "hello\n", *words)
    assert ran.returncode == 1
    assert ran.stderr.startswith(line)
    assert len(ran.stderr.splitlines()) == 1


LOCAL = "127.0.0.1"
ELSEWHERE = {"Host": "evil.example", "Origin": "http://evil.example", "Content-Type": "text/plain"}
STOLEN = {"workflowType": {"name": "Flow"}, "taskQueue": {"name": "router"}}


def status_of(method: str, url: str, headers: dict[str, str]) -> int:
    """What a page gets that sends this; 0 where no HTTP is spoken."""
    body = json.dumps(STOLEN) if method == "POST" else None
    try:
        return httpx.request(method, url, content=body, headers=headers, timeout=5).status_code
    except httpx.HTTPError:
        return 0


def test_a_page_of_others_reaches_nothing_that_listens(house: House) -> None:
    assert house.process is not None
    first = psutil.Process(house.process.pid)
    processes = [first, *first.children(recursive=True)]
    sockets = (one for each in processes for one in each.net_connections("tcp"))
    ports = {one.laddr.port for one in sockets if one.status == "LISTEN" and one.laddr.ip == LOCAL}
    assert set(house.ports) < ports
    here = {**ELSEWHERE, "Host": LOCAL}
    seen = set()
    for port in ports - {int(house.metrics.rpartition(":")[2].partition("/")[0])}:
        url = f"http://{LOCAL}:{port}/api/v1/namespaces"
        start = f"{url}/default/workflows/stolen"
        tries = ("GET", url, ELSEWHERE), ("POST", start, ELSEWHERE), ("POST", start, here)
        seen |= {status_of(*each) for each in tries}
    assert seen <= {0, 400, 403, 404}, seen
    ui, page = f"http://{LOCAL}:{house.ports[2]}/api/v1/namespaces", urlsplit(house.page)
    assert status_of("GET", ui, {}) == 200
    assert (status_of("GET", ui, ELSEWHERE), status_of("GET", house.url, ELSEWHERE)) == (403, 403)
    assert (page.port, page.query[:6], len(page.query)) == (house.ports[0], "token=", 49)
    assert "HttpOnly" in httpx.get(house.page).headers["set-cookie"]


def test_its_folder_is_its_owners_alone(house: House) -> None:
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in house.data.iterdir()}
    assert {"temporal.db", "router.db", "dev.token", "temporal.log"} <= modes.keys()
    assert stat.S_IMODE(house.data.stat().st_mode) == 0o700
    assert {name: oct(mode) for name, mode in modes.items() if mode & 0o077} == {}


PRINTED = "http://127.0.0.1:8000"
LISTENS = 8.0
"""Seconds that a stream without an end is listened to."""
BLOCKS = [snippet for snippet in all_snippets() if snippet.marker == PLAYED]


def blocks(page: str) -> list[Snippet]:
    found = [each for each in BLOCKS if each.page.name == page]
    assert found
    return found


@pytest.fixture
def play(house: House, tmp_path: Path) -> Callable[..., str]:
    """Runs a program's text in a folder of its own, and gives what it printed."""

    def run(*program: str, text: str) -> str:
        path = f"{sys.prefix}/bin:{os.environ['PATH']}"
        done = subprocess.run(
            [*program, text.replace(PRINTED, house.url)],
            cwd=tmp_path,
            env={**os.environ, "PATH": path},
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run


def bash(play: Callable[..., str], text: str) -> str:
    return play("bash", "-euo", "pipefail", "-c", text=text)


def test_every_block_that_says_so_is_played_here() -> None:
    played = {
        "ag-ui.md": 1,
        "files.md": 1,
        "front-ends.md": 1,
        "mcp.md": 1,
        "openai.md": 2,
        "python-client.md": 2,
        "streaming.md": 2,
    }
    assert {name: len(blocks(name)) for name in played} == played
    assert len(BLOCKS) == sum(played.values())


def test_a_request_is_made_confirmed_and_approved_by_curl(play: Callable[..., str]) -> None:
    (block,) = blocks("front-ends.md")
    created, approved = bash(play, block.text).split('"status":"waiting_approval"', 1)
    assert '"target":"equipment_request"' in created
    assert '"approve"' in approved


def test_an_ag_ui_run_begins_asks_and_ends(play: Callable[..., str]) -> None:
    (block,) = blocks("ag-ui.md")
    events = bash(play, block.text)
    assert events.index("RUN_STARTED") < events.index("RUN_FINISHED")


def test_a_file_is_handed_in(play: Callable[..., str], tmp_path: Path) -> None:
    (tmp_path / "receipt.pdf").write_bytes(b"%PDF-1.4\n%%EOF\n")
    (block,) = blocks("files.md")
    answer = bash(play, block.text)
    assert '"name":"receipt.pdf","type":"application/pdf"' in answer


def test_a_turn_is_streamed_and_a_conversation_followed(play: Callable[..., str]) -> None:
    turn, follow = blocks("streaming.md")
    assert "event: turn" in bash(play, turn.text)
    patience = f"timeout {LISTENS} {follow.text.rstrip()} || test $? = 124"
    followed = bash(play, f"{turn.text}\n{patience}").partition("event: turn")[2]
    assert "event: " in followed


def test_the_python_client_asks_decides_and_follows(play: Callable[..., str]) -> None:
    in_turn, as_it_happens = blocks("python-client.md")
    waiting, decided = play(sys.executable, "-c", text=in_turn.text).splitlines()
    assert (waiting.split()[0], decided) == ("waiting_approval", "completed")
    told = play(sys.executable, "-c", text=as_it_happens.text).split()
    assert told[-1] == "turn"


def test_an_assistant_gets_an_answer(play: Callable[..., str]) -> None:
    (block,) = blocks("mcp.md")
    assert "年假" in play(sys.executable, "-c", text=block.text)


def test_an_openai_client_gets_an_answer(play: Callable[..., str]) -> None:
    block, _ = blocks("openai.md")
    assert play(sys.executable, "-c", text=block.text).strip()


@pytest.mark.slow
def test_an_openai_client_that_wants_fields_hears_why_it_gets_none(
    play: Callable[..., str],
) -> None:
    _, block = blocks("openai.md")
    said = play(sys.executable, "-c", text=block.text)
    refusal, *answer = said.strip().splitlines()
    assert refusal == REFUSALS["no_model"].zh
    assert any("年假" in line for line in answer)
