"""How a flow goes, as its authors and an operator see it on the page."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from playwright.async_api import expect
from temporalio.client import Client

from router.domain.run_history import HistoryEntry
from tests.integration.api.test_runs import run_record
from tests.page.extensions.authoring.author_house import authors_house, writing
from tests.page.house import Door, Served
from tests.page.test_looks import violations

pytestmark = pytest.mark.slow

AT = datetime.now(UTC) - timedelta(days=2)
SENT_BACK = [
    HistoryEntry(at=AT + timedelta(hours=hours), state=state, event=event, comment=said)
    for hours, state, event, said in [
        (0, "details", "began", None),
        (1, "review", "next", None),
        (1, "manager", "confirmed", None),
        (5, "manager", "return", "which screen?"),
        (5, "details", "returned", None),
    ]
]


@pytest.fixture(scope="module")
async def house(
    real_client: Client, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Served]:
    async with authors_house(tmp_path_factory.mktemp("figures"), real_client) as served:
        about: dict[str, Any] = {"flow": "equipment_request", "created_at": AT, "updated_at": AT}
        for number, version in enumerate((1, 2)):
            record = run_record(
                f"{number}run", status="cancelled", history=SENT_BACK, version=version, **about
            )
            await served._parts.store.runs.publish(record, [])
        yield served


@pytest.mark.parametrize(
    ("who", "opens", "steps", "every", "half"),
    [
        ("dave", "How it goes", "Steps", "every version", "4 hours"),
        ("erin", "办得怎么样", "各步骤", "所有版本", "4小时"),
    ],
)
async def test_an_author_sees_where_requests_stay_and_are_given_up(
    door: Door, house: Served, who: str, opens: str, steps: str, every: str, half: str
) -> None:
    author = await writing(door, house, who)
    card = author.page.get_by_role("listitem").filter(has_text="equipment_request")
    await card.get_by_text(opens).click()

    figures = card.get_by_role("region", name=steps)
    await expect(figures.get_by_role("row").filter(has_text="manager")).to_contain_text(half)
    await expect(figures.get_by_role("row").filter(has_text="details")).to_contain_text("50%")
    await expect(card.get_by_role("img")).to_be_visible()
    await expect(card.get_by_text("which screen?")).to_have_count(0)
    await expect(card.get_by_role("combobox")).to_contain_text(every)
    assert await violations(author.visitor) == {}


async def test_one_version_is_looked_at_alone(door: Door, house: Served) -> None:
    dave = await writing(door, house, "dave")
    card = dave.page.get_by_role("listitem").filter(has_text="equipment_request")
    await card.get_by_text("How it goes").click()
    row = card.get_by_role("region", name="Steps").get_by_role("row").filter(has_text="manager")
    await expect(row.get_by_role("cell").first).to_have_text("2")
    await card.get_by_role("combobox").select_option("2")
    await expect(row.get_by_role("cell").first).to_have_text("1")
