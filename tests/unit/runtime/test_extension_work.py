"""What extensions add to a worker is used, or left out as a whole and named."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import partial
from typing import Any, cast

import pytest

from router import extension as extension_module
from router.domain.errors import MisconfiguredError
from router.extension import Extension, WorkerPart, WorkerServices, run_in_background
from router.runtime import extensions
from router.runtime.extension_work import ExtensionWork, check_worker_part
from router.runtime.extensions import Extensions, LoadedExtension
from router.runtime.worker import Queues
from router.settings import Settings
from tests.table import each_row
from tests.unit.runtime import badge_workflows as badges
from tests.waiting import HANGS_AFTER_S

SERVICES = WorkerServices(
    settings=Settings(_env_file=None),
    store=cast("Any", None),
    dependencies=cast("Any", None),
    temporal=cast("Any", None),
    task_queue="router",
)
PART = WorkerPart(
    workflows=[badges.Printing],
    activities={"tools": [badges.BadgePrinter], "turns": [badges.find_badge]},
)


def adding(part: object, name: str = "badges") -> Extension:
    """An extension of another company that adds this to a worker."""
    members = {"name": name, "worker_part": lambda _: part}
    return cast("Extension", type(name, (Extension,), members)())


def loaded(*added: Extension, required: str = "") -> Extensions:
    each = [LoadedExtension(extension, f"acme-{extension.name}") for extension in added]
    return Extensions(each, required=[required])


def tools(*activities: object) -> dict[str, object]:
    return {"activities": {"tools": activities}}


@each_row(
    ("part", "reason"),
    [
        (None, "its worker_part() returns None: return a WorkerPart"),
        ({"workflows": [badges.NoWorkflow]}, "has no @workflow.defn: decorate it"),
        ({"workflows": [badges.Anything]}, "is dynamic, and would take what belongs to others"),
        ({"workflows": [badges.Unbounded]}, "doesn't run in the sandbox: leave out sandboxed=Fa"),
        ({"workflows": [badges.FOUND_NOWHERE]}, "ImportError: cannot import name 'Hidden'"),
        (
            {"workflows": [badges.ConversationWorkflow]},
            "is called 'ConversationWorkflow', which others may be called: call it 'badges.Conv",
        ),
        ({"workflows": [badges.Printing, badges.Printing]}, "has badges.Printing twice"),
        (tools(badges.decide), "is called 'decide', which others may be called: call it 'badges.d"),
        (tools(badges.no_activity), "has no @activity.defn: decorate it"),
        (tools(badges.do_anything), "is dynamic, and would take what belongs to others"),
        (tools(badges.wait_for_badge), "badges.wait_for_badge isn't async"),
        (tools(badges.PrinterWithoutActivities), "has no method with @activity.defn"),
        (tools(badges.BadgePrinter, badges.BrokenPrinter), "has badges.print_badge twice"),
        ({"activities": {"tool": []}}, "of the kind 'tool': choose among turns, models, tools"),
        ({"running": "daily"}, "is 'daily': pass a function that takes the WorkerServices"),
        ({"workflows": 7}, "TypeError: 'int' object is not iterable"),
    ],
)
def test_what_a_worker_cannot_use_is_refused_in_a_sentence(
    part: dict[str, Any] | None, reason: str
) -> None:
    added = adding(part and WorkerPart(**part))

    (fault,) = loaded(added).find_faults(check_worker_part)

    assert reason in fault.reason


@pytest.mark.parametrize(
    "broken",
    [
        WorkerPart([badges.Printing], {"turns": [badges.find_badge], "tools": [badges.decide]}),
        WorkerPart([], {"tools": [badges.find_badge, badges.BrokenPrinter]}),
    ],
    ids=["refused", "can't be made"],
)
async def test_an_extension_that_cannot_be_used_is_left_out_of_a_worker_as_a_whole(
    broken: WorkerPart, caplog: pytest.LogCaptureFixture
) -> None:
    work = ExtensionWork(loaded(adding(broken), adding(WorkerPart(), "gates")), SERVICES)

    async with work.keep_running():
        assert (work.workflows, work.kinds) == ([], {})
    assert not any(work.activities.values())
    assert [record.message.partition(": ")[0] for record in caplog.records] == ["extension badges"]


def test_activities_are_made_with_what_the_worker_works_with() -> None:
    work = ExtensionWork(loaded(adding(PART)), SERVICES)

    assert work.workflows == [badges.Printing]
    assert work.activities["turns"] == [badges.find_badge]
    (printing,) = work.activities["tools"]
    assert asyncio.run(printing("7")) == "7 printed, asked on router"


def test_activities_of_extensions_go_to_the_queues_of_their_kinds() -> None:
    part = WorkerPart(activities=PART.activities)

    queues = Queues("models", "tools", ExtensionWork(loaded(adding(part)), SERVICES).kinds)

    assert queues.of("badges.find_badge") is None
    assert queues.of("badges.print_badge") == "tools"
    assert queues.of("decide") == "models"


@asynccontextmanager
async def unstoppable(_: WorkerServices) -> AsyncIterator[None]:
    yield
    await asyncio.Event().wait()


@asynccontextmanager
async def unstartable(_: WorkerServices) -> AsyncIterator[None]:
    raise RuntimeError("no badge printer")
    yield


@asynccontextmanager
async def never_starting(_: WorkerServices) -> AsyncIterator[None]:
    await asyncio.Event().wait()
    yield


@each_row(
    ("running", "said"),
    [
        (unstartable, "it can't be used: RuntimeError: no badge printer"),
        (never_starting, "it can't be used: TimeoutError: it didn't start within 0 s"),
        (unstoppable, "what it runs failed to stop within 0 s"),
        (lambda _: None, "TypeError"),
        (lambda: None, "TypeError"),
    ],
)
async def test_what_cannot_be_started_or_stopped_is_logged_and_the_rest_runs(
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    running: Callable[..., AbstractAsyncContextManager[None]],
    said: str,
) -> None:
    monkeypatch.setattr(extension_module, "START_WITHIN_S", 0)
    monkeypatch.setattr(extensions, "BACKGROUND_STOP_S", 0)
    started = asyncio.Event()

    async def open_gates(_: WorkerServices) -> None:
        started.set()

    gates = WorkerPart(running=partial(run_in_background, open_gates))
    added = adding(WorkerPart(running=running)), adding(gates, "gates")
    caplog.clear()

    async with ExtensionWork(loaded(*added), SERVICES).keep_running():
        await asyncio.wait_for(started.wait(), HANGS_AFTER_S)

    (message,) = (each for each in caplog.messages if each.startswith("extension badges: "))
    assert said in message


async def test_a_required_extension_that_cannot_start_what_it_runs_stops_the_process() -> None:
    found = loaded(adding(WorkerPart(running=unstartable)), required="badges")

    with pytest.raises(MisconfiguredError, match="ROUTER_REQUIRED_EXTENSIONS=badges"):
        async with ExtensionWork(found, SERVICES).keep_running():
            pass


async def test_a_function_in_the_background_is_called_until_it_returns(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(extension_module, "BACKGROUND_RETRY_S", 0)
    calls, ended = list[str](), asyncio.Event()

    async def tidy_badges(queue: str) -> None:
        calls.append(queue)
        if len(calls) == 1:
            raise RuntimeError("no badge printer")
        ended.set()

    async with run_in_background(tidy_badges, "router"):
        await asyncio.wait_for(ended.wait(), HANGS_AFTER_S)
        await asyncio.sleep(0)

    assert calls == ["router", "router"]
    (record,) = caplog.records
    assert "tidy_badges" in record.message
    assert record.exc_text is not None
    assert "no badge printer" in record.exc_text


async def test_a_function_in_the_background_ends_with_its_process() -> None:
    states, begun = list[str](), asyncio.Event()

    async def tidy_badges() -> None:
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            states.append("tidied up")

    async with run_in_background(tidy_badges):
        await asyncio.wait_for(begun.wait(), HANGS_AFTER_S)

    assert states == ["tidied up"]
