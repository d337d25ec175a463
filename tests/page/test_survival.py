"""What is under way goes on: over a reload, and while the server is away."""

import pytest
from playwright.async_api import expect

from tests.page.house import LOST_CONNECTION, Door, Served


async def test_a_reload_in_the_middle_loses_nothing_and_says_nothing_twice(
    door: Door, served: Served
) -> None:
    alice = await (await door.visitor(served)).come("王丽 Alice")
    await alice.say("我要请年假")
    await expect(alice.page.get_by_label("开始", exact=True)).to_be_visible()
    await alice.say("12月9日到10日")
    await alice.page.reload()  # with the answer still on its way
    await alice.hears("请假事由是什么")
    await expect(alice.log.locator(".user p")).to_have_text(["我要请年假", "12月9日到10日"])
    await expect(alice.log.locator(".pending")).to_have_count(0)
    assert await alice.answers.filter(has_text="请假事由是什么").count() == 1
    await alice.say("搬家")
    await alice.press("确认")
    await alice.hears("已提交给 陈博 Bob 审批")


async def test_what_is_said_while_the_server_is_away_is_answered_when_it_is_back(
    door: Door, served: Served
) -> None:
    alice = await (await door.visitor(served, forgives=LOST_CONNECTION)).come("王丽 Alice")
    await alice.say("我要请病假")
    await alice.hears("从哪天开始")
    await served.stop()
    await alice.say("12月14日一天，看牙")
    await expect(alice.page.get_by_text("连不上服务器，正在重试…")).to_be_visible()
    await expect(alice.log.locator(".user.pending")).to_have_text("12月14日一天，看牙")
    await served.start()
    await expect(alice.page.locator(".answer.confirm dd", has_text="看牙")).to_be_visible()
    await expect(alice.page.get_by_text("连不上服务器，正在重试…")).to_be_hidden()
    await expect(alice.log.locator(".user p")).to_have_text(["我要请病假", "12月14日一天，看牙"])
    await expect(alice.log.locator(".pending")).to_have_count(0)


async def test_a_restart_in_the_middle_of_an_answer_loses_none_of_it(
    door: Door, served: Served
) -> None:
    alice = await (await door.visitor(served, forgives=LOST_CONNECTION)).come("王丽 Alice")
    async with alice.page.expect_request(lambda asked: asked.url.endswith("/messages")):
        await alice.say("我要请年假，12月15日到16日，回老家")
    await served.stop()
    await served.start()
    await expect(alice.page.locator(".answer.confirm dd", has_text="回老家")).to_be_visible()
    await expect(alice.log.locator(".user p")).to_have_count(1)
    await expect(alice.page.locator(".answer.confirm")).to_have_count(1)


@pytest.mark.slow
async def test_what_is_said_in_another_window_appears_here(door: Door, served: Served) -> None:
    here = await (await door.visitor(served)).come("王丽 Alice")
    await here.say("我要请事假")
    await here.hears("从哪天开始")
    address = here.page.url.removeprefix(served.origin)
    there = await (await door.visitor(served)).come("王丽 Alice", at=address)
    await there.hears("从哪天开始")
    await there.say("12月17日")
    await expect(here.log.locator(".user p").last).to_have_text("12月17日")
    await expect(here.log.locator(".user p")).to_have_count(2)
