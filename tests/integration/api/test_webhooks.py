"""Webhooks over real HTTP: delivered, put off, given up; and events that are signed."""

import asyncio
import base64
import json
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from httpx import AsyncClient, Response
from prometheus_client import REGISTRY
from temporalio.client import Client

from router.api.dependencies import Services
from router.contracts import flow
from router.domain.errors import MisconfiguredError, Unavailable
from router.domain.records import RunRecord
from router.domain.webhook_events import TRIED_FOR
from router.outbound.client import OutgoingRequest, Received, Sender
from router.outbound.guard import OutboundGuard
from router.runtime import webhook_dispatcher
from router.runtime.server import create_app
from router.runtime.webhook_dispatcher import (
    LONGEST_WAIT,
    WebhookDispatcher,
    wait_after,
    wanted_wait,
)
from router.store.database import Database
from router.store.store import Store
from router.store.tables import ROUTER
from router.webhook.signature import WebhookSecrets
from router.webhook.webhook_files import EventSource, OtherSystems, WebhookConsumer, load_webhooks
from tests.fakes.web_server import Drop, Reply, json_reply
from tests.fakes.webhook_consumer import SECRET, VARIABLE
from tests.fakes.webhook_consumer import WebhookConsumer as Consumer
from tests.integration.api.conftest import QUEUE, As, client_of, problem
from tests.integration.api.test_runs import run_record
from tests.table import each_row
from tests.waiting import HANGS_AFTER_S

NOW = datetime.now(UTC)


class Clock:
    """A moment that passes when told to."""

    def __init__(self) -> None:
        self.now = datetime.now(UTC)

    def __call__(self) -> datetime:
        return self.now

    def passes(self, **time: float) -> None:
        self.now += timedelta(**time)


class Desk:
    """What is told, and to whom, over a database of its own."""

    def __init__(
        self, database: Database, told: list[WebhookConsumer], guard: OutboundGuard
    ) -> None:
        self.store = Store(database, [one.subscription for one in told])
        self.clock = Clock()
        sender = Sender(guard, follows=False)
        self.dispatcher = WebhookDispatcher(told, self.store.webhooks, sender, self.clock)

    async def ended(self, run: str = "r1", **more: Any) -> RunRecord:
        """A run that began and was completed, which is two events."""
        begun = run_record(run, status="collecting", state="details", **more)
        await self.store.runs.publish(begun, [])
        done = begun.model_copy(update={"status": "completed", "state": "done", "events": 9})
        await self.store.runs.publish(done, [])
        return done

    async def round(self) -> int:
        """What is due is sent once, to everyone; how much that was."""
        self.clock.now = max(self.clock.now, datetime.now(UTC))
        return sum([await line.round() for line in self.dispatcher.lines])

    async def listed(self, state: Any = "waiting") -> list[Any]:
        return (await self.store.webhooks.listed("default", state, None, 50))[0]


Opening = Callable[..., Desk]


@pytest.fixture
async def opened(tmp_path: Path) -> AsyncIterator[Opening]:
    database = Database(f"sqlite:///{tmp_path}/router.db")
    await database.migrate(ROUTER)

    def of(*consumers: Consumer, allowed: bool = True, **entry: Any) -> Desk:
        guard = OutboundGuard([one.origin for one in consumers])
        about = {"secret_env": VARIABLE, "events": ["*"], **entry}
        entries = [{"url": one.url, **about} for one in consumers]
        (tmp_path / "webhooks.json").write_text(json.dumps(entries), "utf-8")
        told = load_webhooks(tmp_path / "webhooks.json", {VARIABLE: SECRET}, guard)
        return Desk(database, told, guard if allowed else OutboundGuard())

    yield of
    await database.dispose()


async def test_events_arrive_signed_and_in_order(opened: Opening) -> None:
    async with Consumer() as erp:
        desk = opened(erp, slots=True)
        await desk.ended()
        assert [await desk.round() for _ in range(3)] == [1, 1, 0]
    assert erp.names("r1") == ["flow.started", "flow.completed"]
    assert erp.told[1]["data"]["slots"]["leave_type"] == "annual"
    assert erp.told[1]["timestamp"]
    [first, _] = erp.requests
    assert (first.method, first.target) == ("POST", "/hooks")
    assert first.headers["content-type"] == "application/json"
    assert await desk.listed() == []


def failing(*statuses: int, **headers: str) -> Callable[[Any], Reply]:
    """Answers with these in turn, and then takes what it is told."""
    left = list(statuses)
    return lambda _: json_reply({}, left.pop(0) if left else 204, **headers)


@pytest.mark.slow
@pytest.mark.parametrize("status", [301, 307, 400, 401, 404, 429, 500, 503])
async def test_what_is_not_taken_is_told_again_under_the_same_id(
    opened: Opening, status: int
) -> None:
    async with Consumer(failing(status, location="https://elsewhere.example/")) as erp:
        desk = opened(erp)
        await desk.ended()
        assert await desk.round() == 1
        assert await desk.round() == 0
        [waiting, *_] = [one for one in await desk.listed() if one.attempts]
        assert (waiting.attempts, str(status) in waiting.error) == (1, True)
        desk.clock.passes(seconds=6)
        assert await desk.round() == 1
        await desk.round()
    assert erp.names("r1") == ["flow.started", "flow.completed"]
    assert erp.ids[0] == erp.ids[1]


async def test_a_consumer_that_hangs_up_is_told_again(opened: Opening) -> None:
    answers = [Reply([Drop()], 503), json_reply({}), json_reply({})]
    async with Consumer(lambda _: answers.pop(0)) as erp:
        desk = opened(erp)
        await desk.ended()
        await desk.round()
        [waiting, *_] = [one for one in await desk.listed() if one.attempts]
        assert "broke off" in waiting.error
        desk.clock.passes(seconds=6)
        await desk.round()
        await desk.round()
    assert erp.names("r1") == ["flow.started", "flow.completed"]


async def test_retry_after_is_honoured(opened: Opening) -> None:
    async with Consumer(failing(503, retry_after="600")) as erp:
        desk = opened(erp)
        await desk.ended()
        await desk.round()
        desk.clock.passes(seconds=599)
        assert await desk.round() == 0
        desk.clock.passes(seconds=10)
        assert await desk.round() == 1


async def test_nothing_is_given_up_early_for_somebody_who_is_to_be_left_alone(
    opened: Opening,
) -> None:
    async with Consumer(failing(*[503] * 3, retry_after="86400")) as erp:
        desk = opened(erp)
        await desk.ended()
        for _ in range(3):
            assert await desk.round() == 1
            desk.clock.passes(hours=24)
        assert await desk.round() == 1
        assert await desk.listed("dead") == []
    assert erp.names("r1") == ["flow.started"]


@each_row(
    ("value", "seconds"),
    [
        *(("5", 5), ("0", 0), ("", 0), ("soon", 0), ("-5", 0), ("1e9", 0), ("٣", 3)),
        *(("9" * 400, 0), ("999999999", 86400)),
        ("Wed, 18 Nov 2026 10:01:00 GMT", 60),
        ("Wed, 18 Nov 2026 09:00:00 GMT", 0),
    ],
)
def test_what_a_retry_after_asks_for(value: str, seconds: float) -> None:
    now = datetime(2026, 11, 18, 10, tzinfo=UTC)
    assert wanted_wait(value, now).total_seconds() == seconds


def test_waits_grow_up_to_a_bound() -> None:
    waits = [wait_after(tries, 0.0) for tries in range(1, 40)]
    assert waits == sorted(waits)
    assert (waits[0], waits[-1]) == (timedelta(seconds=5), LONGEST_WAIT)
    assert wait_after(3, 1.0) == waits[2] * 0.75
    in_time = [sum(waits[:number], timedelta()) <= TRIED_FOR for number in range(40)]
    assert 12 < sum(in_time) < 25


@pytest.mark.slow
async def test_after_three_days_it_is_given_up_and_the_next_one_goes(
    opened: Opening, caplog: pytest.LogCaptureFixture
) -> None:
    answers = iter([json_reply({}, 500)] * 60)
    refused: list[str] = []

    def answer(event: dict[str, Any]) -> Reply:
        if event["type"] == "flow.started":
            refused.append(event["type"])
            return next(answers)
        return json_reply({})

    async with Consumer(answer) as erp:
        desk = opened(erp)
        await desk.ended()
        while not await desk.listed("dead"):
            await desk.round()
            desk.clock.passes(hours=4)
        await desk.round()
    [dead] = await desk.listed("dead")
    assert (dead.event, dead.error) == ("flow.started", "it answered 500")
    assert dead.attempts == len(refused) > 10
    assert erp.names("r1") == ["flow.completed"]
    assert "is given up" in caplog.text


async def test_410_ends_it_with_a_line(opened: Opening, caplog: pytest.LogCaptureFixture) -> None:
    async with Consumer(failing(410)) as erp:
        desk = opened(erp)
        await desk.ended()
        await desk.round()
        await desk.round()
        await desk.ended("r2")
        assert await desk.round() == 0
    assert len(erp.ids) == 1
    assert len(await desk.listed("dead")) == 4
    assert "answered 410 and is sent nothing more" in caplog.text


async def test_one_that_is_away_keeps_nobody_else_waiting(opened: Opening) -> None:
    async with Consumer() as erp:
        async with Consumer() as away:
            desk = opened(erp, away)
        await desk.ended()
        await desk.round()
        await desk.round()
    assert erp.names() == ["flow.started", "flow.completed"]
    errors = {one.url: one.error for one in await desk.listed() if one.attempts}
    assert "can't be reached" in errors[away.url]


@pytest.mark.slow
async def test_a_run_that_is_not_taken_holds_up_no_other(opened: Opening) -> None:
    def answer(event: dict[str, Any]) -> Reply:
        return json_reply({}, 500 if event["data"]["flow_run"] == "r1" else 200)

    async with Consumer(answer) as erp:
        desk = opened(erp)
        await desk.ended("r1")
        await desk.ended("r2")
        await desk.round()
        await desk.round()
    assert erp.names("r2") == ["flow.started", "flow.completed"]
    assert erp.names("r1") == []


async def test_an_address_that_nobody_allows_is_never_connected_to(opened: Opening) -> None:
    async with Consumer() as erp:
        desk = opened(erp, allowed=False)
        await desk.ended()
        await desk.round()
        [waiting, *_] = [one for one in await desk.listed() if one.attempts]
    assert "isn't public" in waiting.error
    assert erp.requests == []


async def test_an_endless_answer_is_not_read(opened: Opening) -> None:
    async with Consumer(lambda _: Reply([b"x" * 100_000] * 40, 200)) as erp:
        desk = opened(erp)
        await desk.ended()
        assert await desk.round() == 1
    assert len(await desk.listed()) == 1


async def test_what_was_being_sent_by_a_process_that_died_is_sent_again(opened: Opening) -> None:
    async with Consumer() as erp:
        desk = opened(erp)
        await desk.ended()
        now = datetime.now(UTC)
        subscription = desk.dispatcher.lines[0].consumer.subscription
        until = now + timedelta(seconds=60)
        assert len(await desk.store.webhooks.claim(subscription.consumer, now, until, 8)) == 1
        assert await desk.round() == 0
        desk.clock.passes(seconds=61)
        assert await desk.round() == 1


async def test_a_database_that_goes_away_is_a_warning_and_it_is_told_once_more(
    opened: Opening, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def away(*_: object) -> None:
        raise Unavailable("the database can't be used right now")

    async with Consumer() as erp:
        desk = opened(erp)
        await desk.ended()
        [line] = desk.dispatcher.lines
        with monkeypatch.context() as broken:
            broken.setattr(line.deliveries, "deliver", away)
            assert await desk.round() == 1
        assert [(one.levelname, one.exc_info) for one in caplog.records] == [("WARNING", None)]
        desk.clock.passes(seconds=61)
        assert [await desk.round() for _ in range(3)] == [1, 1, 0]
    assert erp.names("r1") == ["flow.started", "flow.completed"]
    assert erp.ids[0] == erp.ids[1]


def measured(name: str, url: str) -> float | None:
    return REGISTRY.get_sample_value(name, {"url": url})


async def test_the_backlog_is_counted(opened: Opening) -> None:
    async with Consumer(failing(*[500] * 9)) as erp:
        desk = opened(erp)
        await desk.ended()
        desk.clock.passes(minutes=11)
        await desk.dispatcher.tidy()
        age = measured("router_webhook_age_seconds", erp.url)
    assert age is not None
    assert age >= 600


@pytest.mark.slow
async def test_what_is_for_an_address_that_an_older_file_lacks_keeps_its_time(
    opened: Opening,
) -> None:
    """While a changed file is rolled out, processes with the old one lose nothing of the new."""
    async with Consumer() as erp, Consumer() as added:
        newer = opened(erp, added)
        await newer.ended()
        older = opened(erp)
        await older.dispatcher.tidy()
        await newer.round()
        await newer.round()
        assert added.names("r1") == ["flow.started", "flow.completed"]
        await newer.ended("r2")
        older.clock.passes(days=3, minutes=5)
        await older.dispatcher.tidy()
        await older.dispatcher.tidy()
        dead = await older.listed("dead")
        await older.dispatcher.tidy()
    assert {(one.url, one.subject) for one in dead} == {(added.url, "r2")}
    assert [one.event for one in reversed(dead)] == ["flow.started", "flow.completed"]
    assert measured("router_webhooks_dead", added.url) == 2


class Broken(Sender):
    """What connects to others, with a fault."""

    async def send(self, request: OutgoingRequest, seconds: float) -> Received:
        raise RuntimeError("a fault of ours")


async def test_what_can_never_be_sent_is_given_up_and_holds_up_its_run_no_longer(
    opened: Opening,
) -> None:
    async with Consumer() as erp:
        desk = opened(erp)
        await desk.ended()
        [line] = desk.dispatcher.lines
        line.sender = Broken(OutboundGuard())
        await desk.round()
        [tried] = [one for one in await desk.listed() if one.attempts]
        desk.clock.passes(days=3, minutes=1)
        await desk.round()
    [dead] = await desk.listed("dead")
    assert (tried.id, tried.attempts, tried.error) == (dead.id, 1, "it can't be sent: RuntimeError")
    assert [one.due is None for one in await desk.listed()] == [False]


async def test_a_fault_ends_no_counting(opened: Opening, monkeypatch: pytest.MonkeyPatch) -> None:
    counted = asyncio.Event()

    async with Consumer() as erp:
        desk = opened(erp)
        tidy, faults = desk.dispatcher.tidy, [RuntimeError("a fault of ours")]

        async def counting() -> None:
            if faults:
                raise faults.pop()
            await tidy()
            counted.set()

        monkeypatch.setattr(desk.dispatcher, "tidy", counting)
        monkeypatch.setattr(webhook_dispatcher, "COUNTED_EVERY", 0.0)
        async with desk.dispatcher.at_work(), asyncio.timeout(HANGS_AFTER_S):
            await counted.wait()


class TestOperators:
    @pytest.mark.slow
    async def test_they_see_what_was_given_up_and_have_it_sent_again(
        self, caller: As, store: Store, unique: str
    ) -> None:
        run = run_record(unique[:12], status="collecting", slots={"reason": "体检"})
        await store.runs.publish(run, [])
        path, olga = "/v1/webhooks/deliveries", caller("olga")
        waiting = (await olga.get(path, params={"state": "waiting"})).json()["items"]
        mine = next(one for one in waiting if one["subject"] == run.id)
        assert (mine["event"], mine["url"]) == ("flow.started", "https://told.example/hooks")
        assert "体检" not in str(waiting)
        found, _ = await store.webhooks.listed("default", "waiting", None, 200)
        delivery = next(one for one in found if one.subject == run.id)
        await store.webhooks.bury(delivery, "it answered 500")
        dead = (await olga.get(path)).json()["items"]
        assert next(one for one in dead if one["id"] == mine["id"])["error"] == "it answered 500"
        again = (await olga.post(f"{path}/{mine['id']}/retry")).json()
        assert (again["state"], again["due"] is not None) == ("waiting", True)
        acts = (await olga.get("/v1/audit", params={"act": "webhooks.retry"})).json()["items"]
        assert mine["id"] in [act["subject"] for act in acts]

    async def test_nobody_else_does(self, caller: As) -> None:
        for user in ("alice", "bob"):
            problem(await caller(user).get("/v1/webhooks/deliveries"), 404)
            problem(await caller(user).post("/v1/webhooks/deliveries/msg_1/retry"), 404)

    @pytest.mark.parametrize("query", ["state=gone", "limit=0", "limit=x", "after=%00", "state="])
    async def test_a_question_that_is_none_is_refused(self, caller: As, query: str) -> None:
        problem(await caller("olga").get(f"/v1/webhooks/deliveries?{query}"), 422)

    @pytest.mark.parametrize("id_", ["msg_none", "%00", "选", "x" * 201])
    async def test_there_is_none_by_another_name(self, caller: As, id_: str) -> None:
        problem(await caller("olga").post(f"/v1/webhooks/deliveries/{id_}/retry"), 404)


THEIRS = "whsec_" + base64.b64encode(b"the warehouse signs with this one").decode()
WAREHOUSE = EventSource(
    "warehouse", WebhookSecrets.read(THEIRS), frozenset({"hr"}), "default", ("leave_*",)
)
OTHERS = EventSource("elsewhere", WebhookSecrets.read(SECRET), frozenset({"hr"}), "acme")


def told(
    headers: dict[str, str], body: str, run: str, name: str = "arrived"
) -> tuple[str, dict[str, Any]]:
    sent = {"content-type": "application/json", **headers}
    return f"/v1/flow-runs/{run}/events/{name}", {"content": body.encode(), "headers": sent}


def signed(secret: str, body: str, id_: str, at: datetime | None = None) -> dict[str, str]:
    return WebhookSecrets.read(secret).headers(id_, at or datetime.now(UTC), body)


Signing = Callable[..., Any]


class TestSignedEvents:
    @pytest.fixture
    async def live(self, store: Store, temporal: Client, unique: str) -> RunRecord:
        """A run with a workflow that knows an event."""
        record = run_record(unique[:12])
        await temporal.start_workflow(flow.WORKFLOW, "bob", id=record.workflow_id, task_queue=QUEUE)
        await store.runs.publish(record, [])
        return record

    @pytest.fixture
    async def outside(self, services: Services) -> AsyncIterator[AsyncClient]:
        """Another system, which has no token."""
        app = create_app(replace(services, systems=OtherSystems(telling=(WAREHOUSE, OTHERS))))
        async with client_of(app, None) as client:
            yield client

    async def tell(
        self, client: AsyncClient, run: str, headers: dict[str, str], body: str = '{"boxes": 2}'
    ) -> Response:
        path, sent = told(headers, body, run)
        return await client.post(path, **sent)

    async def test_it_is_told_once_however_often_it_comes(
        self, outside: AsyncClient, live: RunRecord, unique: str
    ) -> None:
        body, unique = '{"boxes": 2}', f"{live.id}/arrived/{unique}"
        for at in (None, datetime.now(UTC) - timedelta(minutes=4)):
            answer = await self.tell(outside, live.id, signed(THEIRS, body, unique, at), body)
            assert answer.json() == {"id": live.id, "status": "waiting", "state": "after 2"}
        other = '{"boxes": 3}'
        problem(await self.tell(outside, live.id, signed(THEIRS, other, unique), other), 422)
        new = signed(THEIRS, body, f"{unique}-2")
        problem(await self.tell(outside, live.id, new, body), 409)

    @pytest.mark.slow
    @pytest.mark.parametrize(
        ("how", "status"),
        [
            (lambda _, u: signed(THEIRS, '{"boxes": 2}', u.replace("arrived", "damaged")), 401),
            (lambda _, u: signed(THEIRS, '{"boxes": 2}', f"another-{u}"), 401),
            (lambda _, u: signed(THEIRS, '{"boxes": 2}', u.rpartition("/")[2]), 401),
            (lambda _, u: signed(THEIRS, '{"boxes": 2}', u.rpartition("/")[0] + "/"), 401),
            (lambda _, u: signed(SECRET, '{"boxes": 2}', u), 404),
            (lambda _, u: signed(THEIRS, '{"boxes": 1}', u), 401),
            (lambda h, _: {**h, "webhook-id": "another"}, 401),
            (lambda h, _: {**h, "webhook-id": ""}, 401),
            (lambda h, _: {n: v for n, v in h.items() if n != "webhook-timestamp"}, 401),
            (lambda h, _: {n: v for n, v in h.items() if n != "webhook-signature"}, 401),
            (lambda h, _: {**h, "webhook-signature": "v1,eA=="}, 401),
            (lambda h, _: {**h, "webhook-signature": "nonsense"}, 401),
            (lambda h, _: {**h, "webhook-timestamp": "1"}, 401),
            (lambda _, u: signed(THEIRS, '{"boxes": 2}', u, NOW - timedelta(minutes=9)), 401),
            (lambda _, u: signed(THEIRS, '{"boxes": 2}', u, NOW + timedelta(hours=1)), 401),
            (lambda h, _: {**h, "authorization": "Bearer alice"}, 404),
            (lambda h, _: {**h, "authorization": "Bearer nobody"}, 401),
            (lambda h, _: {**h, "authorization": ""}, 401),
        ],
    )
    async def test_what_is_not_signed_for_it_is_refused(
        self, outside: AsyncClient, live: RunRecord, unique: str, how: Signing, status: int
    ) -> None:
        id_ = f"{live.id}/arrived/{unique}"
        headers = how(signed(THEIRS, '{"boxes": 2}', id_), id_)
        problem(await self.tell(outside, live.id, headers), status)

    async def test_its_roles_and_flows_bound_it(
        self, services: Services, live: RunRecord, unique: str
    ) -> None:
        headers = signed(THEIRS, '{"boxes": 2}', f"{live.id}/arrived/{unique}")
        narrow = replace(WAREHOUSE, flows=("purchase_*",))
        roleless = replace(WAREHOUSE, roles=frozenset({"payroll"}))
        for sources in ((narrow,), (roleless,), (replace(WAREHOUSE, tenant="acme"),)):
            app = create_app(replace(services, systems=OtherSystems(telling=sources)))
            async with client_of(app, None) as client:
                problem(await self.tell(client, live.id, headers), 404)

    async def test_where_no_source_is_named_it_is_nobody(
        self, services: Services, live: RunRecord, unique: str
    ) -> None:
        async with client_of(create_app(services), None) as client:
            headers = signed(THEIRS, '{"boxes": 2}', f"{live.id}/arrived/{unique}")
            problem(await self.tell(client, live.id, headers), 401)

    @pytest.mark.parametrize("path", ["withdraw", "nudge", "retry", "events/arrived/more"])
    async def test_a_signature_opens_nothing_else(
        self, outside: AsyncClient, live: RunRecord, unique: str, path: str
    ) -> None:
        _, sent = told(signed(THEIRS, "{}", f"{live.id}/{path}/{unique}"), "{}", live.id)
        answer = await outside.post(f"/v1/flow-runs/{live.id}/{path}", **sent)
        assert answer.status_code in {401, 404}
        assert (await outside.get(f"/v1/flow-runs/{live.id}", headers=sent["headers"])).is_error

    @pytest.mark.slow
    @pytest.mark.parametrize(
        ("body", "status"),
        [
            *(("[]", 422), ("{", 400), ('{"boxes": 2, "boxes": 3}', 400), ('"x"', 422)),
            *(('{"boxes": "two"}', 422), ('{"no": 1}', 422), ("x" * 70_000, 413)),
        ],
    )
    async def test_what_it_brings_is_looked_at_as_anybodys(
        self, outside: AsyncClient, live: RunRecord, unique: str, body: str, status: int
    ) -> None:
        headers = signed(THEIRS, body, f"{live.id}/arrived/{unique}")
        problem(await self.tell(outside, live.id, headers, body), status)

    @pytest.mark.parametrize("about", [{"webhook-timestamp": "1"}, {"webhook-id": "another"}])
    async def test_what_nobody_can_have_signed_is_refused_before_its_body_is_read(
        self, outside: AsyncClient, live: RunRecord, unique: str, about: dict[str, str]
    ) -> None:
        async def endless() -> AsyncIterator[bytes]:
            yield b"{"
            raise AssertionError("more of the body was asked for")

        headers = signed(THEIRS, "{", f"{live.id}/arrived/{unique}") | about
        path, sent = told(headers, "", live.id)
        problem(await outside.post(path, **{**sent, "content": endless()}), 401)

    async def test_a_part_of_a_flow_that_is_not_its_own_is_not_told_through_the_whole(
        self, services: Services, store: Store, temporal: Client, live: RunRecord, unique: str
    ) -> None:
        """The run is of a flow that it may tell, and what waits in it is of another."""
        part = run_record(f"{unique[:10]}-p", flow="handover", parent=live.workflow_id)
        await temporal.start_workflow(
            flow.WORKFLOW, "bob listening", id=part.workflow_id, task_queue=QUEUE
        )
        await store.runs.publish(part, [])
        answers = []
        for number, flows in enumerate([("leave_*",), None]):
            systems = OtherSystems(telling=(replace(WAREHOUSE, flows=flows),))
            async with client_of(create_app(replace(services, systems=systems)), None) as client:
                headers = signed(THEIRS, '{"boxes": 2}', f"{live.id}/arrived/{unique}-{number}")
                answers.append((await self.tell(client, live.id, headers)).json()["id"])
        assert answers == [live.id, part.id]


async def test_a_file_that_is_not_there_is_said_at_start(services: Services) -> None:
    settings = services.settings.model_copy(update={"webhooks": Path("/nowhere/webhooks.yaml")})
    with pytest.raises(MisconfiguredError, match="isn't there"):
        OtherSystems.of(settings)
