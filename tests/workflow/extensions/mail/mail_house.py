"""A house that writes mail, and what people do there: ask, open links, press, wait."""

import asyncio
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

from httpx import AsyncClient, Response
from sqlalchemy import select
from temporalio.client import Client

from router.directory.file import SAMPLE
from router.extensions.notifications.tables import deferred_posts
from router.runtime.composition import Parts
from router.store import tables
from tests.fakes.slack import Slack
from tests.fakes.smtp import MailServer
from tests.waiting import HANGS_AFTER_S
from tests.workflow.desk import QUEUE
from tests.workflow.test_streaming import served

ALICE, BOB = {"Authorization": "Bearer alice"}, {"Authorization": "Bearer bob"}
BOBS, CAROLS = "bob@example.com", "carol@example.com"
PREFERENCES = "/v1/notification-preferences"
ANY_TIME = {"quiet": "never", "days_off": True}
MAIL_QUEUE = f"{QUEUE}-mail"


def with_addresses(folder: Path) -> Path:
    """The sample directory, its people with addresses, and bob with an account on Slack too."""
    text = SAMPLE.read_text("utf-8")
    for user in ("alice", "bob", "carol"):
        begins, accounts = f"{{id: {user}, ", f"mail: {user}@example.com"
        assert begins in text
        accounts += ", slack: UBOB" * (user == "bob")
        text = text.replace(begins, f"{begins}accounts: {{{accounts}}}, ")
    file = folder / "people.yaml"
    file.write_text(text, "utf-8")
    return file


@dataclass
class House:
    """A desk that writes mail, and posts on Slack."""

    parts: Parts
    client: Client
    mail: MailServer
    slack: Slack

    def open(self) -> AbstractAsyncContextManager[AsyncClient]:
        settings = self.parts.settings.having(self.mail.settings, self.slack.settings)
        return served(replace(self.parts, settings=settings), self.client, MAIL_QUEUE)


async def asks_for_leave(router: AsyncClient, days: str, *, who: Any = ALICE) -> str:
    """Ask for leave on these days, and confirm it: the run that then waits for an approver."""
    conversation = (await router.post("/v1/conversations", headers=who)).json()["id"]
    path = f"/v1/conversations/{conversation}/messages"
    said = await router.post(path, json={"text": f"我要请年假，{days}，家里有事"}, headers=who)
    (asked,) = [each for each in said.json()["replies"] if each["type"] == "confirm"]
    confirm = {"type": "confirm", "value": True, "question": asked["question"]}
    await router.post(path, json={"action": confirm}, headers=who)
    run: str = said.json()["flow"]["id"]
    return run


def here(link: str) -> str:
    """The path of a link, for the test's own connection."""
    return link[link.index("/adapters/") :]


async def press(router: AsyncClient, link: str, decision: str, comment: str = "") -> Response:
    fields = {"decision": decision, "comment": comment}
    return await router.post(here(link), data=fields, headers={"Authorization": ""})


async def look(router: AsyncClient, link: str, method: str = "GET", **headers: str) -> Response:
    return await router.request(method, here(link), headers={"Authorization": "", **headers})


async def status_of(router: AsyncClient, run: str) -> str:
    found: str = (await router.get(f"/v1/flow-runs/{run}", headers=ALICE)).json()["status"]
    return found


async def ended(router: AsyncClient, run: str) -> str:
    async with asyncio.timeout(HANGS_AFTER_S):
        while (status := await status_of(router, run)) == "waiting_approval":  # noqa: ASYNC110 - it is the house that goes on
            await asyncio.sleep(0.05)
    return status


def quiet_now(minutes: int = 120) -> dict[str, Any]:
    """Preferences by which it is quiet at this moment, and for a while yet, in Shanghai."""
    now = datetime.now(ZoneInfo("Asia/Shanghai"))
    begins, ends = now - timedelta(minutes=minutes), now + timedelta(minutes=minutes)
    return {
        "quiet": {"begins": f"{begins:%H:%M}", "ends": f"{ends:%H:%M}"},
        "days_off": True,
    }


async def nudge(router: AsyncClient, run: str) -> None:
    answer = await router.post(f"/v1/flow-runs/{run}/nudge", json={}, headers=ALICE)
    assert answer.status_code == 200


async def held_back(house: House, run: str, *platforms: str) -> None:
    """Return once what the run asks is put down for later; for mail and Slack if none is named."""
    query = select(deferred_posts.c.platform).filter_by(run=run)
    database = house.parts.store.database
    async with asyncio.timeout(HANGS_AFTER_S):
        while True:
            rows = await database.read(lambda c: c.execute(query).all())
            if {row.platform for row in rows} == set(platforms or ("mail", "slack")):
                return
            await asyncio.sleep(0.05)


async def passed(house: House, platform: str, behind: str) -> None:
    """Return once bob's mailbox on this platform is further than the one that is `behind`."""
    box = tables.mailboxes.c
    query = select(box.platform, box.position).where(box.subject == "bob", box.kind == "person")
    database = house.parts.store.database
    async with asyncio.timeout(HANGS_AFTER_S):
        while True:
            rows = await database.read(lambda c: c.execute(query).all())
            at = {row.platform: row.position for row in rows}
            if at[platform] > at[behind]:
                return
            await asyncio.sleep(0.05)


async def talk(router: AsyncClient, who: Any) -> str:
    answer = await router.post("/v1/conversations", headers=who)
    return f"/v1/conversations/{answer.json()['id']}/messages"


async def say(router: AsyncClient, path: str, text: str, who: Any) -> Any:
    return (await router.post(path, json={"text": text}, headers=who)).json()
