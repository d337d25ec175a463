"""How a flow goes, as its authors and operators get it."""

import csv
import io
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Any
from xml.etree import ElementTree as ET

import pytest
from httpx import AsyncClient

from router.api.dependencies import Services
from router.domain.run_history import HistoryEntry
from router.drawing import svg
from router.store.store import Store
from tests.integration.api.conftest import problem
from tests.integration.api.extensions.authoring.reviewed import Room
from tests.integration.api.extensions.authoring.test_flow_publications import later, people
from tests.integration.api.test_configuration import Company
from tests.integration.api.test_runs import approval_record, run_record
from tests.unit.runtime.documents import overtime

__all__ = ["people"]

DAY = datetime(2019, 6, 3, 1, tzinfo=UTC)
"""A day on which nobody else in these tests does anything."""
_NUMBERS = count()
THAT_DAY = {"since": "2019-06-03", "until": "2019-06-03"}


def lines(*steps: tuple[float, str, str, str | None]) -> list[HistoryEntry]:
    return [
        HistoryEntry(at=DAY + timedelta(hours=after), state=state, event=event, comment=said)
        for after, state, event, said in steps
    ]


APPROVED = lines(
    (0, "details", "began", None),
    (1, "review", "next", None),
    (1, "manager", "confirmed", None),
    (7, "manager", "approve", None),
    (7, "tell", "approved", None),
)
SENT_BACK = lines(
    (0, "details", "began", None),
    (1, "review", "next", None),
    (1, "manager", "confirmed", None),
    (3, "manager", "return", "=which day?"),
    (3, "details", "returned", None),
    (4, "details", "cancelled", None),
)


@pytest.fixture
def company(services: Services) -> Company:
    return Company(services, f"s{next(_NUMBERS)}")


@pytest.fixture
async def flow(store: Store, company: Company, unique: str) -> str:
    """The name of a flow of two runs: one approved by version 1, one of version 2 given up."""
    name = f"f_{unique[:10]}"
    about: dict[str, Any] = {"flow": name, "created_at": DAY, "tenant": company.tenant}
    first = run_record(
        f"{unique[:9]}1", status="completed", history=APPROVED, asked={"day": 2}, version=1, **about
    )
    second = run_record(
        f"{unique[:9]}2",
        status="cancelled",
        history=SENT_BACK,
        asked={"day": 1},
        version=2,
        **about,
    )
    strangers = first.model_copy(update={"tenant": "acme"})
    decided: dict[str, Any] = {
        "flow": name,
        "tenant": company.tenant,
        "since": DAY + timedelta(hours=1),
        "decided_at": DAY + timedelta(hours=7),
        "verdict": "approve",
        "active": False,
    }
    await store.runs.publish(first, [approval_record(first, **decided)])
    await store.runs.publish(second, [])
    await store.runs.publish(strangers, [])
    return name


async def got(client: AsyncClient, flow: str, **query: str) -> dict[str, Any]:
    answer = await client.get(f"/v1/flow-statistics/{flow}", params=THAT_DAY | query)
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


async def test_a_flow_is_told_by_states_ways_slots_and_versions(
    company: Company, flow: str
) -> None:
    found = await got(company("olga"), flow)
    states = {each["state"]: each for each in found["states"]}
    assert states["manager"] == {
        "state": "manager",
        "entered": 2,
        "here": 0,
        "median_hours": 2.0,
        "p90_hours": 6.0,
        "returned": 1,
        "cancelled": 0,
        "expired": 0,
        "failed": 0,
        "silent": 0,
    }
    assert (states["details"]["entered"], states["details"]["cancelled"]) == (3, 1)
    assert {
        "source": "manager",
        "event": "returned",
        "target": "details",
        "taken": 1,
        "share": None,
    } in (found["ways"])
    assert found["slots"] == [{"slot": "day", "runs": 2, "again": 1, "times": 3}]
    assert [(each["version"], each["begun"]) for each in found["versions"]] == [(2, 1), (1, 1)]
    (bob,) = found["approvers"]
    assert (bob["decided"], bob["approved"], bob["median_hours"]) == (1, 1, 6.0)
    assert found["reasons"] == [{"state": "manager", "reason": "=which day?", "times": 1}]
    assert found["days"] == [{"day": "2019-06-03", "begun": 2, "completed": 1, "given_up": 1}]


async def test_one_version_is_told_beside_how_many_there_were_of_each(
    company: Company, flow: str
) -> None:
    found = await got(company("olga"), flow, version="2")
    assert {each["state"] for each in found["states"]} == {"details", "review", "manager"}
    assert found["approvers"] == []
    assert len(found["versions"]) == 2


async def test_an_author_sees_no_people_and_none_of_their_words(
    company: Company, flow: str
) -> None:
    found = await got(company("anna"), flow)
    assert (found["approvers"], found["reasons"]) == (None, None)
    assert found["states"]
    table = await company("anna").get(
        f"/v1/flow-statistics/{flow}.csv", params=THAT_DAY | {"table": "reasons"}
    )
    assert table.text.splitlines() == ["state,reason,times"]


async def test_each_look_is_noted_and_an_employee_gets_none(
    company: Company, store: Store, flow: str
) -> None:
    refused = await company("alice").get(f"/v1/flow-statistics/{flow}", params=THAT_DAY)
    problem(refused, 404)
    await got(company("olga"), flow)
    trail = (await company("olga").get("/v1/audit")).json()["items"]
    assert [(each["who"], each["act"]) for each in trail if each["subject"] == flow] == [
        ("olga", "flow.statistics")
    ]


@pytest.mark.parametrize(
    ("query", "status"),
    [
        ({"since": "2019-06-31"}, 422),
        ({"since": "2019-06-04", "until": "2019-06-03"}, 422),
        ({"days": "93"}, 422),
        ({"version": "0"}, 422),
        ({"version": "99999999999"}, 422),
        ({"version": "two"}, 422),
    ],
)
async def test_what_can_t_be_asked_for_is_refused(
    company: Company, flow: str, query: dict[str, str], status: int
) -> None:
    answer = await company("olga").get(f"/v1/flow-statistics/{flow}", params=query)
    assert answer.status_code == status
    problem(answer, status)


@pytest.mark.parametrize(
    "path", ["nobodys", "nobodys/picture", "nobodys.csv?table=states", "%F0%9F%92%A9"]
)
async def test_a_flow_that_is_none_is_not_found(company: Company, path: str) -> None:
    answer = await company("olga").get(f"/v1/flow-statistics/{path}")
    problem(answer, 404)


async def test_a_table_is_csv_in_which_no_cell_is_a_formula(company: Company, flow: str) -> None:
    answer = await company("olga").get(
        f"/v1/flow-statistics/{flow}.csv", params=THAT_DAY | {"table": "reasons"}
    )
    assert answer.headers["content-type"].startswith("text/csv")
    assert [*csv.DictReader(io.StringIO(answer.text))] == [
        {"state": "manager", "reason": "'=which day?", "times": "1"}
    ]


@pytest.mark.parametrize(("language", "said"), [("zh", "一半在"), ("en", "half within")])
async def test_figures_are_drawn_on_the_flow_in_the_reader_s_language(
    company: Company, store: Store, unique: str, language: str, said: str
) -> None:
    history = lines((0, "details", "began", None), (2, "balance", "next", None))
    record = run_record(
        unique[:10],
        flow="leave_request",
        status="confirming",
        history=history,
        created_at=DAY,
        tenant=company.tenant,
    )
    await store.runs.publish(record, [])
    answer = await company("olga").get(
        "/v1/flow-statistics/leave_request/picture",
        params=THAT_DAY,
        headers={"X-Locale": language},
    )
    assert answer.headers["content-type"] == "image/svg+xml"
    assert "sandbox" in answer.headers["content-security-policy"]
    drawn = ET.fromstring(answer.text)
    words = " ".join(drawn.itertext())
    assert said in words
    assert answer.text.count("edge taken broad") >= 1


async def test_figures_are_not_drawn_on_more_ways_than_can_be_drawn_soon(
    company: Company, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(svg, "MOST_WAYS", 1)
    path = "/v1/flow-statistics/leave_request/picture"
    refused = problem(await company("olga").get(path, params=THAT_DAY), 422)
    assert "can't be drawn" in refused["detail"]


@pytest.mark.slow
@pytest.mark.parametrize("to_come", [False, True], ids=["of a share", "to come"])
async def test_a_new_flow_that_not_everybody_has_yet_has_figures(
    people: Room, to_come: bool
) -> None:
    at = {"at": later(hours=5)} if to_come else {"share": 10}
    await people.published(overtime(), **at)
    days = {"since": "2026-11-01", "until": "2026-11-02"}
    for path in ("overtime", "overtime/picture"):
        answer = await people.olga.client.get(f"/v1/flow-statistics/{path}", params=days)
        assert answer.status_code == 200, answer.text
