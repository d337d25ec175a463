"""How many requests a person and a tenant may make."""

import threading
from contextlib import AsyncExitStack
from dataclasses import replace
from typing import Any

import pytest
from httpx import AsyncClient, Response

from router.api.dependencies import Services
from router.api.limits import (
    MINUTE,
    TENANT_TEXT_SECONDS_PER_MINUTE,
    USER_TEXT_SECONDS_PER_MINUTE,
    Buckets,
    RateLimits,
)
from router.directory.file import FileDirectory
from router.domain.errors import TooManyRequests
from router.domain.messages import Message
from router.domain.principals import Principal
from router.flow.paused import Situation
from router.isolation.text_work import LONG_TEXT_CHARS
from router.runtime.server import create_app
from router.settings import Settings
from router.understanding.reading import Reading
from tests.fakes.clock import Clock
from tests.integration.api.conftest import LeaveReader, client_of, problem, until
from tests.table import each_row

MANY = 1_000_000


def test_a_minutes_worth_may_come_at_once_and_then_evenly(clock: Clock) -> None:
    buckets = Buckets(6, clock)
    assert [buckets.wait("alice") for _ in range(6)] == [0.0] * 6
    for _ in range(50):  # what is refused costs nothing
        assert buckets.wait("alice") == pytest.approx(10)
    clock.now += 10
    assert [buckets.wait("alice") > 0 for _ in range(2)] == [False, True]
    clock.now += 100 * MINUTE
    assert [buckets.wait("alice") > 0 for _ in range(7)] == [False] * 6 + [True]


def test_it_keeps_no_more_buckets_than_it_may(clock: Clock) -> None:
    buckets = Buckets(1, clock, max_buckets=2)
    for name in ("alice", "bob", "carol"):
        assert buckets.wait(name) == 0
    assert buckets.wait("carol") > 0
    assert buckets.wait("alice") == 0  # forgotten


def test_one_person_uses_up_nobody_elses(clock: Clock) -> None:
    rates = RateLimits(per_user=1, per_tenant=MANY, clock=clock)
    for name, tenant in (("alice", "default"), ("bob", "default"), ("alice", "other")):
        rates.admit(Principal(id=name, name=name, tenant=tenant))
    with pytest.raises(TooManyRequests) as refused:
        rates.admit(Principal(id="alice", name="alice"))
    assert refused.value.retry_after == 60
    assert "60" in refused.value.said.zh


def test_a_tenant_has_a_limit_over_all_its_people(clock: Clock) -> None:
    rates = RateLimits(per_user=MANY, per_tenant=2, clock=clock)
    for name in ("alice", "bob"):
        rates.admit(Principal(id=name, name=name))
    with pytest.raises(TooManyRequests, match="company"):
        rates.admit(Principal(id="carol", name="carol"))
    rates.admit(Principal(id="dave", name="dave", tenant="other"))


RUN = {
    "threadId": "t",
    "runId": "r",
    "messages": [{"id": "m", "role": "user", "content": "我要请假"}],
}


@each_row(
    ("method", "path", "body"),
    [("GET", "/v1/approvals", None), ("POST", "/ag-ui", RUN), ("POST", "/mcp", {})],
)
async def test_429_says_when_to_come(services: Services, method: str, path: str, body: Any) -> None:
    settings = services.settings.model_copy(update={"user_requests_per_minute": 2})
    app = create_app(replace(services, settings=settings))
    async with client_of(app, "dave") as dave, client_of(app, "gina") as gina:
        for status in (200, 200, 429):
            assert (await gina.get("/v1/capabilities")).status_code == status
        refused = await gina.request(method, path, json=body)
        assert "太频繁" in problem(refused, 429)["detail"]
        assert 1 <= int(refused.headers["retry-after"]) <= 60
        assert (await dave.get("/v1/capabilities")).status_code == 200
        assert (await gina.get("/healthz")).status_code == 200


PEOPLE = """
users:
  - {id: alice, name: Alice, locale: zh}
  - {id: bob, name: Bob, locale: en}
  - {id: carol, name: Carol, locale: en, tenant: acme}
"""


FEW = {"user_open_turns": 2, "tenant_open_turns": 3}


async def test_who_has_many_open_turns_is_refused_before_others_wait(services: Services) -> None:
    crowd = replace(services, directory=FileDirectory.read(PEOPLE, "people"))
    app = create_app(replace(crowd, settings=crowd.settings.model_copy(update=FEW)))
    async with AsyncExitStack() as stack:
        whose = ("alice", "bob", "acme/carol")
        alice, bob, carol = [await stack.enter_async_context(client_of(app, w)) for w in whose]

        async def sent(client: AsyncClient, text: str = "slow", accept: str = "*/*") -> Response:
            """In a conversation of its own."""
            begun = (await client.post("/v1/conversations")).json()["id"]
            wait = 0.1 if text == "slow" else 60
            path, headers = f"/v1/conversations/{begun}/messages?wait={wait}", {"Accept": accept}
            return await client.post(path, json=body | {"text": text}, headers=headers)

        body = {"text": "slow", "message_id": "m"}
        held = [await sent(alice), await sent(alice)]
        assert [answer.status_code for answer in held] == [202, 202]
        for refused in (await sent(alice), await sent(alice, accept="text/event-stream")):
            assert "已有 2 条消息" in problem(refused, 429)["detail"]
            assert int(refused.headers["retry-after"]) > 0
        path = held[0].url.path
        assert (await alice.post(f"{path}?wait=0.1", json=body)).status_code == 202
        assert (await sent(bob)).status_code == 202
        assert "your company" in problem(await sent(bob), 429)["detail"]
        assert (await sent(carol, "hello")).status_code == 200
        await alice.post(path.replace("messages", "cancel"))
        await until(lambda: sent(alice, "hello"), lambda answer: answer.status_code == 200)


def test_limits_are_there_without_a_setting(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in Settings.variables():
        monkeypatch.delenv(name, raising=False)
    known = Settings(_env_file=None)
    assert (known.user_requests_per_minute, known.tenant_requests_per_minute) == (1200, 12_000)
    assert (known.user_open_turns, known.tenant_open_turns) == (12, 100)
    assert known.user_files_per_day == 200


@each_row(("of", "others"), [("user", 1), ("tenant", 4)])
def test_who_has_much_text_read_waits_until_the_time_is_made_up(
    clock: Clock, of: str, others: int
) -> None:
    rates = RateLimits(per_user=MANY, per_tenant=MANY, clock=clock)
    people = [Principal(id=f"p{n}", name="P") for n in range(others)]
    each = {"user": USER_TEXT_SECONDS_PER_MINUTE, "tenant": TENANT_TEXT_SECONDS_PER_MINUTE}[of]
    for person in people:
        rates.charge(person, each / others + 0.5 / others)
    asking = people[0] if of == "user" else Principal(id="colleague", name="C")
    with pytest.raises(TooManyRequests, match="took too long to read") as refused:
        rates.admit(asking)
    rates.admit(Principal(id="dave", name="dave", tenant="other"))
    clock.now += refused.value.retry_after
    rates.admit(asking)


class ThreadNoting(LeaveReader):
    """Reads as another, and notes in which thread."""

    def __init__(self) -> None:
        self.threads: list[str] = []

    def of(self, tenant: str, person: str | None = None) -> "ThreadNoting":
        del tenant, person
        return self

    def read(self, message: Message, situation: Situation) -> Reading:
        self.threads.append(threading.current_thread().name)
        return super().read(message, situation)


@each_row(("characters", "beside"), [(LONG_TEXT_CHARS, False), (7_999, True)])
async def test_a_long_text_is_read_beside_the_loop(
    services: Services, characters: int, beside: bool
) -> None:
    reader = ThreadNoting()
    async with client_of(create_app(replace(services, reader=reader)), "alice") as alice:
        answer = await alice.post("/v1/route", json={"text": "十" * characters})
    assert answer.status_code == 200
    assert [name != threading.current_thread().name for name in reader.threads] == [beside]


async def test_the_time_that_texts_take_is_counted(services: Services, clock: Clock) -> None:
    app = create_app(replace(services, reader=ThreadNoting()))
    rates = RateLimits(MANY, MANY, clock)
    app.state.shared = replace(app.state.shared, rates=rates)
    async with client_of(app, "alice") as alice, client_of(app, "bob") as bob:
        me = await services.directory.find("default", "alice")
        assert me is not None
        rates.charge(me, USER_TEXT_SECONDS_PER_MINUTE)
        first = await alice.post("/v1/route", json={"text": "十" * 7_999})
        second = await alice.post("/v1/route", json={"text": "hello"})
        other = await bob.post("/v1/route", json={"text": "hello"})
    assert [each.status_code for each in (first, second, other)] == [200, 429, 200]
