"""What is posted: each platform by itself, and nothing by two at once."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace

import pytest

from router.api.dependencies import Services
from router.directory.file import FileDirectory
from router.domain.errors import Unavailable
from router.domain.messages import as_plain_text
from router.domain.records import Mailbox
from router.extensions.channels import deferral
from router.extensions.channels.base import (
    ChatPlace,
    GivenFile,
    InboundFile,
    Outbound,
    Post,
    Statement,
)
from router.extensions.channels.outbox import Outbox
from router.extensions.notifications.store import LEASE
from router.store.database import Database
from router.store.store import Store
from tests.databases import migrate
from tests.integration.api.extensions.channels.test_adapters import told
from tests.integration.store.test_store import conversation
from tests.waiting import HANGS_AFTER_S

PEOPLE = """
users:
  - {id: alice, name: Alice, accounts: {slack: UALICE, mail: alice@example.com}}
"""


@dataclass
class Quick:
    """A platform that takes everything."""

    posts: list[str] = field(default_factory=list)
    _changed: asyncio.Event = field(default_factory=asyncio.Event)

    async def post(self, place: ChatPlace, post: Post, key: str) -> None:
        assert isinstance(post, Statement)
        await self.say(place, as_plain_text(post.replies, post.locale))

    async def say(self, place: ChatPlace, text: str) -> None:
        self.posts.append(text)
        self._changed.set()

    async def fetch(self, file: InboundFile) -> bytes:
        raise NotImplementedError

    async def give(self, place: ChatPlace, file: GivenFile, key: str) -> None:
        raise NotImplementedError

    async def aclose(self) -> None:
        """Nothing to let go of."""

    async def posted(self, text: str) -> None:
        async with asyncio.timeout(HANGS_AFTER_S):
            while text not in self.posts:
                self._changed.clear()
                await self._changed.wait()


class Silent(Quick):
    """One that takes what it is given and never says so."""

    async def say(self, place: ChatPlace, text: str) -> None:
        await super().say(place, text)
        await asyncio.Event().wait()


class OutOfTime(Silent):
    """One whose time is over as soon as it has taken what it is given."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        super().__init__()
        self.timeouts: list[asyncio.Timeout] = []
        patched = SimpleNamespace(timeout=self.timeout, gather=asyncio.gather)
        monkeypatch.setattr(deferral, "asyncio", patched)

    def timeout(self, _: float) -> asyncio.Timeout:
        self.timeouts.append(asyncio.timeout(None))
        return self.timeouts[-1]

    async def say(self, place: ChatPlace, text: str) -> None:
        self.timeouts[-1].reschedule(asyncio.get_running_loop().time())
        await super().say(place, text)


@pytest.fixture
async def there(services: Services, tmp_path: Path) -> AsyncIterator[Services]:
    """A desk with a database of its own: Alice talks on Slack, and elsewhere by mail."""
    database = Database(f"sqlite:///{tmp_path}/router.db")
    await migrate(database)
    store = Store(database)
    for platform, account in (("slack", "UALICE"), ("mail", "alice@example.com")):
        await store.conversations.create(conversation(platform))
        box = {"tenant": "default", "platform": platform, "kind": "conversation"}
        more = {"subject": platform, "place": {"account": account}, "due": datetime.now(UTC)}
        await store.mailboxes.open(Mailbox.model_validate({**box, **more}))
    yield replace(services, store=store, directory=FileDirectory.read(PEOPLE, "people"))
    await store.aclose()
    await database.dispose()


async def test_a_platform_that_never_answers_keeps_no_other_waiting(there: Services) -> None:
    slack, mail = Quick(), Silent()
    platforms: dict[str, Outbound] = {"slack": slack, "mail": mail}
    outbox = Outbox(there, platforms)
    posting = asyncio.create_task(outbox.run())
    await told(there.store, "mail", "m", "to nobody")
    await mail.posted("to nobody")
    for text in ("first", "second"):
        await told(there.store, "slack", "s", text)
        outbox.nudge()
        await slack.posted(text)
    posting.cancel()
    await asyncio.gather(posting, return_exceptions=True)
    assert mail.posts == ["to nobody"]


async def test_what_takes_as_long_as_the_lease_is_left_before_others_come_to_it(
    there: Services, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    assert deferral.IN_TIME < LEASE
    mail, boxes = OutOfTime(monkeypatch), there.store.mailboxes
    await told(there.store, "mail", "m", "hello")
    await Outbox(there, {"mail": mail}).round("mail")
    assert "didn't take a post within" in caplog.text
    now = datetime.now(UTC)
    assert await boxes.claim(["mail"], now, now + LEASE, 10) == []
    later = now + deferral.AGAIN
    assert len(await boxes.claim(["mail"], later, later + LEASE, 10)) == 1
    assert mail.posts == ["hello"]


@pytest.mark.slow
async def test_a_fault_at_the_beginning_ends_no_outbox(
    there: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    slack, faults = Quick(), [RuntimeError("a fault of ours")]
    outbox, introduced = Outbox(there, {"slack": slack}), Outbox._introduced

    async def introducing(self: Outbox, platform: str) -> None:
        if faults:
            raise faults.pop()
        await introduced(self, platform)

    monkeypatch.setattr(Outbox, "_introduced", introducing)
    monkeypatch.setattr("router.extensions.channels.outbox.EVERY", 0.01)
    posting = asyncio.create_task(outbox.run())
    await told(there.store, "slack", "s", "hello")
    await slack.posted("hello")
    posting.cancel()
    await asyncio.gather(posting, return_exceptions=True)


async def test_a_database_that_goes_away_is_a_warning_and_the_post_is_left_until_the_lease_ends(
    there: Services, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def away(*_: object) -> None:
        raise Unavailable("the database can't be used right now")

    slack, boxes = Quick(), there.store.mailboxes
    await told(there.store, "slack", "s", "hello")
    with monkeypatch.context() as broken:
        broken.setattr(boxes, "unread", away)
        broken.setattr(boxes, "advance", away)
        await Outbox(there, {"slack": slack}).round("slack")
    assert {(one.levelname, one.exc_info) for one in caplog.records} == {("WARNING", None)}
    assert "slack slack isn't posted yet: the database can't be used" in caplog.text
    later = datetime.now(UTC) + LEASE
    assert len(await boxes.claim(["slack"], later, later + LEASE, 10)) == 1
