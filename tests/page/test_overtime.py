"""A process from nothing to what everybody uses, and back, by people who write no code.

How long each step took is printed: `pytest -s tests/page/test_overtime.py`.
"""

from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from time import monotonic

import httpx
import pytest
from playwright.async_api import expect
from temporalio.client import Client

from tests.page.author_house import A_TRIAL, Author, authors_house, writing
from tests.page.house import Door, Served

FLOW = "overtime"


@dataclass
class Stopwatch:
    """What took how long, in seconds."""

    took: dict[str, float] = field(default_factory=dict)

    @contextmanager
    def step(self, name: str) -> Iterator[None]:
        begun = monotonic()
        yield
        self.took[name] = monotonic() - begun

    def table(self) -> str:
        return "\n".join(f"{name:<40} {seconds:6.1f} s" for name, seconds in self.took.items())


@pytest.fixture(scope="module")
async def house(
    real_client: Client, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Served]:
    async with authors_house(tmp_path_factory.mktemp("overtime"), real_client) as served:
        yield served


async def begun(dave: Author) -> None:
    """A flow of this name, with what it begins with."""
    page = dave.page
    await page.locator(".new-flow summary").click()
    await page.get_by_label("Its name in files").fill(FLOW)
    await page.get_by_label("Title in English").fill("Overtime")
    await page.get_by_label("Title in Chinese").fill("加班申请")
    await page.get_by_role("button", name="Begin", exact=True).click()
    await expect(dave.state("details")).to_be_visible()


async def asks_for_hours(dave: Author) -> None:
    """It asks for a number with a limit."""
    await dave.add("Add something to know", Type="number", Name_in_the_file="hours")
    await dave.words("Label", "小时", "Hours")
    await dave.words("The question", "加班几个小时？", "How many hours?")
    await dave.form.get_by_label("Add a condition…").select_option("at_most")
    await dave.form.get_by_label("At most", exact=True).fill("12")
    await expect(
        dave.form.get_by_role("group", name="What is said otherwise").get_by_label("English")
    ).to_have_value("12 is the most. Please give a smaller number.")


async def starts_by(dave: Author) -> None:
    """What starts it."""
    await dave.pick("What starts it")
    await dave.form.get_by_label("Topics").fill("加班\n\\bovertime\\b")
    await dave.form.get_by_label("Examples").fill("我要申请加班\nI want to request overtime")


async def approved_at_two_levels(dave: Author) -> None:
    """The manager decides; above three hours the director does as well."""
    await dave.point("review")
    await dave.add("Add a step", What_it_does="approve", Name_in_the_file="manager")
    await dave.add(
        "Add a step", What_it_does="approve", Name_in_the_file="director", It_comes_after="manager"
    )
    await dave.form.get_by_label("Approver", exact=True).select_option("role('director')")
    await dave.point("manager")
    way = dave.form.locator(".way").filter(has_text="Once approved")
    await way.get_by_role("button", name="Depending on something").click()
    await way.get_by_label("Value").fill("3")
    await way.get_by_label("goes to").last.select_option("done")
    await dave.point("done")
    await dave.words("What it says", "加班批准了。", "Your overtime is approved.")
    await expect(dave.problems).to_have_text("No problems")
    await dave.saved()


async def tried(dave: Author, hours: str, decisions: dict[str, str], ends: str, title: str) -> None:
    """Play a request of frank's, decide on it as each of these, and keep it as a story."""
    await dave.part("Try it")
    await dave.page.get_by_label("Who asks").select_option("frank")
    await dave.says("What they say", "I want to request overtime", "the release", hours)
    await dave.presses("Yes")
    for who, how in decisions.items():
        await dave.presses(how, f"As {who}")
    await expect(dave.page.locator(".trial-log .bot").last).to_contain_text(ends)
    await dave.page.get_by_label("What to call what was played").fill(title)
    await dave.page.get_by_role("button", name="Keep as a story").click()
    await expect(dave.page.locator("#status")).to_have_text(
        f"Kept as a story: {title}", timeout=A_TRIAL
    )


async def green(dave: Author) -> None:
    """All that was kept passes."""
    await dave.part("Publish")
    await dave.page.get_by_role("button", name="Run the stories").click()
    told = dave.page.locator(".submission")
    await expect(told).to_contain_text("Stories: 3 passed, 0 failed", timeout=A_TRIAL)


async def submitted(dave: Author, note: str) -> None:
    """The draft is submitted, its stories green."""
    await dave.part("Publish")
    await dave.page.get_by_label("A word to whoever reviews it").fill(note)
    await dave.page.get_by_role("button", name="Submit for review").click()
    await expect(dave.page.locator("#status")).to_have_text("Submitted for review", timeout=A_TRIAL)


async def reviewed(erin: Author, note: str, difference: str) -> None:
    """Erin finds it among what waits, reads what is different, and agrees."""
    await erin.open()
    await erin.page.get_by_role("link", name="overtime，Dave Hughes 提交").click()
    review = erin.page.locator(".review").first
    await expect(review).to_contain_text(note)
    await expect(review.locator(".words-of")).to_contain_text(difference)
    await review.get_by_text("对照流程图").click()
    await expect(review.get_by_role("img", name="之后的流程图，标出了改动")).to_be_visible()
    await review.get_by_role("button", name="通过", exact=True).click()
    await expect(erin.page.locator("#status")).to_have_text("已通过")


async def published(dave: Author) -> None:
    """Dave lets it hold for everybody."""
    await dave.page.get_by_role("button", name="Refresh").click()
    await dave.page.get_by_role("button", name="Publish", exact=True).click()
    await expect(dave.page.locator("#status")).to_have_text("It is published")


async def rolled_back(dave: Author) -> None:
    """One press, and the one that makes sure."""
    await dave.page.get_by_role("button", name="Roll back").click()
    sure = dave.page.get_by_role("group", name="Back to version 1")
    await sure.get_by_role("button", name="Roll back").click()
    await expect(dave.page.locator("#status")).to_have_text("It was rolled back")


async def begins(house: Served) -> int:
    """The version that a run goes by which alice's words begin."""
    headers = {"Authorization": "Bearer alice"}
    async with httpx.AsyncClient(base_url=house.origin, headers=headers, timeout=30) as http:
        conversation = (await http.post("/v1/conversations")).json()["id"]
        path = f"/v1/conversations/{conversation}/messages"
        turn = (await http.post(path, json={"text": "我要申请加班"})).json()
        assert turn["flow"]["name"] == FLOW, turn
        run = (await http.get(f"/v1/flow-runs/{turn['flow']['id']}")).json()
    version: int = run["version"]
    return version


async def test_overtime_is_made_tried_reviewed_published_used_changed_and_rolled_back(
    door: Door, house: Served
) -> None:
    watch = Stopwatch()
    dave = await writing(door, house, "dave")
    with watch.step("a flow from nothing"):
        await begun(dave)
    with watch.step("what it asks, with a limit"):
        await asks_for_hours(dave)
        await starts_by(dave)
    with watch.step("two levels of approval"):
        await approved_at_two_levels(dave)
    with watch.step("the first story"):
        await tried(dave, "2", {"陈博 Bob": "Approve"}, "Your overtime is approved", "two hours")
    with watch.step("two more stories"):
        both = {"陈博 Bob": "Approve", "Carol Meyer": "Approve"}
        await tried(dave, "5", both, "Your overtime is approved", "five hours")
        await tried(dave, "2", {"陈博 Bob": "Reject"}, "It wasn't approved", "refused")
    with watch.step("all stories run"):
        await green(dave)
    with watch.step("submitted"):
        await submitted(dave, "Overtime without paper")
    erin = await writing(door, house, "erin")
    with watch.step("reviewed by somebody else"):
        await reviewed(erin, "Overtime without paper", "这是一个新流程")
    with watch.step("published"):
        await published(dave)
    with watch.step("used by somebody else"):
        assert await begins(house) == 1
    with watch.step("changed, submitted"):
        await dave.part("Edit")
        await dave.point("manager")
        await dave.form.get_by_label("Value", exact=True).fill("4")
        await dave.point("done")
        await dave.words(
            "What it says", "加班批准了。记得调休。", "Your overtime is approved. Take it off."
        )
        await dave.saved()
        await dave.part("Publish")
        await submitted(dave, "It says more")
    with watch.step("reviewed, published again"):
        await reviewed(erin, "It says more", "记得调休")
        await published(dave)
        assert await begins(house) == 2
    with watch.step("rolled back"):
        await rolled_back(dave)
        assert await begins(house) == 1
    await expect(dave.page.locator(".publication")).to_contain_text("version 2: 1")
    print(f"\n{watch.table()}")
