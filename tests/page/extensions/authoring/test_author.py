"""Writing flows without code: by pointing, by keys, in YAML; and who else is told."""

import asyncio
import re
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import pytest
from playwright.async_api import Route, expect
from temporalio.client import Client

from router.domain.principals import DEFAULT_TENANT
from router.extensions.authoring.review_store import FlowReviews
from router.extensions.authoring.reviews import FlowReview
from router.flow.language.functions import WITHOUT_CENTS, amount
from tests.page.extensions.authoring.author_house import AUTHORS, Author, authors_house, writing
from tests.page.house import NARROW, Door, Served
from tests.page.test_looks import SMALL_TARGETS, violations
from tests.waiting import HANGS_AFTER_S

FLOW = "equipment_request"
"""One that ships: whoever opens it has a draft of their own."""
PARTS = ("edit", "yaml", "tryIt", "publish")
CONDITIONS = """
async ([expression, slots]) => {
  const { worded, expressed } = await import('/web/author/conditions.js');
  const parts = worded(expression, slots);
  return [parts, parts && expressed(parts, slots[parts.slot])];
}
"""
CHECKED = """
async ([expression, slots]) => {
  const { understood, stated } = await import('/web/author/slot_form.js');
  const say = { zh: '{most}', en: '{most}' };
  const parameters = { most: 'minor_units' };
  const check = { expression: 'amount({value}) <= {most}', parameters, say };
  const about = { offered: [check], data: { slots }, at: ['slots', 'cost'], read: 'slots.cost' };
  const found = understood(expression, about);
  return [found.values.most, stated(check, about, found.values).that];
}
"""
LIST_EDITS = """
async ([before, after]) => {
  const { listEdits } = await import('/web/author/controls.js');
  const list = [...before];
  for (const { op, place, value, at } of listEdits(['l'], before, after)) {
    if (op === 'set') list[place[1]] = value;
    if (op === 'insert') list.splice(at, 0, value);
    if (op === 'remove') list.splice(place[1], 1);
  }
  return list;
}
"""
SPANS = """
async (iso) => {
  const { spanOf, isoOf } = await import('/web/author/controls.js');
  const parts = spanOf(iso);
  return parts && [...parts, isoOf(...parts)];
}
"""
COPIED = """
async (picture) => {
  const { picture: shown } = await import('/web/author/picture.js');
  const made = shown(() => {});
  made.show({ picture, graph: { nodes: [], edges: [] }, problems: [] }, null);
  return made.view.innerHTML;
}
"""
TYPES_ON_WHILE_IT_SAVES = """
async (flow) => {
  const { draftOf } = await import('/web/author/draft.js');
  const { get } = await import('/web/api.js');
  const none = { changed: () => {}, told: () => {}, minding: (work) => work() };
  const path = `/v1/flow-drafts/${flow}`;
  const draft = draftOf(await get(path), none);
  const first = draft.text;
  const fetched = window.fetch;
  let land, release;
  const landed = new Promise((resolve) => (land = resolve));
  const released = new Promise((resolve) => (release = resolve));
  window.fetch = async (url, options) => {
    const made = await fetched(url, options);
    if (options?.method === 'PUT') land(), await released;
    return made;
  };
  draft.write(`${first}# one\\n`);
  const saves = [draft.save()];
  await landed;
  draft.write(`${first}# one\\n# two\\n`);
  saves.push(draft.save());
  await draft.look();
  const seen = draft.standing;
  release();
  await Promise.all(saves);
  window.fetch = fetched;
  const kept = await get(path);
  return [seen, draft.standing, kept.revision, kept.text.slice(first.length)];
}
"""
LINE_ENDS = """
async ([before, typed]) => (await import('/web/author/source.js')).withEndsOf(before, typed)
"""
SLOTS = {
    "cost": {"type": "money"},
    "yen": {"type": "money", "check": [{"that": "slots.yen.currency == 'JPY'"}]},
    "hours": {"type": "number"},
    "urgent": {"type": "boolean"},
    "kind": {"type": "choice", "choices": {"big": {}}},
    "note": {"type": "text"},
    "extra": {"type": "number", "required": False},
}


@pytest.fixture(scope="module")
async def house(
    real_client: Client, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Served]:
    async with authors_house(tmp_path_factory.mktemp("authors"), real_client) as served:
        yield served


@pytest.fixture(autouse=True)
async def nothing_kept(house: Served) -> AsyncIterator[None]:
    """Every test begins with what holds: no author has a draft."""
    yield
    for who in AUTHORS:
        bearer = {"Authorization": f"Bearer {who}"}
        async with httpx.AsyncClient(
            timeout=HANGS_AFTER_S, base_url=house.origin, headers=bearer
        ) as http:
            for entry in (await http.get("/v1/flow-drafts")).json()["items"]:
                if who in [draft["author"] for draft in entry["drafts"]]:
                    await http.delete(f"/v1/flow-drafts/{entry['flow']}")


@pytest.mark.slow
async def test_a_change_by_pointing_is_in_the_yaml_and_back(door: Door, house: Served) -> None:
    dave = await writing(door, house, "dave", FLOW)
    await dave.point("manager")
    await dave.part("yaml")
    before = await dave.yaml()
    await dave.part("edit")
    await dave.form.get_by_label("Remind every", exact=True).fill("48")
    await dave.saved()
    await dave.part("yaml")
    changed = await dave.yaml()
    assert changed == before.replace("remind_every: PT24H", "remind_every: PT48H", 1)
    await dave.source.fill(changed.replace("expire_after: P14D", "expire_after: P3W", 1))
    await dave.part("edit")
    await expect(dave.form.get_by_label("Expires after", exact=True)).to_have_value("3")
    await expect(dave.form.get_by_label("Expires after: unit")).to_have_value("weeks")
    undo = dave.page.get_by_role("button", name="Undo", exact=True)
    await undo.click()
    await undo.click()
    await expect(undo).to_be_disabled()
    assert await dave.yaml() == before
    await dave.page.get_by_role("button", name="Redo").click()
    assert await dave.yaml() == changed


async def test_what_is_wrong_is_said_at_its_field_at_its_line_and_in_the_picture(
    door: Door, house: Served
) -> None:
    dave = await writing(door, house, "dave", FLOW)
    await dave.point("finance")
    title = dave.form.get_by_role("group", name="What the approver reads first").get_by_label(
        "English"
    )
    await title.fill("{{ slots.nobody }}")
    error = dave.page.locator(f"#{await described(dave, title)}")
    await expect(error).to_contain_text("nobody")
    await expect(title).to_have_attribute("aria-invalid", "true")
    await expect(dave.state("finance")).to_have_attribute("aria-label", re.compile("has problems$"))
    await expect(dave.problems).to_have_text("Problems: 1")
    await dave.part("yaml")
    await dave.page.locator(".source .problems button").click()
    selected = await dave.source.evaluate(
        "one => one.value.slice(one.selectionStart, one.selectionEnd)"
    )
    assert "slots.nobody" in selected


async def described(author: Author, field: Any) -> str:
    """The id of what says what is wrong with a field."""
    await expect(field).to_have_attribute("aria-invalid", "true")
    return str(await field.get_attribute("aria-describedby")).split()[-1]


@pytest.mark.slow
async def test_what_cant_be_read_keeps_the_last_picture_until_it_is_mended(
    door: Door, house: Served
) -> None:
    dave = await writing(door, house, "dave", FLOW)
    await dave.part("yaml")
    sound = await dave.yaml()
    await dave.source.fill(f"{sound}\n  broken: [")
    await expect(dave.page.locator(".picture.stale [data-state=manager]")).to_be_visible()
    await expect(dave.page.locator(".source .problems button")).to_have_count(1)
    await dave.part("edit")
    await expect(dave.form).to_have_attribute("inert", "")
    await dave.part("yaml")
    await dave.source.fill(sound)
    await expect(dave.page.locator(".picture.stale")).to_have_count(0)
    await expect(dave.problems).to_have_text("No problems")


@pytest.mark.slow
async def test_drafts_are_each_persons_and_both_are_told(door: Door, house: Served) -> None:
    dave = await writing(door, house, "dave", "business_trip")
    await dave.point("manager")
    await dave.words("nameInWords", "领导审批", "The boss decides")
    await dave.saved()
    erin = await writing(door, house, "erin", "business_trip")
    await expect(erin.page.locator(".notice").first).to_have_text(
        "Dave Hughes 也有这个流程的草稿。"
    )
    await erin.part("yaml")
    assert "领导审批" not in await erin.yaml()


@pytest.mark.slow
async def test_two_windows_of_one_person_dont_write_over_each_other(
    door: Door, house: Served
) -> None:
    lost = ("409 (Conflict)",)
    first = await writing(door, house, "dave", "leave_request", forgives=lost)
    second = await writing(door, house, "dave", "leave_request", forgives=lost)
    await first.point("manager")
    await first.words("nameInWords", "甲", "first")
    await first.saved()
    await second.point("manager")
    await second.words("nameInWords", "乙", "second")
    await expect(second.standing).to_have_attribute("data-standing", "behind")
    await second.press("lookFirst")
    differs = second.page.locator(".author .notice .difference")
    await differs.get_by_text(await second.t("asText")).click()
    await expect(differs.locator(".gone", has_text="first")).to_be_visible()
    await expect(differs.locator(".added", has_text="second")).to_be_visible()
    assert await violations(second.visitor) == {}
    await second.page.get_by_role("button", name="Take what is there").click()
    await expect(differs).to_have_count(0)
    await expect(
        second.form.get_by_role("group", name="What it is called").get_by_label("English")
    ).to_have_value("first")
    await second.words("nameInWords", "乙", "second")
    await second.saved()


@pytest.mark.slow
async def test_typing_on_while_it_is_saved_is_no_other_window(reader: Any) -> None:
    seen, standing, revision, kept = await reader.evaluate(TYPES_ON_WHILE_IT_SAVES, FLOW)
    assert seen == "unsaved"
    assert (standing, revision, kept) == ("saved", 2, "# one\n# two\n")


@pytest.mark.slow
async def test_a_draft_that_is_left_and_opened_again_is_what_was_typed_last(
    door: Door, house: Served
) -> None:
    dave = await writing(door, house, "dave", FLOW, part="yaml")
    opened, happened = asyncio.Event(), list[str]()

    async def late(route: Route) -> None:
        if route.request.method == "GET":
            happened.append("asked")
            return await route.continue_()
        await opened.wait()
        answer = await route.fetch()
        happened.append("saved")
        return await route.fulfill(response=answer)

    await dave.page.route(re.compile(f"/v1/flow-drafts/{FLOW}$"), late)
    text = f"{await dave.yaml()}# last words\n"
    await dave.source.fill(text)
    await dave.page.get_by_role("link", name=await dave.t("allFlows")).click()
    await expect(dave.page.locator(".sheet.flows")).to_be_visible()
    async with dave.page.expect_response(re.compile("/v1/flow-drafts$")):
        await dave.page.locator(f".sheet.flows a[href='#/flows/{FLOW}']").click()
    opened.set()
    await expect(dave.page.locator(".author .picture svg")).to_be_visible()
    await dave.part("yaml")
    await expect(dave.source).to_have_value(text)
    assert happened[:2] == ["saved", "asked"]


@pytest.mark.slow
async def test_in_a_trial_days_pass_and_tools_fail(door: Door, house: Served) -> None:
    erin = await writing(door, house, "erin", FLOW, part="trial")
    await erin.page.get_by_text("工具怎么回答").click()
    worth = erin.page.get_by_role("textbox", name="value_equipment")
    await worth.fill('{"total": {"amount": "3198.00", "currency": "CNY"}}')
    words = ("给我配显示器", "2", "没有了", "看图纸", "下周五")
    await erin.says(*words)
    await erin.presses("yes")
    await erin.presses("aDay")
    log = erin.page.locator(".trial-log")
    await expect(log).to_contain_text("告知 陈博 Bob：提醒审批")
    await erin.page.get_by_label("让工具失败").select_option("reserve_equipment")
    await erin.presses("theToolFails")
    await erin.presses("approve", "陈博 Bob")
    await expect(log.locator(".bot").last).to_contain_text("没能备齐")
    await erin.page.get_by_role("button", name="退一步").click()
    await expect(log.locator(".bot").last).not_to_contain_text("没能备齐")


@pytest.mark.slow
async def test_a_tool_and_what_it_is_given_are_chosen_from_lists(door: Door, house: Served) -> None:
    dave = await writing(door, house, "dave", FLOW)
    await dave.point("worth")
    given = dave.form.locator(".mapping select").first
    await dave.hand.choose(given, "slots.reason")
    await dave.part("yaml")
    await expect(dave.source).to_have_value(re.compile(r'with: \{items: "slots.reason"\}'))
    await dave.part("edit")
    await dave.choose("tool", "release_equipment", dave.form)
    await expect(dave.form.get_by_label(await dave.t("undoneBy"))).to_be_visible()
    await dave.part("yaml")
    await expect(dave.source).to_have_value(re.compile(r"call: release_equipment"))


@pytest.mark.slow
async def test_who_approves_depends_on_an_amount_without_an_expression(
    door: Door, house: Served
) -> None:
    erin = await writing(door, house, "erin", "business_trip")
    await erin.point("manager")
    await erin.choose("approver", "=amount", erin.form)
    await erin.fill("limit", "5000", erin.form)
    await erin.choose("above", "role('finance')", erin.form)
    await erin.choose("upTo", "'bob'", erin.form)
    await erin.part("yaml")
    by = "amount(slots.estimate) > 500000 ? role('finance') : 'bob'"
    await expect(erin.source).to_have_value(re.compile(re.escape(by)))
    assert (await erin.yaml()).count("slots.estimate.currency == 'CNY'") == 1


@pytest.mark.slow
async def test_the_first_limit_of_an_amount_keeps_it_to_one_currency(
    door: Door, house: Served
) -> None:
    erin = await writing(door, house, "erin", "business_trip", part="yaml")
    check = "slots.estimate.currency == 'CNY'"
    await erin.source.fill((await erin.yaml()).replace(check, "amount(slots.estimate) > 0", 1))
    await erin.saved()
    await erin.part("edit")
    await erin.point("manager")
    await erin.choose("approver", "=amount", erin.form)
    await erin.part("yaml")
    await expect(erin.source).to_have_value(re.compile(re.escape(check)))
    await expect(erin.problems).to_have_text(await erin.t("noProblems"))


@pytest.mark.slow
async def test_what_names_a_step_follows_its_new_name_and_leads_on_once_it_is_gone(
    door: Door, house: Served
) -> None:
    dave = await writing(door, house, "dave", FLOW)
    await dave.point("worth")
    await dave.fill("nameInFile", "value_it", dave.form)
    await dave.page.keyboard.press("Enter")
    await expect(dave.page.locator(".edit h2")).to_contain_text("value_it")
    await dave.part("yaml")
    await expect(dave.source).to_have_value(re.compile(r"next: value_it\n  value_it:"))
    await dave.part("edit")
    await dave.press("removeState", dave.form)
    sure = dave.page.get_by_role("group", name=await dave.t("reallyRemoveState"))
    await dave.press("removeState", sure)
    await expect(dave.state("value_it")).to_have_count(0)
    await dave.part("yaml")
    await expect(dave.source).to_have_value(re.compile(r"next: review\n  review:"))
    await dave.press("undo")
    await expect(dave.source).to_have_value(re.compile(r"next: value_it\n  value_it:"))


@pytest.mark.slow
async def test_stories_follow_a_new_name_and_go_back_with_it(door: Door, house: Served) -> None:
    dave = await writing(door, house, "dave", FLOW)
    before = (await kept_of(house, FLOW))["stories"]
    assert "state: delivery}" in before
    await dave.point("delivery")
    await dave.fill("nameInFile", "on_its_way", dave.form)
    await dave.page.keyboard.press("Enter")
    await expect(dave.page.locator(".edit h2")).to_contain_text("on_its_way")
    await dave.saved()
    renamed = before.replace("state: delivery}", "state: on_its_way}")
    assert (await kept_of(house, FLOW))["stories"] == renamed
    await dave.press("undo")
    await expect(dave.state("delivery")).to_be_visible()
    await dave.saved()
    assert (await kept_of(house, FLOW))["stories"] == before


async def kept_of(house: Served, flow: str, who: str = "dave") -> Any:
    """Somebody's draft as the server has it."""
    bearer = {"Authorization": f"Bearer {who}"}
    async with httpx.AsyncClient(
        timeout=HANGS_AFTER_S, base_url=house.origin, headers=bearer
    ) as http:
        return (await http.get(f"/v1/flow-drafts/{flow}")).raise_for_status().json()


@pytest.mark.slow
async def test_an_approved_review_stays_in_sight_and_older_ones_within_reach(
    door: Door, house: Served
) -> None:
    begun, reviews = datetime(2026, 11, 1, tzinfo=UTC), FlowReviews(house.store.database)
    approved = review_at(begun, flow="a_new_flow", status="approved")
    others = [review_at(begun, n, flow="another_flow") for n in range(1, 61)]
    for each in (approved, *(review_at(begun, n) for n in range(61, 70)), *others):
        await reviews.submit(each)
    dave = await writing(door, house, "dave")
    await dave.page.goto(f"{house.origin}/#/flows/a_new_flow/review")
    cards = dave.page.locator(".card.review")
    await expect(cards).to_have_count(6)
    await expect(cards.last).to_contain_text(await dave.t("review_approved"))
    await expect(cards.last.get_by_role("button", name=await dave.t("publishIt"))).to_be_visible()
    await dave.press("earlierReviews")
    await expect(cards).to_have_count(10)


def review_at(begun: datetime, minute: int = 0, **more: Any) -> FlowReview:
    """A review that was submitted so many minutes later, and that its author has taken back."""
    about = {
        "tenant": DEFAULT_TENANT,
        "author": "erin",
        "flow": "a_new_flow",
        "status": "withdrawn",
    }
    texts = {"text": "", "stories": "", "digest": "", "held_text": "", "held_stories": ""}
    counts = {"version": 1, "passed": 1, "failed": 0}
    when = {"submitted_at": begun + timedelta(minutes=minute), "id": f"review{minute}"}
    whole = {**about, **texts, **counts, **when, "note": "", "held": None, **more}
    return FlowReview.model_validate(whole)


@pytest.mark.slow
async def test_a_key_in_the_yaml_leaves_all_other_lines_as_they_were(
    door: Door, house: Served
) -> None:
    windows = (await kept_of(house, FLOW))["text"].replace("\n", "\r\n")
    bearer = {"Authorization": "Bearer dave"}
    async with httpx.AsyncClient(
        timeout=HANGS_AFTER_S, base_url=house.origin, headers=bearer
    ) as http:
        draft = {"text": windows, "revision": 0}
        (await http.put(f"/v1/flow-drafts/{FLOW}", json=draft)).raise_for_status()
    dave = await writing(door, house, "dave", FLOW, part="yaml")
    await dave.source.press("Control+End")
    await dave.source.press_sequentially("# x")
    await expect(dave.standing).to_have_attribute("data-standing", "unsaved")
    await dave.saved()
    assert (await kept_of(house, FLOW))["text"] == f"{windows}# x"


@pytest.mark.slow
async def test_a_check_is_offered_only_where_it_can_be_read(door: Door, house: Served) -> None:
    dave = await writing(door, house, "dave", FLOW)
    await dave.pick("reason")
    checks = dave.form.get_by_label(await dave.t("addCheck"), exact=True)
    await expect(checks).to_have_count(1)
    await dave.choose("slotType", "list", dave.form)
    await expect(dave.form.get_by_role("group", name=await dave.t("eachItem"))).to_be_visible()
    await expect(checks).to_have_count(1)


@pytest.mark.slow
async def test_by_keys_alone_a_flow_is_begun_walked_and_edited(door: Door, house: Served) -> None:
    dave = await writing(door, house, "dave")
    keys = dave.page.keyboard
    await dave.page.locator(".new-flow summary").focus()
    await keys.press("Enter")
    await expect(dave.page.get_by_label("Its name in files")).to_be_visible()
    await keys.press("Tab")
    await expect(dave.page.get_by_label("nothing", exact=True)).to_be_focused()
    for text in ("visit", "A visit", "来访"):
        await keys.press("Tab")
        await keys.type(text)
    await keys.press("Enter")
    await expect(dave.page.locator("h1")).to_be_focused()
    await tab_to(dave, "[data-state]")
    await keys.press("ArrowDown")
    await expect(dave.state("review")).to_be_focused()
    await keys.press("ArrowDown")
    await keys.press("ArrowUp")
    await keys.press("Enter")
    await expect(dave.page.locator(".edit h2")).to_be_focused()
    await expect(dave.page.locator(".edit h2")).to_contain_text("review")
    await tab_to(dave, "textarea[lang=en]")
    await keys.press("Control+A")
    await keys.type("Is that right?")
    await dave.saved()
    await tab_to(dave, "[role=tab]", back=True)
    await keys.press("ArrowRight")
    await expect(dave.source).to_be_visible()
    assert 'en: "Is that right?"' in await dave.yaml()
    await tab_to(dave, ".source textarea")
    await keys.press("Escape")
    await keys.press("Tab")
    await expect(dave.source).not_to_be_focused()


async def tab_to(author: Author, wanted: str, *, back: bool = False) -> None:
    """Press Tab until something of this kind has the focus."""
    for _ in range(80):
        await author.page.keyboard.press("Shift+Tab" if back else "Tab")
        if await author.page.evaluate("what => document.activeElement.matches(what)", wanted):
            return
    pytest.fail(f"Tab doesn't come to {wanted}")


@pytest.mark.slow
@pytest.mark.parametrize("locale", ["zh-CN", "en-US"])
async def test_no_part_of_it_keeps_anybody_out(door: Door, house: Served, locale: str) -> None:
    author = await writing(door, house, "erin" if locale == "zh-CN" else "dave")
    found = {"list": await violations(author.visitor)}
    await author.open(FLOW)
    for state in ("details", "reserve", "delivery", "manager"):
        await author.point(state)
        found[state] = await violations(author.visitor)
    await author.pick("items")
    found["slot"] = await violations(author.visitor)
    for part in PARTS:
        await author.part(part)
        found[part] = await violations(author.visitor)
    assert {view: wrong for view, wrong in found.items() if wrong} == {}


@pytest.mark.parametrize("locale", [pytest.param("zh-CN", marks=pytest.mark.slow), "en-US"])
async def test_a_small_screen_shows_all_of_it(door: Door, house: Served, locale: str) -> None:
    phone: dict[str, Any] = {"viewport": NARROW, "has_touch": True, "is_mobile": True}
    author = await writing(door, house, "erin" if locale == "zh-CN" else "dave", **phone)
    widths = {"list": await author.visitor.overflow()}
    small = await author.page.evaluate(SMALL_TARGETS)
    await author.open(FLOW)
    for state in ("details", "finance", "reserve"):
        await author.point(state)
        widths[state] = await author.visitor.overflow()
        small += await author.page.evaluate(SMALL_TARGETS)
    for part in PARTS:
        await author.part(part)
        widths[part] = await author.visitor.overflow()
        small += await author.page.evaluate(SMALL_TARGETS)
    assert {view: wide for view, wide in widths.items() if wide > 0} == {}
    assert small == []


@pytest.mark.slow
async def test_who_writes_no_flows_loads_none_of_it(door: Door, house: Served) -> None:
    alice = await door.visitor(house)
    asked: list[str] = []
    alice.page.on("request", lambda request: asked.append(request.url))
    await alice.come("王丽 Alice")
    await alice.page.goto(f"{house.origin}/#/flows")
    await expect(alice.box).to_be_visible()
    await expect(alice.page.get_by_role("link", name="流程设计")).to_have_count(0)
    assert [url for url in asked if "/author/" in url or "flow-drafts" in url] == []


@pytest.mark.slow
@pytest.mark.parametrize(
    ("expression", "read"),
    [
        ("amount(slots.cost) > 500000", {"slot": "cost", "by": "more", "value": "5000"}),
        ("amount(slots.cost) <= 1050", {"slot": "cost", "by": "most", "value": "10.5"}),
        ("amount(slots.yen) > 5000", {"slot": "yen", "by": "more", "value": "5000"}),
        ("slots.hours > 3.0", {"slot": "hours", "by": "more", "value": "3"}),
        ("slots.hours >= 0.5", {"slot": "hours", "by": "least", "value": "0.5"}),
        ("slots.kind == 'big'", {"slot": "kind", "by": "is", "value": "big"}),
        ("!slots.urgent", {"slot": "urgent", "by": "isnt", "value": ""}),
        ("has(slots.extra) && slots.extra < 2.0", {"slot": "extra", "by": "less", "value": "2"}),
        ("has(slots.hours) && slots.extra < 2.0", None),
        ("slots.cost > 3.0", None),
        ("amount(slots.hours) > 3", None),
        ("slots.note == 'x'", None),
        ("slots.gone > 3.0", None),
        ("slots.kind == 'a' || true", None),
        ("slots.kind == 'a\\'b'", None),
        ("", None),
    ],
)
async def test_conditions_are_read_as_words_where_they_are_and_written_back(
    reader: Any, expression: str, read: dict[str, str] | None
) -> None:
    found, written = await reader.evaluate(CONDITIONS, [expression, SLOTS])
    assert found == read
    assert written == (expression if read else None)


@pytest.mark.slow
async def test_a_limit_counts_the_units_of_its_currency_as_amounts_do(reader: Any) -> None:
    for currency in (*WITHOUT_CENTS, "CNY", "USD", "CLP", "KWD"):
        check = {"that": f"slots.cost.currency == '{currency}'"}
        slots = {"cost": {"type": "money", "check": [check]}}
        expression = f"amount(slots.cost) > {amount({'amount': '5000', 'currency': currency})}"
        found, written = await reader.evaluate(CONDITIONS, [expression, slots])
        assert (found["value"], written) == ("5000", expression), currency
        limit = expression.replace(" > ", " <= ")
        assert await reader.evaluate(CHECKED, [limit, slots]) == ["5000", limit], currency


@pytest.mark.slow
@pytest.mark.parametrize(
    ("before", "after"),
    [
        ([], ["a"]),
        (["a", "b"], ["a", "b"]),
        (["a", "b", "c"], ["a", "c"]),
        (["a", "c"], ["a", "b", "c"]),
        (["a", "a", "b"], ["a", "b"]),
        (["a", "b", "c", "d"], ["x", "d"]),
        (["a", "b"], ["c", "d", "e", "b"]),
        (["a", "b"], []),
    ],
)
async def test_a_list_becomes_another_by_its_edits(
    reader: Any, before: list[str], after: list[str]
) -> None:
    assert await reader.evaluate(LIST_EDITS, [before, after]) == after


@pytest.mark.slow
@pytest.mark.parametrize(
    ("before", "typed", "after"),
    [
        ("a\r\nb\r\n", "a\nbc\n", "a\r\nbc\r\n"),
        ("a\r\nb\r\n", "a\nx\nb\n", "a\r\nx\r\nb\r\n"),
        ("a\r\nb", "a\nb\nc", "a\r\nb\r\nc"),
        ("a\r\nb\nc\n", "a\nb\nC\n", "a\r\nb\nC\n"),
        ("a\nb\r\nc\r\n", "c\n", "c\r\n"),
        ("a\n", "a\nb\n", "a\nb\n"),
        ("a\r\n", "", ""),
        ("", "a\nb", "a\nb"),
        ("a\r\na\r\n", "a\na\na\n", "a\r\na\r\na\r\n"),
    ],
)
async def test_what_is_typed_keeps_the_ends_of_lines(
    reader: Any, before: str, typed: str, after: str
) -> None:
    assert await reader.evaluate(LINE_ENDS, [before, typed]) == after


@pytest.mark.slow
@pytest.mark.parametrize(
    ("iso", "read"),
    [
        ("PT30M", ["30", "minutes", "PT30M"]),
        ("PT24H", ["24", "hours", "PT24H"]),
        ("P14D", ["14", "days", "P14D"]),
        ("P2W", ["2", "weeks", "P2W"]),
        ("P1DT2H", None),
        ("3 days", None),
        ("P5M", None),
    ],
)
async def test_a_length_of_time_is_a_number_and_what_it_counts(
    reader: Any, iso: str, read: list[str] | None
) -> None:
    assert await reader.evaluate(SPANS, iso) == read


@pytest.mark.slow
async def test_of_a_picture_only_drawing_comes_into_the_page(reader: Any) -> None:
    hostile = (
        '<svg xmlns="http://www.w3.org/2000/svg" onload="alert(1)"><style>*{color:red}</style>'
        '<script>alert(1)</script><foreignObject><iframe src="x"/></foreignObject>'
        '<a href="javascript:alert(1)"><text>x</text></a>'
        '<g data-state="&quot;&gt;&lt;img src=x onerror=alert(1)&gt;" style="fill:red">'
        '<text onclick="alert(1)">&lt;b&gt;</text></g></svg>'
    )
    shown = await reader.evaluate(COPIED, hostile)
    for each in ("<script", "onload", "onclick", "style=", "<iframe", "javascript:", "<img", "<a "):
        assert each not in shown.replace("&lt;", "")
    assert "&lt;b&gt;" in shown


@pytest.fixture(scope="module")
async def reader(browser: Any, house: Served) -> AsyncIterator[Any]:
    """A page on which the modules can be asked."""
    door = Door(browser)
    dave = await writing(door, house, "dave", forgives=("inline event handler",))
    yield dave.page
    assert await door.close() == []
