"""The caller's own requests, from a real database."""

import logging
from datetime import timedelta
from typing import Any

import pytest

from activities import provided
from activities.builtin.standing import run_meant
from router.domain.errors import ArgumentsToolError
from router.domain.locale import Locale
from router.domain.records import ApprovalRecord, RunRecord
from router.domain.run_history import HistoryEntry
from router.store.database import Database
from router.store.store import Store
from router.tool.context import ToolContext
from tests.integration.store.test_store import approval, run
from tests.unit.activities.tools.conftest import ALICE, FRANK, KINDS, NOW, Desk

pytestmark = pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)

HOUR = timedelta(hours=1)


def line(state: str, event: str, hours: int) -> HistoryEntry:
    return HistoryEntry(at=NOW + hours * HOUR, state=state, event=event)


def waiting(name: str = "r1", **more: Any) -> RunRecord:
    """A run that has stood before its approver for two hours, and was published just now."""
    history = [line("details", "began", 0), line("manager", "confirmed", 1)]
    history.append(line("manager", "reminded", 2))
    fields = {"status": "waiting_approval", "created_at": NOW, "updated_at": NOW + 3 * HOUR}
    return run(name, state="manager", **{**fields, "history": history, **more})


@pytest.fixture
def store(database: Database, desk: Desk) -> Store:
    store = Store(database)
    desk.dependencies.provide(provided.runs, store.runs)
    return store


async def publish(store: Store, record: RunRecord, *approvals: ApprovalRecord) -> None:
    await store.runs.publish(record, approvals)


async def test_a_request_says_since_when_it_waits_and_for_whom(desk: Desk, store: Store) -> None:
    asked = approval("a1", since=NOW + HOUR, due=NOW + 9 * HOUR)
    await publish(store, waiting(), asked, approval("a2", person="carol", active=False))
    since, due = "2026-11-21T03:30:15.000005+08:00", "2026-11-21T11:30:15.000005+08:00"
    assert await desk.ask("get_my_requests") == {
        "items": [
            {
                "id": "r1",
                "flow": "leave_request",
                "title": "请假申请",
                "status": "waiting_approval",
                "state": "manager",
                "asked": "2026-11-21T02:30:15.000005+08:00",
                "since": since,
                "waits_for": [{"name": "陈博 Bob", "since": since, "due": due}],
                "others": 0,
                "files": [],
            }
        ],
        "more": False,
        "summary": "请假申请：审批中，在等 陈博 Bob 审批",
    }


async def test_what_was_handed_in_is_called_by_its_name(desk: Desk, store: Store) -> None:
    files = {"f1": "hotel.pdf", "f2": "taxi.pdf", "f3": "taxi.pdf"}
    await publish(store, waiting(files=files), approval("a1"))
    found = await desk.ask("get_my_requests")
    assert found["items"][0]["files"] == ["hotel.pdf", "taxi.pdf"]
    assert found["summary"].endswith("审批；附件：hotel.pdf、taxi.pdf")


async def test_a_request_waits_for_whom_its_branches_wait_for(desk: Desk, store: Store) -> None:
    parent = "leave_request/default/r1"
    await publish(store, waiting("r1", status="waiting"))
    for name, person in (("b0", "bob"), ("b1", "carol")):
        branch = waiting(name, parent=parent)
        await publish(store, branch, approval(f"a-{name}", run=name, person=person))
    (item,) = (await desk.ask("get_my_requests"))["items"]
    assert (item["id"], len(item["waits_for"])) == ("r1", 2)
    context = ToolContext(caller=ALICE, now=NOW, logger=logging.LoggerAdapter(logging.getLogger()))
    assert (await run_meant("请假", context, store.runs, KINDS)).id == "r1"


async def test_an_end_is_dated_from_when_it_came(desk: Desk, store: Store) -> None:
    history = [line("manager", "confirmed", 1), line("manager", "withdrawn", 5)]
    await publish(store, waiting(status="cancelled", history=history))
    await publish(store, waiting("r0", history=[], created_at=NOW - HOUR))
    ended, bare = (await desk.ask("get_my_requests"))["items"]
    assert ended["since"] == "2026-11-21T07:30:15.000005+08:00"
    assert bare["since"] == "2026-11-21T05:30:15.000005+08:00"


async def test_it_is_the_callers_alone_in_their_language_and_time(desk: Desk, store: Store) -> None:
    await publish(store, waiting(requester="frank"), approval())
    (item,) = (await desk.ask("get_my_requests", FRANK))["items"]
    assert (item["title"], item["asked"]) == ("Leave request", "2026-11-20T13:30:15.000005-05:00")
    for stranger in (ALICE, FRANK.model_copy(update={"tenant": "other"})):
        assert (await desk.ask("get_my_requests", stranger))["items"] == []


async def test_they_can_be_narrowed_down_and_look_ups_are_none(desk: Desk, store: Store) -> None:
    await publish(store, waiting("r1"))
    await publish(store, waiting("r2", status="completed"))
    await publish(store, waiting("r3", flow="reimbursement"))
    await publish(store, waiting("clock", flow="get_current_time"))

    async def ids(**asked: Any) -> set[str]:
        return {item["id"] for item in (await desk.ask("get_my_requests", **asked))["items"]}

    assert await ids() == {"r1", "r2", "r3"}
    assert await ids(status="completed") == {"r2"}
    assert await ids(flow="reimbursement") == {"r3"}
    assert await ids(status="waiting_approval", flow="leave_request") == {"r1"}
    assert await ids(flow="nothing_such") == set()


async def test_twenty_at_most_and_five_names_each(desk: Desk, store: Store) -> None:
    for number in range(21):
        await publish(store, waiting(f"r{number:02}", created_at=NOW + number * HOUR))
    crowd = [approval(f"a{n:02}", run="r20", person=f"stranger{n}") for n in range(8)]
    await publish(store, waiting("r20", created_at=NOW + 20 * HOUR, events=2), *crowd)
    answer = await desk.ask("get_my_requests")
    assert (len(answer["items"]), answer["more"]) == (20, True)
    newest = answer["items"][0]
    assert newest["id"] == "r20"
    assert [one["name"] for one in newest["waits_for"]] == [f"stranger{n}" for n in range(5)]
    assert newest["others"] == 3


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("status", "late"), ("status", ""), ("status", ["completed"]), ("status", 1),
        ("flow", "x' or 1=1 --"), ("flow", ""), ("flow", "Leave_Request"), ("flow", "请假"),
        ("flow", "x" * 65), ("flow", "a\n"), ("flow", 7),
        ("requester", "bob"), ("tenant", "other"), ("all", True),
    ],
)  # fmt: skip
async def test_other_filters_are_refused(desk: Desk, store: Store, name: str, value: Any) -> None:
    with pytest.raises(ArgumentsToolError, match=f"{name}: "):
        await desk.ask("get_my_requests", **{name: value})


@pytest.mark.parametrize(
    ("spoken", "title"), [(None, "请假申请"), ("zh", "请假申请"), ("en", "Leave request")]
)
async def test_titles_are_in_the_language_that_is_spoken(
    desk: Desk, store: Store, spoken: Locale | None, title: str
) -> None:
    await publish(store, waiting("leave"))
    (one,) = (await desk.ask("get_my_requests", spoken=spoken))["items"]
    assert one["title"] == title
