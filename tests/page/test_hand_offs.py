"""A conversation handed to a person, on the page: hers who asks, and his who helps."""

import re
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from playwright.async_api import Locator, expect
from temporalio.client import Client

from router.runtime.upkeep import at_work
from router.runtime.worker import build_worker
from router.settings import Settings
from tests.page.house import NARROW, Door, Served, Visitor
from tests.workflow.test_hand_offs import PEOPLE, TENANTS, always_worked

QUEUE = "hand-offs-on-the-page"


@pytest.fixture
async def house(real_client: Client, tmp_path: Path) -> AsyncIterator[Served]:
    """A house of its own, without a model, in which somebody always is on duty."""
    (tmp_path / "people.yaml").write_text(PEOPLE.replace("{hours}", "09:00-10:00"), "utf-8")
    (tmp_path / "tenants.yaml").write_text(TENANTS, "utf-8")
    own = {"directory": tmp_path / "people.yaml", "tenants": tmp_path / "tenants.yaml"}
    async with at_work(Settings.load(data=tmp_path, **own)) as parts:
        always_worked(parts)
        async with (
            build_worker(real_client, parts, QUEUE),
            Served(parts, real_client, QUEUE) as served,
        ):
            yield served


@pytest.fixture
async def alice(house: Served, door: Door) -> Visitor:
    """Hers comes first: visitors of a house that has closed complain."""
    return await (await door.visitor(house)).come("王丽 Alice")


async def at_queue(door: Door, house: Served, name: str, **options: object) -> Visitor:
    visitor = await (await door.visitor(house, **options)).come(name)
    await visitor.page.evaluate("location.hash = '#/handoffs'")
    await expect(visitor.page.get_by_role("heading", name="Hand-offs")).to_be_visible()
    return visitor


def talk(visitor: Visitor) -> Locator:
    return visitor.page.get_by_role("log", name="Transcript")


async def test_who_helps_takes_answers_and_gives_back(
    alice: Visitor, door: Door, house: Served
) -> None:
    await alice.say("转人工，工资算错了")
    await alice.hears("已经转给同事")
    dave = await at_queue(door, house, "Dave")
    await dave.page.get_by_role("button", name="Take it: 王丽 Alice").click()
    await expect(talk(dave)).to_contain_text("转人工，工资算错了")
    await alice.hears("Dave 来了")
    await alice.say("少了200")
    await expect(talk(dave)).to_contain_text("少了200")
    answer = dave.page.get_by_label("Answer 王丽 Alice")
    await answer.fill("We'll pay it on Friday.")
    await answer.press("Enter")
    await alice.hears("We'll pay it on Friday.")
    said = alice.answers.filter(has_text="We'll pay it").last
    await expect(said.locator(".author")).to_have_text("Dave")
    await expect(answer).to_have_value("")
    await dave.press("Back to the desk")
    await alice.hears("Dave 把对话交还给我了")
    await expect(dave.page.get_by_role("heading", name="Nobody waits")).to_be_visible()
    await alice.say("我要请假")
    await alice.hears("想请什么假")


@pytest.mark.slow
async def test_the_employee_comes_back_by_the_button(
    alice: Visitor, door: Door, house: Served
) -> None:
    await alice.say("转人工")
    await alice.hears("已经转给同事")
    dave = await at_queue(door, house, "Dave")
    await dave.page.get_by_role("button", name="Take it: 王丽 Alice").click()
    await alice.hears("Dave 来了")
    await alice.say("交还")
    await alice.hears("我们继续")
    await expect(dave.page.get_by_role("heading", name="Nobody waits")).to_be_visible()


@pytest.mark.slow
async def test_of_two_at_the_queue_the_second_is_told_who_was_quicker(
    alice: Visitor, door: Door, house: Served
) -> None:
    await alice.say("找真人")
    await alice.hears("已经转给同事")
    dave = await at_queue(door, house, "Dave")
    hilda = await at_queue(door, house, "Hilda", forgives=("409", "ERR_INTERNET_"))
    take = hilda.page.get_by_role("button", name="Take it: 王丽 Alice")
    await expect(take).to_be_visible()
    await hilda.page.context.set_offline(True)
    await dave.page.get_by_role("button", name="Take it: 王丽 Alice").click()
    await alice.hears("Dave 来了")
    await hilda.page.context.set_offline(False)
    # Presses it if it is still there: the page may have heard of it by itself.
    await take.evaluate_all("all => all.forEach((one) => one.click())")
    await expect(hilda.page.get_by_text("Dave has it")).to_be_visible()
    await expect(take).to_have_count(0)


@pytest.mark.slow
async def test_who_takes_none_has_no_such_section(
    alice: Visitor, door: Door, house: Served
) -> None:
    await expect(alice.page.get_by_role("link", name="转人工")).to_have_count(0)
    olga = await at_queue(door, house, "Olga")
    await expect(olga.page.get_by_role("heading", name="Nobody waits")).to_be_visible()


@pytest.mark.slow
async def test_the_queue_can_be_used_by_everybody_on_a_small_screen(
    alice: Visitor, door: Door, house: Served
) -> None:
    await alice.say("转人工")
    await alice.hears("已经转给同事")
    dave = await at_queue(door, house, "Dave", viewport=NARROW)
    await dave.page.get_by_role("button", name=re.compile("Take it")).click()
    await expect(talk(dave)).to_contain_text("转人工")
    assert await dave.violations() == []
    assert await dave.overflow() == 0
