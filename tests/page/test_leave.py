"""The main job in two browsers: one asks, the other decides, and nobody reloads."""

import re

import pytest
from playwright.async_api import expect

from tests.page.house import Door, Served, Visitor


async def ask_for_leave(alice: Visitor, days: str, reason: str) -> None:
    """Say all at once, and confirm what the card lists."""
    await alice.say(f"我要请年假，{days}，{reason}")
    card = alice.page.locator(".answer.confirm .card")
    await expect(card.locator("dd", has_text=reason)).to_be_visible()
    await alice.press("确认")
    await alice.hears("已提交给 陈博 Bob 审批")


async def test_alice_asks_step_by_step_and_sees_bobs_decision_arrive(
    door: Door, served: Served
) -> None:
    alice = await (await door.visitor(served)).come("王丽 Alice")
    bob = await (await door.visitor(served)).come("陈博 Bob")
    await bob.go("待我审批")
    await alice.say("我要请假")
    await alice.press("年假")
    await alice.page.get_by_label("开始", exact=True).fill("2026-12-07")
    await alice.press("提交")
    await alice.page.get_by_label("结束", exact=True).fill("2026-12-08")
    await alice.press("提交")
    await alice.hears("请假事由是什么")
    await alice.say("陪家人看病")
    card = alice.page.locator(".answer.confirm .card")
    await expect(card.locator("dt")).to_have_text(["假别", "开始", "结束", "工作日天数", "事由"])
    await expect(card.locator("dd", has_text="陪家人看病")).to_be_visible()
    await alice.press("确认")
    await alice.hears("已提交给 陈博 Bob 审批")
    await expect(alice.page.locator(".flow-card summary")).to_contain_text("审批中")
    asked = bob.card("陪家人看病")
    await expect(asked).to_be_visible(timeout=20_000)
    await expect(asked).to_contain_text("王丽 Alice")
    await expect(asked).to_contain_text(re.compile("还剩 [23] ?天"))
    await expect(bob.page).to_have_title(re.compile(r"^\(\d+\) "))
    await asked.get_by_role("button", name="同意").click()
    await expect(asked).to_have_count(0)
    await alice.hears("你的年假批准了")
    await expect(alice.page.locator(".flow-card summary")).to_contain_text("已完成")
    await alice.go("我的申请")
    mine = alice.card("陪家人看病").or_(alice.card("12月7日")).first
    await expect(mine).to_contain_text("已完成")
    await mine.get_by_text("内容", exact=True).click()
    await expect(mine.locator(".timeline strong")).to_have_text(
        ["开始填写", "确认提交", "同意", "已完成"]
    )


@pytest.mark.slow
async def test_a_request_is_cancelled_at_the_card_of_its_flow(door: Door, served: Served) -> None:
    alice = await (await door.visitor(served)).come("王丽 Alice")
    await alice.say("我要请年假")
    await alice.hears("从哪天开始")
    card = alice.page.locator(".flow-card")
    await card.locator("summary").first.click()
    await expect(card.locator("dd")).to_have_text(["年假"])
    await expect(card.get_by_role("link", name="在 Temporal 中查看")).to_be_visible()
    await card.get_by_role("button", name="不办了").click()
    await (
        card.get_by_role("group", name="确定不办了？").get_by_role("button", name="不办了").click()
    )
    await expect(card.locator("summary").first).to_contain_text("已取消")
    await expect(card.get_by_role("button", name="不办了")).to_have_count(0)
    await alice.say("我要报销")
    await expect(alice.page.locator(".answer.choices:enabled button").first).to_be_visible()
