"""Each tutorial, followed word for word, ends where it says."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.docs.snippets import ROOT, snippets_of
from tests.docs.walk import Walk, clone
from tests.e2e.house import free_ports
from tests.fakes.behaviours import Behaviour, calls, says
from tests.fakes.model_server import ModelServer
from tests.unit.cli.conftest import serving

TUTORIALS = ROOT / "docs" / "tutorials"
MODEL_PORT = "8101"
"""Where the pages have their model."""
SERVICE_PORT = "9000"
"""Where they have a service of somebody else's."""


def dispatched(request: str) -> Behaviour:
    """A model that chooses the skill of the tutorial."""
    return calls(("dispatch_to_skill", {"skill_name": "bill-splitter", "request": request}))


@pytest.fixture
def walk(tmp_path: Path) -> Iterator[Walk]:
    walk = Walk(clone(tmp_path / "intent-router"))
    yield walk
    walk.leave()


def follow(walk: Walk, page: str) -> None:
    for snippet in snippets_of(TUTORIALS / page):
        walk.take(snippet)


@pytest.mark.slow
def test_the_first_flow_asks_is_approved_and_is_tested(walk: Walk) -> None:
    follow(walk, "first-flow.md")
    drawn = (walk.folder / "parking.svg").read_text(encoding="utf-8")
    assert drawn == (ROOT / "docs" / "images" / "parking.svg").read_text(encoding="utf-8")


@pytest.mark.slow
def test_the_first_tools_are_called_whatever_their_kind(walk: Walk) -> None:
    walk.ports[SERVICE_PORT] = str(free_ports(1)[0])
    follow(walk, "first-tool.md")


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("bwrap") is None, reason="bubblewrap isn't installed")
def test_the_first_skill_does_its_sums_by_a_tool_and_by_a_script(walk: Walk) -> None:
    script = {"path": "scripts/split.py", "arguments": ["100.00", "3"]}
    server = ModelServer(
        [
            dispatched("328.50, five people, Gina paid"),
            calls(("calculate", {"expression": "328.50 / 5"})),
            says("Everybody owes Gina 65.70."),
            dispatched("100.00, three people, Frank paid"),
            calls(("run_skill_script", script)),
            says("You get 33.33 from each of the two others."),
        ]
    )
    with serving(server):
        walk.ports[MODEL_PORT] = server.url.rpartition(":")[2].removesuffix("/v1")
        follow(walk, "first-skill.md")
    told = [
        [m["content"] for m in chat["messages"] if m["role"] == "tool"] for chat in server.chats
    ]
    assert "65.7" in told[2][-1]
    assert "33.34 33.33 33.33" in told[5][-1]
