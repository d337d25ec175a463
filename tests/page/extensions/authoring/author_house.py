"""A company in which two people write flows, and how a flow is made there by pointing."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import Locator, Page, expect
from temporalio.client import Client

from router.directory.file import SAMPLE
from router.runtime.upkeep import at_work
from router.runtime.worker import build_worker
from router.settings import Settings
from tests.page.house import Door, Served, Visitor

QUEUE = "authors"
A_TRIAL = 90_000
"""Milliseconds that the first step of a trial may take: its process is started then."""
MOST_STEPS = 150
"""Keys after which something counts as out of reach."""
FOCUSED = "one => one === document.activeElement"
STANDS_BEFORE = """
one => Boolean(document.activeElement.compareDocumentPosition(one)
  & Node.DOCUMENT_POSITION_PRECEDING)
"""
WAY_IN_LIST = """
(one, value) => [...one.options].findIndex((each) => each.value === value) - one.selectedIndex
"""
SAID = """
async ([key, ...values]) => (await import('/web/author/texts.js')).t(key, ...values)
"""
AUTHORS = {"dave": "Dave Hughes", "erin": "林娥 Erin"}
"""Who writes flows here: one in English, one in Chinese."""


def with_authors(folder: Path, directory: Path = SAMPLE) -> Path:
    """The directory, in which two more people have the role `author`; as a file in the folder."""
    text = directory.read_text("utf-8")
    for role in ("hr", "finance"):
        assert f"roles: [{role}]" in text
        text = text.replace(f"roles: [{role}]", f"roles: [{role}, author]")
    file = folder / "people.yaml"
    file.write_text(text, "utf-8")
    return file


@asynccontextmanager
async def authors_house(folder: Path, temporal: Client, **more: Any) -> AsyncIterator[Served]:
    """The house as it ships, with its authors; with `more` of its settings."""
    settings = Settings.load(data=folder, directory=with_authors(folder), **more)
    async with (
        at_work(settings) as parts,
        build_worker(temporal, parts, QUEUE),
        Served(parts, temporal, QUEUE) as served,
    ):
        yield served


async def writing(
    door: Door, house: Served, who: str, flow: str = "", *, part: str = "", **options: Any
) -> "Author":
    """Somebody at the list of flows, or at one of them; with `by=Keys` they have no mouse."""
    english = {"locale": "en-US"} if who == "dave" else {}
    by = options.pop("by", Pointer)
    visitor = await (await door.visitor(house, **{**english, **options})).come(AUTHORS[who])
    author = Author(visitor, by(visitor.page))
    await author.open(flow, part)
    return author


class Pointer:
    """Who points at things."""

    def __init__(self, page: Page) -> None:
        self.page = page

    async def press(self, what: Locator) -> None:
        """Press a button, a link, a tab or a summary."""
        await what.click()

    async def fill(self, field: Locator, text: str) -> None:
        """Put this into a field."""
        await field.fill(text)

    async def choose(self, field: Locator, value: str) -> None:
        """Choose this of a list, by its value."""
        await field.select_option(value)

    async def point(self, state: Locator) -> None:
        """Choose a state of the picture."""
        await state.click()


class Keys(Pointer):
    """Who has a keyboard and nothing else: what isn't reached by Tab and arrows isn't reached."""

    async def press(self, what: Locator) -> None:
        """Come to it, along the tabs where it is one of those, and press Enter."""
        if await what.get_attribute("role") == "tab":
            await self._roam(what, "[role=tab][tabindex='0']", "ArrowRight")
            return
        await self.come(what)
        await self.page.keyboard.press("Enter")

    async def fill(self, field: Locator, text: str) -> None:
        """Type over what is in it."""
        await self.come(field)
        await self.page.keyboard.press("Control+A")
        await self.page.keyboard.type(text)

    async def choose(self, field: Locator, value: str) -> None:
        """Open the list, go to the value, and take it."""
        await self.come(field)
        way = await field.evaluate(WAY_IN_LIST, value)
        await self.page.keyboard.press("Space")
        for _ in range(abs(way)):
            await self.page.keyboard.press("ArrowDown" if way > 0 else "ArrowUp")
        await self.page.keyboard.press("Enter")
        await expect(field).to_have_value(value)

    async def point(self, state: Locator) -> None:
        """Walk through the picture to it."""
        await self._roam(state, "[data-state][tabindex='0']", "ArrowRight")
        await self.page.keyboard.press("Enter")

    async def _roam(self, what: Locator, first: str, key: str) -> None:
        await self.come(self.page.locator(first))
        if key == "ArrowRight" and await what.get_attribute("role") == "button":
            await self.page.keyboard.press("Home")
        for _ in range(MOST_STEPS):
            if await what.evaluate(FOCUSED):
                return
            await self.page.keyboard.press(key)
        pytest.fail(f"no key comes to {what}")

    async def come(self, what: Locator) -> None:
        """Press Tab, or Shift+Tab where it stands before, until it has the focus."""
        await expect(what).to_be_visible()
        key = "Shift+Tab" if await what.evaluate(STANDS_BEFORE) else "Tab"
        for _ in range(MOST_STEPS):
            if await what.evaluate(FOCUSED):
                return
            await self.page.keyboard.press(key)
        pytest.fail(f"{key} doesn't come to {what}")


class Author:
    """Somebody at the authors' part of the page, with their hand."""

    def __init__(self, visitor: Visitor, hand: Pointer) -> None:
        self.visitor = visitor
        self.page = visitor.page
        self.hand = hand
        self.form = self.page.locator(".edit .form")
        self.standing = self.page.locator(".standing")
        self.source = self.page.locator(".source textarea")
        self.problems = self.page.locator(".count-problems")

    async def t(self, key: str, *values: object) -> str:
        """What the page says under this key, in the author's language."""
        said: str = await self.page.evaluate(SAID, [key, *values])
        return said

    async def open(self, flow: str = "", part: str = "") -> None:
        """Go to the list of flows, or to one of them."""
        path = "/".join(each for each in ("#/flows", flow, part) if each)
        await self.page.goto(f"{self.visitor.origin}/{path}")
        shown = ".author .picture svg" if flow else ".sheet.flows"
        await expect(self.page.locator(shown)).to_be_visible()

    def state(self, name: str) -> Locator:
        """A state in the picture."""
        return self.page.locator(f".picture [data-state={name}]")

    async def point(self, name: str) -> None:
        """Choose a state in the picture."""
        await self.hand.point(self.state(name))
        await expect(self.state(name)).to_have_attribute("aria-pressed", "true")

    async def pick(self, name: str) -> None:
        """Choose something of the outline, by its name in the file or in words."""
        await self.hand.press(self.page.locator(".outline .item").filter(has_text=name).first)

    async def part(self, key: str) -> None:
        """Open a part of the bench."""
        await self.hand.press(self.page.get_by_role("tab", name=await self.t(key)))

    async def press(self, key: str, within: Locator | None = None) -> None:
        """Press the button that is called so."""
        named = await self.t(key)
        place = within or self.page
        await self.hand.press(place.get_by_role("button", name=named, exact=True).first)

    async def fill(self, key: str, text: str, within: Locator | None = None) -> None:
        """Put this into the field of this label."""
        field = (within or self.page).get_by_label(await self.t(key), exact=True)
        await self.hand.fill(field.last, text)

    async def choose(self, key: str, value: str, within: Locator | None = None) -> None:
        """Choose this in the list of this label."""
        field = (within or self.page).get_by_label(await self.t(key), exact=True)
        await self.hand.choose(field.last, value)

    async def add(self, key: str, **fields: str) -> None:
        """Add a step or something to know, with these fields of the form for it."""
        summary = self.page.locator(".outline summary")
        await self.hand.press(summary.filter(has_text=await self.t(key)))
        form = self.page.locator(".outline details[open] .adding")
        for label, value in fields.items():
            field = form.get_by_label(await self.t(label), exact=True)
            isnt_list = await field.evaluate("one => one.tagName") != "SELECT"
            await (self.hand.fill if isnt_list else self.hand.choose)(field, value)
        await self.hand.press(form.get_by_role("button"))
        await expect(self.page.locator(".edit h2")).to_be_focused()

    async def words(self, key: str, zh: str, en: str) -> None:
        """Fill a text in, in both languages."""
        both = self.form.get_by_role("group", name=await self.t(key), exact=True)
        for locale, text in (("zh", zh), ("en", en)):
            await self.hand.fill(both.locator(f"[lang={locale}]"), text)

    async def says(self, *words: str) -> None:
        """Say these in the trial, one after the other."""
        field = self.page.get_by_label(await self.t("trialSays"))
        for text in words:
            own = self.page.locator(".trial-log .own")
            heard = await own.count()
            await self.hand.fill(field, text)
            await field.press("Enter")
            await expect(own).to_have_count(heard + 1, timeout=A_TRIAL)

    async def presses(self, key: str, who: str = "") -> None:
        """Press what the trial offers, as this person, and wait until it has gone on."""
        log = self.page.locator(".trial-log > li")
        heard = await log.count()
        trial = self.page.locator(".trial")
        group = await self.t("decidesAs", who) if who else ""
        await self.press(key, trial.get_by_role("group", name=group) if group else trial)
        await expect(log.nth(heard)).to_be_visible(timeout=A_TRIAL)

    async def told(self, key: str, *values: object) -> None:
        """Wait until the page has said so."""
        said = await self.t(key, *values)
        await expect(self.page.locator("#status")).to_have_text(said, timeout=A_TRIAL)

    async def saved(self) -> None:
        """Wait until all of it is kept."""
        await expect(self.standing).to_have_attribute("data-standing", "saved")

    async def yaml(self) -> str:
        """The text as it stands."""
        text: str = await self.source.input_value()
        return text
