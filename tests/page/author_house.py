"""A company in which two people write flows, and how a flow is made there by pointing."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from playwright.async_api import Locator, expect
from temporalio.client import Client

from router.directory.file import SAMPLE
from router.runtime.upkeep import at_work
from router.runtime.worker import build_worker
from router.settings import Settings
from tests.page.house import Door, Served, Visitor

QUEUE = "authors"
A_TRIAL = 90_000
"""Milliseconds that the first step of a trial may take: its process is started then."""
AUTHORS = {"dave": "Dave Hughes", "erin": "林娥 Erin"}
"""Who writes flows here: one in English, one in Chinese."""


def with_authors(folder: Path) -> Path:
    """The sample directory, in which two more people have the role `author`."""
    text = SAMPLE.read_text("utf-8")
    for role in ("hr", "finance"):
        assert f"roles: [{role}]" in text
        text = text.replace(f"roles: [{role}]", f"roles: [{role}, author]")
    file = folder / "people.yaml"
    file.write_text(text, "utf-8")
    return file


@asynccontextmanager
async def authors_house(folder: Path, temporal: Client) -> AsyncIterator[Served]:
    """The house as it ships, with its authors."""
    settings = Settings.load(data=folder, directory=with_authors(folder))
    async with (
        at_work(settings) as parts,
        build_worker(temporal, parts, QUEUE),
        Served(parts, temporal, QUEUE) as served,
    ):
        yield served


async def writing(
    door: Door, house: Served, who: str, flow: str = "", *, part: str = "", **options: Any
) -> "Author":
    """Somebody at the list of flows, or at one of them."""
    english = {"locale": "en-US"} if who == "dave" else {}
    visitor = await (await door.visitor(house, **{**english, **options})).come(AUTHORS[who])
    author = Author(visitor)
    await author.open(flow, part)
    return author


class Author:
    """Somebody at the authors' part of the page."""

    def __init__(self, visitor: Visitor) -> None:
        self.visitor = visitor
        self.page = visitor.page
        self.form = self.page.locator(".edit .form")
        self.standing = self.page.locator(".standing")
        self.source = self.page.locator(".source textarea")
        self.problems = self.page.locator(".count-problems")

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
        await self.state(name).click()
        await expect(self.state(name)).to_have_attribute("aria-pressed", "true")

    async def pick(self, name: str) -> None:
        """Choose something of the outline, by its name in the file or in words."""
        await self.page.locator(".outline .item").filter(has_text=name).first.click()

    async def part(self, name: str) -> None:
        """Open a part of the bench."""
        await self.page.get_by_role("tab", name=name).click()

    async def add(self, title: str, **fields: str) -> None:
        """Add a step or something to know, with these fields of the form for it."""
        await self.page.locator(".outline summary").filter(has_text=title).click()
        form = self.page.locator(".outline details[open] .adding")
        for label, value in fields.items():
            field = form.get_by_label(label.replace("_", " "), exact=True)
            if await field.evaluate("one => one.tagName") == "SELECT":
                await field.select_option(value)
            else:
                await field.fill(value)
        await form.get_by_role("button").click()
        await expect(self.page.locator(".edit h2")).to_be_focused()

    async def words(self, group: str, zh: str, en: str) -> None:
        """Fill a text in, in both languages."""
        both = self.form.get_by_role("group", name=group, exact=True)
        for locale, text in (("zh", zh), ("en", en)):
            await both.locator(f"[lang={locale}]").fill(text)
        await both.locator("[lang=zh]").press("Tab")

    async def says(self, label: str, *words: str) -> None:
        """Say these in the trial, one after the other, where its field has this label."""
        for text in words:
            field, own = self.page.get_by_label(label), self.page.locator(".trial-log .own")
            heard = await own.count()
            await field.fill(text)
            await field.press("Enter")
            await expect(own).to_have_count(heard + 1, timeout=A_TRIAL)

    async def presses(self, name: str, group: str = "") -> None:
        """Press what the trial offers, and wait until it has gone on."""
        log = self.page.locator(".trial-log > li")
        heard = await log.count()
        trial = self.page.locator(".trial")
        within = trial.get_by_role("group", name=group) if group else trial
        await within.get_by_role("button", name=name, exact=True).click()
        await expect(log.nth(heard)).to_be_visible(timeout=A_TRIAL)

    async def saved(self) -> None:
        """Wait until all of it is kept."""
        await expect(self.standing).to_have_attribute("data-standing", "saved")

    async def yaml(self) -> str:
        """The text as it stands."""
        text: str = await self.source.input_value()
        return text
