"""A process from nothing to what everybody uses, and back, by people who write no code.

How long each step took is printed: `pytest -s tests/page/extensions/authoring/test_overtime.py`.
"""

from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from time import monotonic

import httpx
import pytest
from playwright.async_api import expect
from temporalio.client import Client

from tests.page.extensions.authoring.author_house import (
    A_TRIAL,
    AUTHORS,
    Author,
    Keys,
    Pointer,
    authors_house,
    writing,
)
from tests.page.house import Door, Served

pytestmark = pytest.mark.slow

FLOW = "overtime"
BOB, CAROL = "陈博 Bob", "Carol Meyer"
"""Frank's manager, and hers."""
TOO_MANY = "12 is the most. Please give a smaller number."


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


@pytest.fixture
async def house(
    real_client: Client, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Served]:
    async with authors_house(tmp_path_factory.mktemp("overtime"), real_client) as served:
        yield served


async def begun(author: Author) -> None:
    """A flow of this name, with what it begins with."""
    await author.hand.press(author.page.locator(".new-flow summary"))
    await author.fill("flowName", FLOW)
    await author.fill("title_en", "Overtime")
    await author.fill("title_zh", "加班申请")
    await author.press("beginFlow")
    await expect(author.state("details")).to_be_visible()


async def asks_for_hours(author: Author) -> None:
    """It asks for a number with a limit."""
    await author.add("addSlot", slotType="number", nameInFile="hours")
    await author.words("slotLabel", "小时", "Hours")
    await author.words("slotAsk", "加班几个小时？", "How many hours?")
    await author.hand.choose(author.form.get_by_label(await author.t("addCheck")), "at_most")
    await author.fill("parameter_most", "12", author.form)
    said = author.form.get_by_role("group", name=await author.t("checkSays"))
    await expect(said.locator("[lang=en]")).to_have_value(TOO_MANY)


async def starts_by(author: Author) -> None:
    """What starts it."""
    await author.pick(await author.t("triggers"))
    await author.fill("topics", "加班\n\\bovertime\\b")
    await author.fill("examples", "我要申请加班\nI want to request overtime")


async def approved_at_two_levels(author: Author) -> None:
    """The manager decides; above three hours the director does as well."""
    await author.point("review")
    await author.add("addState", does="approve", nameInFile="manager")
    await author.add("addState", does="approve", nameInFile="director", comesAfter="manager")
    await author.choose("approver", "role('director')", author.form)
    await author.point("manager")
    way = author.form.locator(".way").filter(has_text=await author.t("way_approved"))
    await author.press("splitWay", way)
    await author.fill("value", "3", way)
    await author.choose("goesTo", "done", way)
    await author.point("done")
    await author.words("says", "加班批准了。", "Your overtime is approved.")
    await expect(author.problems).to_have_text(await author.t("noProblems"))
    await author.saved()


async def tried(author: Author, hours: str, decisions: dict[str, str], title: str) -> None:
    """Play a request of frank's, decide on it as each of these, and keep it as a story."""
    await author.part("tryIt")
    if await author.page.locator(".trial-log > li").count():
        await author.press("fromStart")
        sure = author.page.get_by_role("group", name=await author.t("reallyFromStart"))
        await author.press("fromStart", sure)
    else:
        await author.choose("asWhom", "frank")
    await author.says("I want to request overtime", "the release", hours)
    await author.presses("yes")
    for who, how in decisions.items():
        await author.presses(how, who)
    ends = "It wasn't approved" if "reject" in decisions.values() else "Your overtime is approved"
    await expect(author.page.locator(".trial-log .bot").last).to_contain_text(ends)
    await author.fill("storyTitle", title)
    await author.press("keepStory")
    await author.told("storyKept", title)


async def green(author: Author) -> None:
    """All that was kept passes."""
    await author.part("publish")
    await author.press("runStories")
    told = author.page.locator(".submission")
    await expect(told).to_contain_text(await author.t("storiesTold", 3, 0), timeout=A_TRIAL)


async def submitted(author: Author, note: str) -> None:
    """The draft is submitted, its stories green."""
    await author.part("publish")
    await author.fill("reviewNote", note)
    await author.press("submitReview")
    await author.told("submitted")


async def reviewed(reviewer: Author, author: str, note: str) -> None:
    """Somebody else finds it among what waits, reads what is different, and agrees."""
    await reviewer.open()
    link = reviewer.page.get_by_role("link", name=await reviewer.t("toReview", FLOW, author))
    await reviewer.hand.press(link)
    review = reviewer.page.locator(".review").first
    await expect(review).to_contain_text(note)
    await expect(review.locator(".words-of li").first).to_be_visible()
    await expect(review.locator(".coverage")).to_contain_text("%")
    await reviewer.hand.press(review.get_by_text(await reviewer.t("asPictures")))
    after = review.get_by_role("img", name=await reviewer.t("picture_after"))
    await expect(after).to_be_visible()
    await reviewer.press("approveReview", review)
    await reviewer.told("reviewApproved")


async def published(author: Author) -> None:
    """They let it hold for everybody."""
    await author.press("reload")
    await author.press("publishIt", author.page.locator(".publishing"))
    await author.told("wasPublished")


async def rolled_back(author: Author) -> None:
    """One press, and the one that makes sure."""
    await author.press("rollBack")
    sure = author.page.get_by_role("group", name=await author.t("reallyRollBack", 1))
    await author.press("rollBack", sure)
    await author.told("rolledBack")


async def taken_up_again(author: Author, version: int) -> None:
    """The draft says what was taken back, to go on from there."""
    earlier = author.page.locator(".publication summary", has_text=await author.t("beforeIt"))
    await author.hand.press(earlier)
    button = author.page.get_by_role("button", name=await author.t("draftOfVersionBy", version))
    await author.hand.press(button.last)
    await author.told("draftRestored", version)


async def begins(house: Served) -> int:
    """The version that a run goes by which alice's words begin."""
    headers = {"Authorization": "Bearer alice"}
    async with httpx.AsyncClient(base_url=house.origin, headers=headers, timeout=60) as http:
        conversation = (await http.post("/v1/conversations")).json()["id"]
        path = f"/v1/conversations/{conversation}/messages"
        turn = (await http.post(path, json={"text": "我要申请加班"})).json()
        assert turn["flow"]["name"] == FLOW, turn
        run = (await http.get(f"/v1/flow-runs/{turn['flow']['id']}")).json()
    version: int = run["version"]
    return version


async def made_and_tried(author: Author, watch: Stopwatch) -> None:
    """Two levels of approval from nothing, with three stories that pass."""
    with watch.step("a flow from nothing"):
        await begun(author)
    with watch.step("what it asks, with a limit"):
        await asks_for_hours(author)
    with watch.step("what starts it"):
        await starts_by(author)
    with watch.step("two levels of approval"):
        await approved_at_two_levels(author)
    with watch.step("the first story"):
        await tried(author, "2", {BOB: "approve"}, "two hours")
    with watch.step("two more stories"):
        await tried(author, "5", {BOB: "approve", CAROL: "approve"}, "five hours")
        await tried(author, "2", {BOB: "reject"}, "refused")
    with watch.step("all stories run"):
        await green(author)


@pytest.mark.parametrize(
    ("who", "by", "other"),
    [
        pytest.param("dave", Pointer, "erin", id="pointing-en", marks=pytest.mark.slow),
        pytest.param("erin", Keys, "dave", id="keys-zh"),
    ],
)
async def test_overtime_is_made_tried_reviewed_published_used_changed_and_rolled_back(
    house: Served, door: Door, who: str, by: type[Pointer], other: str
) -> None:
    watch = Stopwatch()
    author = await writing(door, house, who, by=by)
    await made_and_tried(author, watch)
    with watch.step("submitted"):
        await submitted(author, "Overtime without paper")
    reviewer = await writing(door, house, other, by=by)
    with watch.step("reviewed by somebody else"):
        await reviewed(reviewer, AUTHORS[who], "Overtime without paper")
    with watch.step("published"):
        await published(author)
    with watch.step("used by somebody else"):
        assert await begins(house) == 1
    with watch.step("changed, submitted"):
        await author.part("edit")
        await author.point("manager")
        await author.fill("value", "4", author.form)
        await author.saved()
        await submitted(author, "Four hours now")
    with watch.step("reviewed, published again"):
        await reviewed(reviewer, AUTHORS[who], "Four hours now")
        await published(author)
        assert await begins(house) == 2
    with watch.step("rolled back"):
        await rolled_back(author)
        assert await begins(house) == 1
    running = author.page.locator(".publication")
    await expect(running).to_contain_text(await author.t("runsOn", 2, 1))
    with watch.step("gone on from what was taken back"):
        await taken_up_again(author, 2)
    print(f"\n{watch.table()}")
