"""What waits for a decision: looked at, decided, passed on."""

import re

import pytest
from playwright.async_api import expect

from tests.page.house import Caller, Door, Served, Visitor


async def asking(door: Door, served: Served, text: str) -> Visitor:
    """Alice, at a request for leave that waits for bob."""
    conversation = await Caller(served, "alice").asks_for_leave(text)
    visitor = await (await door.visitor(served)).come("王丽 Alice", at=f"/#/c/{conversation}")
    await visitor.hears("已提交给 陈博 Bob 审批")
    return visitor


async def deciding(door: Door, served: Served, person: str) -> Visitor:
    visitor = await (await door.visitor(served)).come(person)
    await visitor.go("待我审批")
    return visitor


async def test_a_rejection_is_asked_twice_and_its_reason_arrives(
    door: Door, served: Served
) -> None:
    alice = await asking(door, served, "我要请年假，12月21日到22日，看演出")
    bob = await deciding(door, served, "陈博 Bob")
    card = bob.card("看演出")

    await card.get_by_label("意见").fill("那周要交付")
    await card.get_by_role("button", name="拒绝").click()
    await expect(card.get_by_text("确定拒绝？")).to_be_visible()
    await card.get_by_role("button", name="算了").click()
    await expect(card.get_by_text("确定拒绝？")).to_be_hidden()
    await card.get_by_role("button", name="拒绝").click()
    await card.get_by_role("group", name="确定拒绝？").get_by_role("button", name="拒绝").click()

    await expect(card).to_have_count(0)
    await alice.hears("没有获批")
    await alice.hears("那周要交付")


async def test_what_is_sent_back_is_changed_and_asked_again(door: Door, served: Served) -> None:
    alice = await asking(door, served, "我要请年假，12月23日到24日，探亲")
    bob = await deciding(door, served, "陈博 Bob")
    card = bob.card("探亲")
    await card.get_by_label("意见").fill("晚一天走")
    await card.get_by_role("button", name="退回修改").click()
    await expect(card).to_have_count(0)

    await alice.hears("晚一天走")


async def test_a_decision_is_passed_on_and_the_way_there_can_be_read(
    door: Door, served: Served
) -> None:
    await Caller(served, "alice").asks_for_leave("我要请年假，12月28日到29日，拍毕业照")
    bob = await deciding(door, served, "陈博 Bob")
    card = bob.card("拍毕业照")
    await card.get_by_text("经过", exact=True).click()
    await expect(card.locator(".timeline strong")).to_have_text(["开始填写", "确认提交"])
    await card.get_by_text("流程图", exact=True).click()
    await expect(card.get_by_role("img", name="请假申请的流程图")).to_be_visible()
    await card.get_by_text("转交或加签").click()
    await card.get_by_label("给谁").select_option("carol")
    await card.get_by_role("button", name="确定", exact=True).click()
    await expect(card).to_have_count(0)

    carol = await (await door.visitor(served)).come("Carol Meyer")
    await carol.go("Approvals")
    passed = carol.card("拍毕业照")
    await expect(passed).to_be_visible()


async def test_one_takes_back_what_one_asked_for(door: Door, served: Served) -> None:
    alice = await asking(door, served, "我要请年假，12月30日到31日，跨年")
    await alice.go("我的申请")
    card = alice.card("12月30日")
    await card.get_by_role("button", name="催一下").click()
    await expect(alice.page.locator("#status")).to_have_text("已经提醒审批人。")
    await card.get_by_role("button", name="撤回").click()
    await card.get_by_role("group", name="确定撤回？").get_by_role("button", name="撤回").click()
    await expect(card).to_contain_text("已取消")
    await card.get_by_text("内容", exact=True).click()
    await card.get_by_role("link", name="打开对话").click()
    await expect(alice.page.locator(".flow-card summary")).to_contain_text("已取消")


@pytest.mark.parametrize("section", ["approvals", "requests"])
async def test_an_address_leads_to_its_section(door: Door, served: Served, section: str) -> None:
    gina = await door.visitor(served)
    await gina.come()
    await gina.page.get_by_role("button", name="吉娜 Gina").click()
    await expect(gina.box).to_be_visible()

    await gina.page.goto(f"{served.origin}/#/{section}")

    await expect(gina.page.locator(".sheet h1")).to_be_focused()
    await expect(gina.page.locator(".empty h2")).to_have_text(re.compile("没有"))
    await gina.page.go_back()
    await expect(gina.box).to_be_visible()
