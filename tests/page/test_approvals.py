"""What waits for a decision: looked at, decided, passed on."""

import re
from typing import Any

import pytest
from playwright.async_api import Route, expect

from tests.page.house import PHONE, Caller, Door, Served, Visitor
from tests.samples import one_in


async def asking(door: Door, served: Served, text: str) -> Visitor:
    """Alice, at a request for leave that waits for bob."""
    conversation = await Caller(served, "alice").asks_for_leave(text)
    visitor = await (await door.visitor(served)).come("王丽 Alice", at=f"/#/c/{conversation}")
    await visitor.hears("已提交给 陈博 Bob 审批")
    return visitor


async def deciding(door: Door, served: Served, person: str, section: str = "待我审批") -> Visitor:
    visitor = await (await door.visitor(served)).come(person)
    await visitor.go(section)
    return visitor


async def test_a_rejection_is_asked_twice_and_says_why(door: Door, served: Served) -> None:
    alice = await asking(door, served, "我要请年假，12月21日到22日，看演出")
    bob = await deciding(door, served, "陈博 Bob")
    card = await bob.opened("看演出")
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


@pytest.mark.slow
async def test_a_reason_repaints_nothing_that_stands_beside_it(door: Door, served: Served) -> None:
    await Caller(served, "alice").asks_for_leave("我要请年假，12月16日一天，看\u202e画\u200b展")
    card = await (await deciding(door, served, "陈博 Bob")).opened("看画展")
    await expect(card.locator("dd", has_text="看画展")).to_have_css("unicode-bidi", "plaintext")
    await expect(card.locator("dd", has_text="看画展")).to_have_css("white-space", "pre-line")
    assert "\u202e" not in await card.inner_text()


@pytest.mark.slow
async def test_what_is_sent_back_says_why_and_another_click_there_decides_nothing(
    door: Door, served: Served
) -> None:
    await Caller(served, "alice").asks_for_leave("我要请年假，12月25日一天，看展")
    await Caller(served, "alice").asks_for_leave("我要请年假，12月23日到24日，探亲")
    bob = await deciding(door, served, "陈博 Bob")
    below, card = await bob.opened("看展"), await bob.opened("探亲")
    await below.get_by_label("意见").fill("先看排班")
    await bob.page.reload()
    await bob.opened("看展")
    await bob.opened("探亲")
    await expect(below.get_by_label("意见")).to_have_value("先看排班")
    back = card.get_by_role("button", name="退回修改")
    await back.click()
    unsaid = card.get_by_role("group", name="不说原因就退回？")
    await unsaid.get_by_role("button", name="写意见").click()
    await expect(card.get_by_label("意见")).to_be_focused()
    await bob.page.keyboard.type("晚一天走")
    await back.scroll_into_view_if_needed()
    box = await back.bounding_box()
    assert box is not None
    await back.click()
    await expect(bob.page.locator(".settled")).to_contain_text("已处理: 退回修改")
    await expect(bob.page.locator(".settled h2")).to_be_focused()
    at = [box["x"] + box["width"] / 2, box["y"] + box["height"] / 2]
    under = "([x, y]) => document.elementFromPoint(x, y).closest('.settled, button').className"
    assert await bob.page.evaluate(under, at) == "card row settled"
    await expect(below).to_be_visible()


@pytest.mark.slow
async def test_a_decision_is_passed_on_and_its_way_can_be_read(door: Door, served: Served) -> None:
    await Caller(served, "alice").asks_for_leave("我要请年假，12月28日到29日，拍毕业照")
    bob = await deciding(door, served, "陈博 Bob")
    card = await bob.opened("拍毕业照")
    await card.get_by_text("经过", exact=True).click()
    await expect(card.locator(".timeline strong")).to_have_text(["开始填写", "确认提交"])
    await card.get_by_text("流程图", exact=True).click()
    await expect(card.get_by_role("img", name="请假申请的流程图")).to_be_visible()
    await card.get_by_text("转交或加签").click()
    whom = card.get_by_label("给谁")
    await expect(whom.locator("option", has_text="Olga")).to_have_count(1)
    await expect(whom.locator("option", has_text=re.compile("Alice|Bob"))).to_have_count(0)
    await whom.select_option("carol")
    await card.get_by_role("button", name="确定", exact=True).click()
    await expect(card).to_have_count(0)
    carol = await (await door.visitor(served)).come("Carol Meyer")
    await carol.go("Approvals")
    passed = carol.card("拍毕业照")
    await expect(passed).to_be_visible()


async def test_one_takes_back_what_one_asked_for(door: Door, served: Served) -> None:
    conversation = await Caller(served, "alice").asks_for_leave("我要请年假，12月30日到31日，跨年")
    alice = await (await door.visitor(served)).come("王丽 Alice", at=f"/#/c/{conversation}")
    await alice.go("我的申请")
    card = alice.card("12月30日")
    await card.get_by_role("button", name="催一下").click()
    await expect(alice.page.locator("#status")).to_have_text("已经提醒审批人。")
    await expect(card.get_by_text("刚提醒过审批人")).to_be_visible()
    await expect(card.get_by_role("button", name="催一下")).to_have_count(0)
    await card.get_by_role("button", name="撤回").click()
    await card.get_by_role("group", name="确定撤回？").get_by_role("button", name="撤回").click()
    await expect(card).to_contain_text("已取消")
    await card.get_by_text("内容", exact=True).click()
    await card.get_by_role("link", name="打开对话").click()
    await expect(alice.page.locator(".flow-card summary")).to_contain_text("已取消")


@pytest.mark.slow
@pytest.mark.parametrize("where", one_in(2, ("我的申请", "the conversation")))
async def test_one_changes_what_one_asked_for_in_words_that_are_begun(
    door: Door, served: Served, where: str
) -> None:
    day = 10 if where == "我的申请" else 11
    wish = f"我要请年假，12月{day}日一天，回家"
    conversation = await Caller(served, "alice").asks_for_leave(wish)
    alice = await (await door.visitor(served)).come("王丽 Alice", at=f"/#/c/{conversation}")
    card = alice.card(f"12月{day}日") if where == "我的申请" else alice.page.locator(".flow-card")
    if where == "the conversation":
        await card.locator("summary").first.click()
    else:
        await alice.go(where)
    await card.get_by_role("button", name="修改").click()
    what = card.get_by_role("group", name="改哪一项？")
    await expect(what.get_by_role("button")).to_have_text(["假别", "开始", "结束", "事由", "算了"])
    await what.get_by_role("button", name="事由").click()
    await expect(alice.box).to_have_value("把“事由”改成")
    await alice.say("把“事由”改成搬家")
    await alice.hears("重新审批")
    await alice.press("确认修改")
    await alice.hears("事由改为搬家")


@pytest.mark.slow
async def test_an_address_leads_to_its_section_or_says_that_nothing_is_there(
    door: Door, served: Served
) -> None:
    conversation = await Caller(served, "alice").asks_for_leave("我要请年假，12月31日一天，守岁")
    gina = await door.visitor(served, forgives=("status of 404",))
    await gina.come("吉娜 Gina")
    for section in ("approvals", "requests"):
        await gina.page.goto(f"{served.origin}/#/{section}")
        await expect(gina.page.locator(".sheet h1")).to_be_focused()
        await expect(gina.page.locator(".empty:visible h2")).to_have_text(re.compile("没有"))
    for address in (conversation, "%E0%A4"):
        await gina.page.goto(f"{served.origin}/#/c/{address}")
        await expect(gina.page.get_by_text("这里没有对话", exact=True).last).to_be_visible()
        await expect(gina.box).to_be_hidden()
        await expect(gina.page.get_by_role("alert")).to_be_empty()
    await gina.page.keyboard.press("Enter")
    await expect(gina.box).to_be_visible()


@pytest.mark.slow
async def test_what_every_object_has_is_no_section_and_no_button(
    door: Door, served: Served
) -> None:
    gina = await door.visitor(served)
    await gina.come("吉娜 Gina", at="/#/constructor")
    for name in ("toString", "__proto__", "constructor"):
        await gina.page.goto(f"{served.origin}/#/{name}")
        await expect(gina.page.locator("li.user")).to_have_count(0)
        await expect(gina.box).to_be_visible()
        await expect(gina.page.get_by_role("alert")).to_be_empty()
        await gina.say(name)
        await expect(gina.page.locator("li.user p").last).to_have_text(name)
        await expect(gina.page).to_have_url(re.compile("#/c/"))
        await expect(gina.answers.last).to_be_visible()


def waiting(numbers: range) -> list[dict[str, Any]]:
    """What waits, the newest first."""
    about: dict[str, Any] = {
        "summary": {},
        "requester": "alice",
        "digest": "d",
        "due": None,
        "asked": ["bob"],
        "changes": [],
        "bulk": False,
    }
    since = "2026-11-22T10:{:02}:{:02}Z"
    return [
        {
            "id": f"a{n}",
            "flow_run": f"r{n}",
            "flow": "f",
            "flow_title": "F",
            "title": f"Number {n}.",
            **about,
        }
        | {"since": since.format(*divmod(n, 60))}
        for n in reversed(numbers)
    ]


@pytest.mark.slow
async def test_an_inbox_says_that_more_waits_than_it_shows(door: Door, served: Served) -> None:
    """Or whoever asks for enough hides what was asked for before."""
    inbox: dict[str, Any] = {"items": waiting(range(200)), "next": "c", "waiting": 321}
    bob = await door.visitor(served)
    await bob.page.route("**/v1/flow-runs/*", lambda route: route.fulfill(json={}))
    await bob.page.route("**/v1/approvals?*", lambda route: route.fulfill(json=inbox))
    await bob.come("陈博 Bob")
    await expect(bob.page.get_by_role("link", name="待我审批")).to_contain_text("321")
    await bob.go("待我审批")
    further = bob.page.get_by_text("等你审批的有 321 项")
    await expect(further).to_be_visible()
    assert await bob.page.locator(".opened:visible").count() == 0
    inbox |= {"items": waiting(range(1, 201))}
    await Caller(served, "alice").asks_for_leave("我要请年假，12月3日一天，搬家")
    await expect(bob.card("Number 200.")).to_be_visible()
    await expect(bob.card("Number 0.")).to_be_visible()
    inbox |= {"items": waiting(range(199)), "next": None}
    await bob.page.reload()
    await expect(bob.card("Number 0.")).to_be_visible()
    await expect(further).to_be_hidden()


async def inbox_of(door: Door, served: Served, requests: list[str], **looks: Any) -> Visitor:
    """Carol, before these requests of gina's, and what waited before."""
    for words in requests:
        await Caller(served, "gina").asks_for_leave(words)
    carol = await (await door.visitor(served, **looks)).come("Carol Meyer")
    await carol.page.goto(f"{served.origin}/#/approvals")
    await expect(carol.card(requests[-1].split("，")[-1])).to_be_visible()
    return carol


@pytest.mark.slow
async def test_many_are_looked_through_by_words_and_decided_by_keys(
    door: Door, served: Served
) -> None:
    days = [8, 9, 10, 11, 12, 15, 16]
    asked = [f"我要请年假，明年3月{day}日一天，去看展览{n}号厅" for n, day in enumerate(days, 1)]
    carol = await inbox_of(door, served, asked)
    cards = carol.page.locator(".cards > .card:not(.settled):visible")
    search = carol.page.get_by_label("Find")
    await search.fill("展览3号厅")
    await expect(cards).to_have_count(1)
    await search.fill("")
    await carol.page.mouse.move(0, 0)
    await carol.page.locator("h1").focus()
    await carol.page.keyboard.press("j")
    first = cards.first.locator(".opener")
    await expect(first).to_be_focused()
    await carol.page.keyboard.press("a")
    approve = cards.first.get_by_role("button", name="Approve")
    await expect(approve).to_be_focused()
    await carol.page.keyboard.press("Enter")
    settled = carol.page.locator(".settled")
    await expect(settled).to_have_count(1)
    assert await settled.evaluate("one => one.style.minHeight") == ""
    assert await carol.violations() == []


@pytest.mark.slow
@pytest.mark.parametrize("looks", [{"viewport": PHONE, "color_scheme": "dark"}, {}], ids=str)
async def test_several_are_decided_with_one_comment_and_stand_under_what_was_decided(
    door: Door, served: Served, looks: dict[str, Any]
) -> None:
    first, what = (5, "春游") if looks else (12, "秋游")
    asked = [f"我要请年假，明年7月{first + n}日一天，{what}第{n + 1}组" for n in range(3)]
    carol = await inbox_of(door, served, asked, **looks)
    for group in (1, 3):
        await carol.card(f"{what}第{group}组").get_by_role("checkbox").check()
    bar = carol.page.get_by_role("group", name="Decide together")
    await expect(bar).to_contain_text("2 chosen")
    assert await carol.violations() == []
    assert await carol.overflow() <= 0
    await bar.get_by_label("Comment").fill("玩得开心")
    await bar.get_by_role("button", name="Approve").click()
    await expect(carol.page.locator(".settled")).to_have_count(2)
    await expect(bar).to_be_hidden()
    await expect(carol.card(f"{what}第2组")).to_be_visible()
    await carol.page.get_by_role("button", name="Decided", exact=True).click()
    decided = carol.page.locator(".pane:visible .row").filter(has_text="Approve")
    await expect(decided.nth(1)).to_be_visible()
    await decided.first.locator(".opener").click()
    await decided.first.get_by_text("History", exact=True).click()
    await expect(decided.first.locator(".timeline q")).to_have_text("玩得开心")


@pytest.mark.slow
async def test_one_that_was_decided_elsewhere_does_not_stop_the_others_that_are_chosen(
    door: Door, served: Served
) -> None:
    asked = [f"我要请年假，明年9月{6 + n}日一天，露营第{n + 1}队" for n in range(3)]
    carol = await inbox_of(door, served, asked, forgives=("status of 409",))
    for group in (1, 2, 3):
        await carol.card(f"露营第{group}队").get_by_role("checkbox").check()
    refused = {"status": 409, "detail": "You decided this already: rejected."}
    decided = 0

    async def refuse_first(route: Route) -> None:
        nonlocal decided
        decided += 1
        if decided == 1:
            await route.fulfill(status=409, json=refused, content_type="application/problem+json")
        else:
            await route.continue_()

    await carol.page.route("**/v1/approvals/*/decision", refuse_first)
    bar = carol.page.get_by_role("group", name="Decide together")
    await bar.get_by_role("button", name="Approve").click()
    await expect(carol.page.locator(".settled")).to_have_count(2)
    await expect(carol.page.get_by_role("alert")).to_contain_text("1 weren't decided")
    await expect(carol.page.get_by_role("alert")).to_contain_text("decided this already: rejected")
    await expect(bar).to_contain_text("1 chosen")
    assert decided == 3


@pytest.mark.slow
async def test_what_comes_back_from_somebody_added_before_is_there_at_once(
    door: Door, served: Served
) -> None:
    await Caller(served, "alice").asks_for_leave("我要请年假，明年4月13日一天，踏青")
    bob = await deciding(door, served, "陈博 Bob")
    card = await bob.opened("踏青")
    await card.get_by_text("转交或加签").click()
    await card.get_by_label("给谁").select_option("carol")
    await card.get_by_label("怎么给").select_option("addBefore")
    await card.get_by_role("button", name="确定", exact=True).click()
    await expect(card).to_have_count(0)
    carol = await deciding(door, served, "Carol Meyer", "Approvals")
    theirs = await carol.opened("踏青")
    await theirs.get_by_role("button", name="Approve").click()
    await expect(bob.card("踏青")).to_be_visible()


@pytest.mark.slow
async def test_an_approver_sees_what_has_changed_since_it_was_sent_back(
    door: Door, served: Served
) -> None:
    alice = await asking(door, served, "我要请年假，明年4月20日到22日，赏花")
    bob = await deciding(door, served, "陈博 Bob")
    card = await bob.opened("赏花")
    await card.get_by_label("意见").fill("少请一天")
    await card.get_by_role("button", name="退回修改").click()
    await expect(card).to_have_count(0)
    await alice.hears("少请一天")
    await alice.say("改成4月21日结束")
    await expect(alice.page.locator(".answer.confirm").last).to_be_visible()
    await alice.press("确认")
    again = await bob.opened("赏花")
    changed = again.locator(".changes")
    await expect(changed.locator("del").first).to_contain_text("4月22日")
    await expect(changed.locator("ins").first).to_contain_text("4月21日")
