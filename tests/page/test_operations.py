"""What operators look at and put right: runs that are held, what went on, who did what."""

from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from httpx import AsyncClient
from playwright.async_api import Route, expect
from temporalio.client import Client

from router.domain.costs import Purpose
from router.domain.errors import PermanentToolError
from router.domain.messages import Cost, Usage
from router.domain.webhook_events import EVENTS, WebhookSubscription
from router.gateway import failing_workflows
from router.gateway.failing_workflows import (
    FailingWorkflow,
    FailingWorkflowMonitor,
    FailingWorkflows,
    TaskFailure,
)
from router.runtime.composition import Parts
from router.runtime.worker import build_worker
from router.store.store import Store
from tests.integration.api.test_runs import run_record
from tests.page.house import Door, Served, Visitor
from tests.page.test_looks import SMALL_TARGETS
from tests.samples import one_in
from tests.waiting import HANGS_AFTER_S
from tests.workflow.test_wider_flows import OUTAGES, TOOLS, approval, flow
from tests.workflow.tooled import furnished

QUEUE = "operations"
OLGA = "Olga Petrova"
PHONE = {"viewport": {"width": 390, "height": 780}, "color_scheme": "dark", "has_touch": True}
UNFOLD = "document.querySelectorAll('.operations details').forEach((one) => (one.open = true))"
PAYMENT = flow("payment", pay={"call": "pay", "hold": True, "next": "good"})
SIGN_OFF = flow(
    "sign_off",
    boss=approval("bob", "good"),
    refused={"say": {"zh": "不", "en": "No"}, "end": "rejected"},
)


@pytest.fixture
async def house(parts: Parts, real_client: Client) -> AsyncIterator[Served]:
    """A house in which payments may fail, and a boss may leave."""
    async with (
        furnished(parts, TOOLS, flows=[PAYMENT, SIGN_OFF]) as here,
        build_worker(real_client, here, QUEUE),
        Served(here, real_client, QUEUE) as served,
    ):
        yield served


async def says(house: Served, words: str) -> str:
    """Alice says so in a conversation of its own; the run that it begins."""
    alice = {"Authorization": "Bearer alice"}
    async with AsyncClient(timeout=HANGS_AFTER_S, base_url=house.origin, headers=alice) as http:
        conversation = (await http.post("/v1/conversations")).json()["id"]
        path = f"/v1/conversations/{conversation}/messages"
        turn = await http.post(path, json={"text": words})
        assert turn.json()["flow"], turn.text
        run: str = turn.json()["flow"]["id"]
        return run


async def unpaid(house: Served, answer: str) -> str:
    """A payment that is held for what the bank answered."""
    OUTAGES[:] = [PermanentToolError(answer)]
    return await says(house, "start payment")


async def operating(door: Door, house: Served, **options: Any) -> Visitor:
    olga = await (await door.visitor(house, **options)).come(OLGA)
    await olga.page.goto(f"{house.origin}/#/operations")
    await expect(olga.page.locator(".figures .tiles, .figures .empty")).to_be_visible()
    return olga


async def asked(house: Served, path: str) -> Any:
    async with AsyncClient(
        timeout=HANGS_AFTER_S, base_url=house.origin, headers={"Authorization": "Bearer olga"}
    ) as http:
        return (await http.get(path)).json()


async def test_a_held_run_says_why_and_is_made_again(house: Served, door: Door) -> None:
    run = await unpaid(house, "account 17 is closed")
    olga = await operating(door, house)
    card = olga.card("account 17 is closed")
    await expect(card.locator(".why-held")).to_contain_text(
        "“Pay” failed with “account 17 is closed”"
    )
    await expect(card).to_contain_text("王丽 Alice")
    await expect(card.get_by_role("link", name="Open in Temporal")).to_be_visible()
    await card.get_by_text("History", exact=True).click()
    await expect(card.locator(".timeline")).to_contain_text("Held for an operator")
    await card.get_by_label("Reason (optional").fill("the bank says sorry")
    await card.get_by_role("button", name="Retry").click()
    await expect(olga.page.locator("#status")).to_have_text("Tried again: payment (completed)")
    await expect(card).to_have_count(0)
    await expect(olga.page.get_by_role("heading", name="Held for an operator")).to_be_focused()
    (line,) = (await asked(house, f"/v1/audit?subject={run}&act=run.retry"))["items"]
    assert (line["who"], line["reason"]) == ("olga", "the bank says sorry")


@pytest.mark.slow
async def test_its_requester_reads_what_was_tried(house: Served, door: Door) -> None:
    await unpaid(house, "account 16 is closed")
    alice = await (await door.visitor(house)).come("王丽 Alice")
    await alice.go("我的申请")
    why = alice.card("payment").first.locator(".why-held")
    await expect(why).to_contain_text("“付款”没有办成；从")
    await expect(why).not_to_contain_text("account 16")


@pytest.mark.slow
async def test_a_run_is_ended_once_it_was_asked_twice(house: Served, door: Door) -> None:
    run = await unpaid(house, "account 18 is closed")
    olga = await operating(door, house)
    card = olga.card("account 18 is closed")
    await card.get_by_role("button", name="Terminate").click()
    sure = card.get_by_role("group", name="Really end it? What it did is undone.")
    await sure.get_by_role("button", name="Never mind").click()
    assert (await asked(house, f"/v1/flow-runs/{run}"))["status"] == "waiting"
    await card.get_by_role("button", name="Terminate").click()
    await sure.get_by_role("button", name="Terminate").click()
    await expect(olga.page.locator("#status")).to_have_text("Ended: payment (cancelled)")
    await expect(card).to_have_count(0)


@pytest.mark.slow
async def test_who_is_gone_is_replaced(house: Served, door: Door) -> None:
    """What is a week old is listed as if it were today's: nothing here is."""
    run = await says(house, "start sign_off")
    olga = await door.visitor(house)

    async def of_today(route: Route) -> None:
        await route.continue_(url=route.request.url.partition("&quiet_since")[0])

    await olga.page.route("**/v1/flow-runs?*quiet_since*", of_today)
    await olga.come(OLGA)
    await olga.page.goto(f"{house.origin}/#/operations")
    card = olga.card("Waits for 陈博 Bob").first
    await card.get_by_text("Reassign", exact=True).first.click()
    await card.get_by_label("To whom").select_option("carol")
    await card.get_by_role("button", name="Reassign").click()
    await expect(olga.page.locator("#status")).to_contain_text("Reassigned: sign_off")
    assert (await asked(house, f"/v1/flow-runs/{run}"))["waiting_for"] == ["carol"]


@pytest.mark.slow
async def test_what_went_on_is_drawn_told_and_exported(
    house: Served, door: Door, tmp_path: Path
) -> None:
    await unpaid(house, "account 19 is closed")
    olga = await operating(door, house)
    figures = olga.page.locator(".figures")
    await expect(figures.locator("svg.chart rect").first).to_be_attached()
    await expect(figures.get_by_role("img", name="Where each day's messages went")).to_be_visible()
    await figures.get_by_text("The numbers").click()
    found = await asked(house, "/v1/traffic")
    rows = figures.locator("figure tbody tr")
    await expect(rows).to_have_count(7)
    flows = sum(day["routes"].get("flow", 0) for day in found["days"])
    await expect(figures.locator(".legend li").first).to_have_text(f"a flow {flows}")
    await expect(figures.locator(".ledger").filter(has_text="Abandoned")).to_contain_text("payment")
    a_month = olga.page.get_by_role("group", name="Traffic: Period").get_by_text("30 days")
    await a_month.click()
    await expect(rows).to_have_count(30)
    await expect(a_month).to_have_attribute("aria-pressed", "true")
    async with olga.page.expect_download() as download:
        await olga.press("CSV: Requests by kind")
    saved = await download.value
    assert saved.suggested_filename.startswith("traffic-flows-")
    await saved.save_as(tmp_path / "flows.csv")
    assert (tmp_path / "flows.csv").read_text().startswith("flow,title,begun,completed,")
    await olga.page.get_by_text("What operators did lately").click()
    trail = olga.page.get_by_role("region", name="What operators did lately")
    await expect(trail).to_contain_text("looked at the traffic of some days")
    await expect(trail).to_contain_text("looked at what models cost on some days")
    await expect(trail).not_to_contain_text("signed in")


@pytest.mark.slow
async def test_what_models_cost_is_drawn_by_day_and_by_model(
    house: Served, door: Door, parts: Parts, tmp_path: Path
) -> None:
    today = datetime.now(ZoneInfo("Asia/Shanghai")).date()
    for model, days, amount in (("dear", 1, "0.75"), ("cheap", 1, "0.002"), ("dear", 2, "0.25")):
        cost = Cost(amount=Decimal(amount), currency="USD")
        usage = Usage(llm_calls=1, prompt_tokens=100, cached_tokens=50, cost=cost, priced_calls=1)
        purpose = Purpose("router", model, "router-1")
        day = today - timedelta(days=days)
        await parts.store.spending.add("default", "alice", day, usage, purpose)
    await parts.store.spending.add("default", "bob", today, Usage(llm_calls=1), Purpose("", "ours"))
    olga = await operating(door, house)
    costs = olga.page.locator(".costs")
    await expect(costs.get_by_role("img", name="Cost by day")).to_be_visible()
    found = await asked(house, "/v1/spending?by=model")
    assert found["total"]["cost"] == "1.002"
    await expect(costs.locator(".tiles")).to_contain_text("$1.00")
    await expect(costs).to_contain_text("At least so much: ")
    await expect(costs.locator("svg.chart rect")).to_have_count(3)
    bars = costs.locator(".row-bars li")
    await expect(bars.nth(0)).to_contain_text("dear")
    await expect(bars.nth(0)).to_contain_text("$1.00")
    await expect(bars.nth(1)).to_contain_text("$0.002")
    by_person = costs.get_by_role("region", name="Cost of each person")
    await expect(by_person).to_contain_text("王丽 Alice")
    async with olga.page.expect_download() as download:
        await olga.press("CSV: Cost of each model")
    await (await download.value).save_as(tmp_path / "spending.csv")
    assert (tmp_path / "spending.csv").read_text().startswith("model,calls,prompt_tokens,")
    await olga.page.locator("#language").click()
    await expect(olga.page.get_by_role("heading", name="模型费用")).to_be_visible()
    assert await olga.violations() == []
    assert await olga.overflow() == 0


@pytest.mark.slow
async def test_a_workflow_that_is_stuck_is_named_with_its_error(
    house: Served, door: Door, monkeypatch: pytest.MonkeyPatch
) -> None:
    olga = await operating(door, house)
    part = olga.page.get_by_role("region", name="Workflows that are stuck")
    await expect(part).to_contain_text("No workflow is stuck.")
    stuck = FailingWorkflow(
        workflow_id="flow/default/r-stuck",
        run_id="01a2",
        workflow_type="Flow",
        failure=TaskFailure(
            "WorkflowWorkerUnhandledFailure",
            error_type="OverflowError",
            place="workflows/flow.py:231",
            message="my salary",
            may_quote=True,
            since=datetime.now(UTC) - timedelta(hours=2),
            attempt=7,
        ),
    )
    elsewhere = replace(stuck, workflow_id="flow/acme/r-elsewhere")

    async def found(*_: Any) -> FailingWorkflows:
        return FailingWorkflows([stuck, elsewhere], {"Flow": 2})

    monkeypatch.setattr(FailingWorkflowMonitor, "_find", found)
    monkeypatch.setattr(failing_workflows, "STALE_AFTER_S", 0)
    await olga.press("Refresh")
    card = part.locator(".card")
    await expect(card).to_have_count(1)
    await expect(card).to_contain_text("flow/default/r-stuck")
    await expect(card).to_contain_text("Flow · first failed 2 hours ago, attempt 7")
    await expect(card.locator(".why-held")).to_have_text("OverflowError at workflows/flow.py:231")
    await expect(card.get_by_role("link", name="Open in Temporal")).to_be_visible()
    assert await olga.violations() == []
    assert await olga.overflow() == 0


ERP = WebhookSubscription("https://erp.example/hooks?key=1", frozenset(EVENTS))


async def missed(parts: Parts, run: str) -> None:
    """An event of a run's that the ERP never took, and the one after it."""
    told = Store(parts.store.database, (ERP,))
    begun = run_record(run, status="collecting", state="details")
    await told.runs.publish(begun, [])
    done = {"status": "completed", "state": "done", "events": 9}
    await told.runs.publish(begun.model_copy(update=done), [])
    for _ in range(2):
        now = datetime.now(UTC) + timedelta(seconds=5)
        for one in await told.webhooks.claim(ERP.consumer, now, now + timedelta(minutes=1), 50):
            await told.webhooks.bury(one, "it answered 503")


@pytest.mark.slow
async def test_what_another_system_missed_is_sent_again_in_order(
    house: Served, door: Door, parts: Parts
) -> None:
    olga = await operating(door, house)
    part = olga.page.get_by_role("region", name="Events that were given up")
    await expect(part).to_contain_text("No other system has missed an event")
    await missed(parts, "r-missed-1")
    await olga.press("Refresh")
    cards = part.locator(".card")
    await expect(cards).to_have_count(2)
    await expect(cards.first).to_contain_text("flow.completed")
    await expect(cards.first).to_contain_text("https://erp.example/hooks · r-missed-1")
    await expect(cards.first).to_contain_text("Tries: 1. The last: it answered 503")
    await expect(part).not_to_contain_text("key=1")
    assert await olga.violations() == []
    await part.get_by_role("button", name="Send all again").click()
    await expect(olga.page.locator("#status")).to_have_text("2 events are on their way again")
    await expect(cards).to_have_count(0)
    await expect(part.get_by_role("heading")).to_be_focused()
    waiting = (await asked(house, "/v1/webhooks/deliveries?state=waiting"))["items"]
    due = {one["event"]: one["due"] for one in waiting if one["subject"] == "r-missed-1"}
    assert due["flow.started"] is not None
    assert due["flow.completed"] is None


@pytest.mark.slow
async def test_one_that_was_missed_is_sent_again_by_itself(
    house: Served, door: Door, parts: Parts
) -> None:
    await missed(parts, "r-missed-2")
    olga = await operating(door, house)
    card = olga.card("r-missed-2").filter(has_text="flow.started")
    await card.get_by_role("button", name="Send again").click()
    said = "On its way again: flow.started to https://erp.example/hooks"
    await expect(olga.page.locator("#status")).to_have_text(said)
    await expect(olga.card("r-missed-2")).to_have_count(1)


@pytest.mark.slow
async def test_where_nobody_was_there_is_nothing_and_that_is_said(
    house: Served, door: Door
) -> None:
    olga = await door.visitor(house)

    async def long_ago(route: Route) -> None:
        await route.continue_(url=f"{route.request.url}&until=1999-12-31")

    await olga.page.route("**/v1/traffic?*", long_ago)
    await olga.come(OLGA)
    await olga.page.goto(f"{house.origin}/#/operations")
    await expect(olga.page.locator(".figures .empty")).to_contain_text("Nobody has used this yet")
    assert "NaN" not in await olga.page.locator("main").inner_text()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("language", "options"),
    one_in(2, (("zh", {"viewport": {"width": 1280, "height": 820}}), ("en", PHONE))),
)
async def test_nobody_is_kept_out(
    house: Served, door: Door, language: str, options: dict[str, Any]
) -> None:
    await unpaid(house, f"account 20 {language} is closed")
    olga = await operating(door, house, **options)
    if language == "zh":
        await olga.page.locator("#language").click()
        await expect(olga.page.get_by_role("heading", name="业务统计")).to_be_visible()
    await expect(olga.page.locator(".figures .tiles")).to_be_visible()
    await expect(olga.page.locator(".operations .card").first).to_be_visible()
    await olga.page.evaluate(UNFOLD)
    await expect(olga.page.locator(".operations .timeline").first).to_be_visible()
    await expect(olga.page.locator(".operations > details:last-child table")).to_be_visible()
    assert await olga.violations() == []
    assert await olga.overflow() == 0
    if language == "en":
        assert await olga.page.evaluate(SMALL_TARGETS) == []
        await olga.page.set_viewport_size({"width": 360, "height": 740})
        assert await olga.overflow() == 0


@pytest.mark.slow
async def test_who_operates_nothing_sees_no_such_section(house: Served, door: Door) -> None:
    alice = await (await door.visitor(house)).come("王丽 Alice")
    await expect(alice.page.get_by_role("link", name="我的申请")).to_be_visible()
    await expect(alice.page.get_by_role("link", name="运行")).to_have_count(0)
    await alice.page.goto(f"{house.origin}/#/operations")
    await expect(alice.box).to_be_visible()
    await expect(alice.page.locator(".operations")).to_have_count(0)


@pytest.mark.slow
async def test_what_might_be_mended_is_shown_when_it_is_asked_for(
    door: Door, served: Served
) -> None:
    olga = await (await door.visitor(served)).come("Olga Petrova")
    await olga.page.goto(f"{served.origin}/#/operations")
    await olga.page.get_by_text("What might be mended").click()
    part = olga.page.locator("details", has_text="What might be mended").first
    told = part.locator("table, p.hint").first
    await expect(told).to_be_visible(timeout=60_000)  # sentences are encoded for it
    assert await olga.violations() == []
