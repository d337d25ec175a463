"""Which of one's own requests is meant: from a real database, and on the buttons."""

import pytest

from activities.builtin.standing import run_meant
from router.domain.errors import ArgumentOffer, ArgumentsToolError, PermanentToolError, SeveralFit
from router.domain.records import RunRecord
from router.store.database import Database
from router.store.store import Store
from router.tool.context import ToolContext
from tests.unit.activities.requests import ALL, MONDAY, NOW
from tests.unit.activities.tools.conftest import ALICE, KINDS

pytestmark = pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)


async def found(database: Database, name: str, *runs: RunRecord) -> str:
    store = Store(database)
    for one in runs:
        await store.runs.publish(one, [])
    ctx = ToolContext(caller=ALICE, now=NOW, logger=None)  # type: ignore[arg-type]
    return (await run_meant(name, ctx, store.runs, KINDS)).id


async def offered(database: Database, name: str, *runs: RunRecord) -> ArgumentOffer:
    """What is offered where several fit."""
    with pytest.raises(SeveralFit) as left_open:
        await found(database, name, *runs)
    assert left_open.value.offered is not None
    return left_open.value.offered


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "id_"),
    [
        ("claim", "claim"), ("报销", "claim"), ("请假", ""), ("request", ""),
        ("上周的请假", "past"), ("下周一的请假", "mon"), ("leave for next Monday", "mon"),
        ("leave from last week", "past"), ("12月21日的出差", "trip2"), ("12月15号出差", "trip"),
        ("出差", ""), ("前天的申请", "claim"), ("5月3日的请假", ""), ("搬家", ""),
        ("昨天提交的出差", "trip"),
    ],
)  # fmt: skip
async def test_kind_and_days_narrow(database: Database, name: str, id_: str) -> None:
    if id_:
        assert await found(database, name, *ALL) == id_
    else:
        assert await offered(database, name, *ALL)


async def test_where_several_fit_they_are_offered_and_no_others(database: Database) -> None:
    several = await offered(database, "出差", *ALL)
    assert (several.argument, several.ask.zh) == ("request", "是哪一个申请？")
    labels = {one.value: (one.label.zh, one.label.en) for one in several.offers}
    assert labels == {
        "trip2": (
            "出差申请（12月21日 至 12月22日）：审批中",
            "Business trip (21 Dec to 22 Dec): waiting approval",
        ),
        "trip": (
            "出差申请（12月14日 至 12月16日，¥8,000.00）：审批中",
            "Business trip (14 Dec to 16 Dec, CNY 8,000.00): waiting approval",
        ),
    }


async def test_where_the_days_fit_none_those_of_the_kind_are_offered(database: Database) -> None:
    several = await offered(database, "5月3日的请假", *ALL)
    assert {one.value for one in several.offers} == {"mon", "past"}
    assert "没有找到" in several.ask.zh


async def test_the_only_one_is_never_taken_for_one_of_other_days(database: Database) -> None:
    assert await offered(database, "12月21日的请假", MONDAY)


async def test_where_there_is_none_that_is_said(database: Database) -> None:
    with pytest.raises(PermanentToolError, match="no request of yours"):
        await found(database, "request")
    with pytest.raises(ArgumentsToolError, match="nor is there any other"):
        await found(database, "请假")
