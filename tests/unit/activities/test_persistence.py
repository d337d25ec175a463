from datetime import UTC, datetime
from typing import Any, get_type_hints

import pytest
from temporalio.exceptions import ApplicationError

from activities.persistence import Records
from router.contracts import activities
from router.contracts.activities import Keep, Publish, Recall, Recalled, Write
from router.contracts.conversation_state import ConversationState, Transcript
from router.contracts.payload import ActivityStub
from router.domain.messages import Route, Turn
from router.domain.records import LogEntry
from router.store.database import Database
from router.store.store import Store
from tests.integration.store.test_store import approval, run
from tests.table import each_row

pytestmark = pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)

NOW = datetime(2026, 11, 18, 2, 0, tzinfo=UTC)
TURN = Turn(message_id="m1", turn=1, route=Route(kind="reply", by="fallback"))
ENTRY = LogEntry(
    key="turn:m1",
    kind="turn",
    at=NOW,
    conversation="c1",
    message_id="m1",
    data={"digest": "d", "turn": TURN.model_dump(mode="json")},
)
NOTICE = LogEntry(key="n1", kind="approval", at=NOW, recipient="bob", data={"flow_run": "r1"})
RUN, APPROVAL = run(status="waiting_approval"), approval()


@pytest.fixture
def store(database: Database) -> Store:
    return Store(database)


@pytest.fixture
def records(store: Store) -> Records:
    return Records(store)


@each_row("stub", [activities.RECALL, activities.KEEP, activities.WRITE, activities.PUBLISH])
def test_each_is_typed_as_its_stub(stub: ActivityStub[Any, Any], database_url: str) -> None:
    method = getattr(Records, stub.name)
    hints = get_type_hints(method)
    gives = hints.pop("return")
    assert method.__temporal_activity_definition.name == stub.name
    assert list(hints.values()) == [stub.takes]
    assert gives is stub.gives


async def test_a_closed_conversation_is_kept_and_recalled(records: Records) -> None:
    asked = Recall(tenant="default", conversation="c1")
    assert await records.recall(asked) == Recalled()
    state = ConversationState(transcript=Transcript(turn_count=7, has_older=True))
    await records.keep(Keep(tenant="default", conversation="c1", state=state))
    assert await records.recall(asked) == Recalled(state=state)


async def test_a_written_turn_is_recalled_by_its_message_id(records: Records) -> None:
    for _ in range(2):
        await records.write(Write(tenant="default", entries=[ENTRY]))
    recalled = await records.recall(Recall(tenant="default", conversation="c1", message_id="m1"))
    nothing = await records.recall(Recall(tenant="default", conversation="c1", message_id="m2"))
    assert recalled.turn is not None
    assert (recalled.turn.digest, recalled.turn.turn) == ("d", TURN)
    assert nothing == Recalled()


async def test_a_published_run_is_found_with_what_waits(records: Records, store: Store) -> None:
    for _ in range(2):
        await records.publish(Publish(run=RUN, approvals=[APPROVAL], entries=[NOTICE]))
    assert await store.runs.find("default", "r1") == RUN
    assert (await store.runs.waiting_for("default", "bob", None, 10))[0] == [APPROVAL]


async def test_a_database_out_of_reach_is_tried_again(database_url: str) -> None:
    records = Records(Store(Database("sqlite:////nowhere/at/all/router.db")))
    with pytest.raises(ApplicationError, match="can't be used right now") as caught:
        await records.recall(Recall(tenant="default", conversation="c1"))
    assert caught.value.type == "BackendUnavailable"
    assert not caught.value.non_retryable
