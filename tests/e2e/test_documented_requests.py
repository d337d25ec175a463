"""The requests that the pages show, sent as they are printed to a desk that runs."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.docs.snippets import PLAYED, Snippet, all_snippets
from tests.e2e.house import House

pytestmark = pytest.mark.xdist_group("dev")

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
    played = {"ag-ui.md": 1, "files.md": 1, "front-ends.md": 1, "openai.md": 1, "streaming.md": 2}
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


def test_an_openai_client_gets_an_answer(play: Callable[..., str]) -> None:
    (block,) = blocks("openai.md")
    assert play(sys.executable, "-c", text=block.text).strip()
