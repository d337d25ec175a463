"""`intent-router chat`, at a real terminal and in a pipe, with the whole house behind it."""

import stat
import subprocess
from pathlib import Path

import pytest

from tests.e2e.house import COMMAND, House, Person
from tests.fakes.terminal import Terminal

pytestmark = pytest.mark.xdist_group("dev")

CTRL_C, CTRL_D = b"\x03", b"\x04"


@pytest.fixture
def state(tmp_path: Path) -> Path:
    return tmp_path / "state"


def at(house: House, state: Path, user: str, *words: str) -> Terminal:
    environment = {**house.environment, "XDG_STATE_HOME": str(state)}
    return Terminal([*COMMAND, "chat", "--url", house.url, "--user", user, *words], environment)


def piped(house: House, lines: str, *words: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [*COMMAND, "chat", "--url", house.url, *words],
        input=lines,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_leave_is_asked_for_and_its_approval_comes_above_the_prompt(
    house: House, state: Path
) -> None:
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


def test_what_is_said_in_another_window_is_shown(house: House, state: Path) -> None:
    chat = Person(house, "dave").chat()
    with at(house, state, "dave", "--conversation", chat.id) as dave:
        dave.sees(chat.id)
        chat.say("I want leave")
        dave.sees("(elsewhere) > I want leave")
        dave.sees("What kind of leave would you like?")
        dave.types("2")
        dave.sees("rom which")


def test_a_pipe_gets_plain_answers(house: House) -> None:
    ran = piped(house, "我要请假\n\n1\n", "--user", "alice", "--new")
    assert ran.returncode == 0
    assert "1. 年假" in ran.stdout
    assert "从哪天开始？" in ran.stdout
    assert "\x1b" not in ran.stdout


@pytest.mark.parametrize(
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
