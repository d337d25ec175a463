"""The traffic of some days, as operators get it, and why a run is held."""

import csv
import io
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from httpx import AsyncClient

from router.domain.locale import Localised
from router.domain.messages import Usage
from router.domain.run_history import HistoryEntry, Incident
from router.extensions.statistics.routes.traffic import as_csv, handing_in
from router.extensions.statistics.traffic import (
    FlowTraffic,
    Traffic,
)
from router.store.store import Store
from tests.integration.api.conftest import As, problem
from tests.integration.api.test_runs import approval_record, run_record
from tests.integration.store.extensions.statistics.test_store import turn
from tests.table import each_row
from tests.unit.flow.definitions import text
from tests.workflow.test_wider_flows import approval, flow

DAY = datetime(2019, 5, 6, 9, tzinfo=UTC)
"""A day on which nobody else in these tests does anything."""
THAT_DAY = {"since": "2019-05-06", "until": "2019-05-06"}


@pytest.fixture
def olga(caller: As) -> AsyncClient:
    return caller("olga")


async def got(client: AsyncClient, **query: str) -> dict[str, Any]:
    answer = await client.get("/v1/traffic", params=query)
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


@pytest.fixture
async def busy(store: Store, unique: str) -> str:
    """A day of two turns, a finished run and one that was given up; the flow of those."""
    flow, title = f"f_{unique[:10]}", Localised(zh="=请假", en="=Leave")
    await store.log.append(
        "default",
        [turn(f"{unique}1", DAY), turn(f"{unique}2", DAY, kind="clarify", target=None)],
    )
    await store.log.append("acme", [turn(f"{unique}3", DAY)])
    about: dict[str, Any] = {"flow": flow, "title": title, "created_at": DAY}
    given_up = [HistoryEntry(at=DAY, state="details", event="withdrawn")]
    records = [
        run_record(f"{unique[:9]}1", status="completed", **about),
        run_record(f"{unique[:9]}2", status="cancelled", history=given_up, **about),
    ]
    for record in records:
        await store.runs.publish(record, [])
    decided: dict[str, Any] = {
        "since": DAY - timedelta(hours=6),
        "decided_at": DAY,
        "verdict": "approve",
    }
    asked = approval_record(records[0], title=title, active=False, **decided)
    await store.runs.publish(records[0].model_copy(update={"events": 9}), [asked])
    await store.spending.add("default", unique, DAY.date(), Usage(llm_calls=1, prompt_tokens=5))
    return flow


async def test_what_went_on_is_summed_up(olga: AsyncClient, busy: str) -> None:
    found = await got(olga, **THAT_DAY)
    (day,) = found["days"]
    assert day["turns"] >= 2
    assert day["turns"] == sum(day["routes"].values()) == sum(day["by"].values())
    assert day["misses"] == day["routes"]["clarify"]
    (line,) = [each for each in found["flows"] if each["flow"] == busy]
    counted = {"begun": 2, "completed": 1, "cancelled": 1, "abandoned": 1, "under_way": 0}
    assert line.items() >= counted.items()
    (asked,) = [each for each in found["approvals"] if each["flow"] == busy]
    assert (asked["decided"], asked["median_hours"], asked["p90_hours"]) == (1, 6.0, 6.0)
    assert found["model"][0]["prompt_tokens"] >= 5


async def test_the_last_seven_days_are_the_default(olga: AsyncClient) -> None:
    found = await got(olga)
    assert (len(found["days"]), found["timezone"]) == (7, "Asia/Shanghai")
    assert len((await got(olga, days="30", until="2019-05-06"))["days"]) == 30


@each_row("path", ["/v1/traffic?", "/v1/traffic.csv?table=days&"])
async def test_is_for_operators_and_each_look_is_noted(
    caller: As, olga: AsyncClient, path: str
) -> None:
    path += "&".join(f"{name}={day}" for name, day in THAT_DAY.items())
    told = problem(await caller("alice").get(path), 403)
    assert told["detail"] == "Only an operator may see the traffic of the house."
    assert (await olga.get(path)).status_code == 200
    (line, *_) = (await olga.get("/v1/audit?act=traffic.read")).json()["items"]
    assert line["detail"].startswith("since=2019-05-06 until=2019-05-06")


@each_row(
    "query",
    [
        *("since=yesterday", "since=20260101", "since=2026-02-30", "since=1700000000"),
        *("since=2026-11-23T09:00:00Z", "since=0001-01-01", "until=9999-12-31", "until="),
        *("since=2026-01-01%0A", "since=2026-01-02&until=2026-01-01"),
        *("since=2026-01-01&until=2026-04-03", "since=2999-12-31&until=1970-01-01"),
        *("days=0", "days=93", "days=week", "days=7&since=2026-01-01"),
    ],
)
async def test_days_that_are_none_or_too_many_are_refused(olga: AsyncClient, query: str) -> None:
    for path in ("/v1/traffic?", "/v1/traffic.csv?table=days&"):
        told = problem(await olga.get(path + query), 422)
        assert query.partition("=")[0] in told["detail"]


async def test_the_ends_of_what_can_be_asked_for_are_fine(olga: AsyncClient) -> None:
    for ends in ("2999-12-31", "1970-01-01"):
        assert (await got(olga, since=ends, until=ends))["flows"] == []


@each_row("table", ["", "people", "days;drop"])
async def test_no_other_table_is_exported(olga: AsyncClient, table: str) -> None:
    problem(await olga.get("/v1/traffic.csv", params={"table": table}), 422)


@pytest.mark.parametrize("table", ["days", "flows", "approvals", "model"])
async def test_a_table_is_csv_with_its_names_first(
    olga: AsyncClient, busy: str, table: str
) -> None:
    answer = await olga.get("/v1/traffic.csv", params={**THAT_DAY, "table": table})
    assert answer.headers["content-type"] == "text/csv; charset=utf-8"
    name = f"traffic-{table}-2019-05-06-2019-05-06.csv"
    assert name in answer.headers["content-disposition"]
    found = (await got(olga, **THAT_DAY))[table]
    rows = list(csv.DictReader(io.StringIO(answer.text, newline="")))
    assert len(rows) == len(found)
    shared = set(rows[0]) & set(found[0]) - {"title"}
    assert {key: rows[0][key] for key in shared} == {key: str(found[0][key]) for key in shared}
    if table == "flows":
        assert {row["title"] for row in rows if row["flow"] == busy} == {"'=Leave"}


@each_row("begins", ["=1+1", "+1", "-1", "@SUM", "\t=1", "\r=1"])
def test_no_cell_is_a_formula_to_a_spreadsheet(begins: str) -> None:
    counts = dict.fromkeys(FlowTraffic.model_fields, 0) | {"flow": "f", "title": f'{begins}",\n'}
    days = {"since": DAY.date(), "until": DAY.date(), "timezone": "UTC", "median_hours": None}
    lists: dict[str, Any] = {"days": [], "approvals": [], "model": []}
    found = Traffic.model_validate({**days, **lists, "flows": [counts]})
    (row,) = csv.DictReader(io.StringIO(as_csv(found, "flows"), newline=""))
    assert row["title"] == f"'{begins}\",\n"


def test_a_call_hands_in_where_nothing_is_confirmed_and_only_looks_up_where_it_is() -> None:
    pay, boss = {"call": "pay", "next": "boss"}, approval("bob", "good")
    refused = {"say": text("no"), "end": "rejected"}
    at_once = flow("at_once", pay=pay, boss=boss, refused=refused)
    assert handing_in(at_once) == {"pay", "boss"}
    sure = {"confirm": text("Sure?"), "confirmed": "boss", "declined": "bad"}
    asked_first = flow(
        "asked_first", pay=pay | {"next": "sure"}, sure=sure, boss=boss, refused=refused
    )
    assert handing_in(asked_first) == {"boss"}


class TestHeldBecause:
    @pytest.fixture
    async def held(self, store: Store, unique: str) -> str:
        at = datetime.now(UTC)
        incident = Incident(kind="call", at=at, name="tangle", detail="10.0.0.7")
        record = run_record(unique[:12], incident=incident)
        await store.runs.publish(record, [approval_record(record)])
        return record.id

    async def test_is_told_to_operators_and_its_requester_in_their_language(
        self, caller: As, olga: AsyncClient, held: str
    ) -> None:
        async def told(client: AsyncClient) -> str | None:
            why: str | None = (await client.get(f"/v1/flow-runs/{held}")).json()["held_because"]
            return why

        assert "“tangle English” failed with “10.0.0.7”; it has" in (await told(olga) or "")
        own = await told(caller("alice")) or ""
        assert own.startswith("“tangle 中文”没有办成；从")
        assert "10.0.0.7" not in own
        assert await told(caller("bob")) is None

    async def test_is_listed(self, olga: AsyncClient, held: str) -> None:
        listed = (await olga.get("/v1/flow-runs?all=true&held=true&limit=200")).json()["items"]
        (one,) = [each for each in listed if each["id"] == held]
        assert "retry it, or terminate" in one["held_because"]


async def test_who_came_in_is_no_act_unless_asked_for(olga: AsyncClient, caller: As) -> None:
    await caller("gina").get("/v1/me")
    await olga.get("/v1/turns")
    listed = (await olga.get("/v1/audit?limit=200")).json()["items"]
    assert listed
    assert "person.sign_in" not in {line["act"] for line in listed}
    theirs = (await olga.get("/v1/audit?act=person.sign_in")).json()["items"]
    assert {line["act"] for line in theirs} == {"person.sign_in"}
