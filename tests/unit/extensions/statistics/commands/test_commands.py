"""What operators read of traffic and costs: tables, JSON, and CSV as it comes."""

import json
from typing import Any

import pytest

from tests.unit.cli.conftest import Run
from tests.unit.cli.test_operators import Api, api

__all__ = ["api"]

TRAFFIC: dict[str, Any] = {"since": "2026-11-23", "until": "2026-11-24", "timezone": "UTC"}
TRAFFIC |= {"flows": [], "median_hours": None, "model": []}
TRAFFIC["days"] = [
    {"day": "2026-11-23", "turns": 120, "misses": 3, "handoffs": 1, "routes": {"flow": 7}},
    {"day": "2026-11-24", "turns": 9, "misses": 0, "handoffs": 0, "routes": {}},
]
TRAFFIC["approvals"] = [
    {"flow": "leave", "decided": 2, "waiting": 1, "median_hours": 1.5, "p90_hours": None}
]


def test_what_went_on_is_tables_with_numbers_on_the_right(run: Run, api: Api) -> None:
    api.answers["/v1/traffic"] = TRAFFIC
    said = run.printed("traffic", "--since", "2026-11-23", "--url", api.origin)
    assert said.splitlines() == [
        "2026-11-23 to 2026-11-24, UTC",
        "",
        "days",
        "day         turns  misses  handoffs",
        "2026-11-23    120       3         1",
        "2026-11-24      9       0         0",
        "",
        "approvals",
        "flow   decided  waiting  median_hours  p90_hours",
        "leave        2        1           1.5          -",
        "",
        "routes",
        "day         flow",
        "2026-11-23     7",
        "2026-11-24     0",
    ]
    assert api.targets == ["/v1/traffic?since=2026-11-23"]
    assert run.json("traffic", "--json", "--url", api.origin) == TRAFFIC


def test_what_went_on_is_csv_as_it_comes(run: Run, api: Api) -> None:
    api.answers["/v1/traffic.csv"] = TRAFFIC
    said = run.printed("traffic", "--csv", "days", "--until", "2026-11-24", "--url", api.origin)
    assert json.loads(said) == TRAFFIC
    assert api.targets == ["/v1/traffic.csv?until=2026-11-24&table=days"]


FIGURES: dict[str, Any] = {
    "flow": "leave",
    "since": "2026-11-23",
    "until": "2026-11-24",
    "timezone": "UTC",
    "versions": [],
    "states": [{"state": "manager", "entered": 3, "here": 1, "median_hours": None, "returned": 1}],
    "ways": [],
    "slots": [{"slot": "start", "runs": 3, "again": 2, "times": 5}],
    "approvers": None,
    "reasons": None,
}


def test_how_a_flow_goes_is_tables_of_what_there_is(run: Run, api: Api) -> None:
    api.answers["/v1/flow-statistics/leave"] = FIGURES
    said = run.printed("traffic", "--flow", "leave", "--version", "3", "--url", api.origin)
    lines = said.splitlines()
    assert lines[:3] == ["leave, 2026-11-23 to 2026-11-24, UTC", "", "states"]
    assert lines[4].split()[:5] == ["manager", "3", "1", "-", "0"]
    assert lines[-2:] == ["slot   runs  again  times", "start     3      2      5"]
    assert api.targets == ["/v1/flow-statistics/leave?version=3"]


def test_a_table_of_a_flow_is_csv_as_it_comes(run: Run, api: Api) -> None:
    api.answers["/v1/flow-statistics/leave.csv"] = FIGURES
    run.printed("traffic", "--flow", "leave", "--csv", "states", "--url", api.origin)
    assert api.targets == ["/v1/flow-statistics/leave.csv?table=states"]


COUNTED = {"calls": 2, "prompt_tokens": 420, "cached_tokens": 150, "completion_tokens": 12}
SPENDING = {
    "since": "2026-11-20",
    "until": "2026-11-26",
    "timezone": "UTC",
    "currency": "USD",
    "by": ["day", "model"],
    "lines": [
        {"day": "2026-11-23", "model": "small", **COUNTED, "cost": "0.25", "unpriced_calls": 0},
        {"day": "2026-11-24", "model": "ours", **COUNTED, "cost": None, "unpriced_calls": 2},
    ],
    "total": {**COUNTED, "calls": 4, "cost": "0.25", "unpriced_calls": 2},
}


def test_what_models_cost_is_a_table_that_says_what_has_no_price(run: Run, api: Api) -> None:
    api.answers["/v1/spending"] = SPENDING
    said = run.printed("spending", "--from", "2026-11-20", "--url", api.origin)
    assert said.splitlines() == [
        "2026-11-20 to 2026-11-26, UTC, in USD",
        "day         model  calls  prompt  cached  completion  cost",
        "2026-11-23  small      2     420     150          12  0.25",
        "2026-11-24   ours      2     420     150          12     -",
        "total                  4     420     150          12  0.25",
        "at least: 2 calls had no price, or one in another currency",
    ]
    assert api.targets == ["/v1/spending?since=2026-11-20&by=day%2Cmodel"]
    as_json = ("spending", "--days", "3", "--by", "model", "--format", "json")
    assert run.json(*as_json, "--url", api.origin) == SPENDING
    assert api.targets[-1] == "/v1/spending?days=3&by=model"


def test_what_models_cost_is_csv_as_it_comes(run: Run, api: Api) -> None:
    api.answers["/v1/spending.csv"] = SPENDING
    said = run.printed("spending", "--format", "csv", "--to", "2026-11-26", "--url", api.origin)
    assert json.loads(said) == SPENDING
    assert api.targets == ["/v1/spending.csv?until=2026-11-26&by=day%2Cmodel"]


@pytest.mark.parametrize("words", ["traffic", "traffic --csv x", "spending"])
def test_who_may_not_is_told_so_and_gets_nothing(run: Run, api: Api, words: str) -> None:
    told = run.refused(*words.split(), "--user", "alice", "--url", api.origin)
    assert told == "error: There is nothing of the kind here."


@pytest.mark.parametrize("words", ["traffic --json --csv days", "traffic --version 3"])
def test_what_cannot_be_meant_is_usage(run: Run, words: str) -> None:
    assert run(*words.split()).status == 2
