"""Takes in what people do on chat platforms: who they are, which conversation, begun durably."""

import asyncio
import logging
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from typing import Any

from pydantic import ValidationError

from router.api.conversations import thread
from router.api.dependencies import AppState
from router.api.files import Upload, attached_id, keep_attached
from router.api.limits import Buckets
from router.api.params import derived_id, digest_of
from router.api.turns import MessageBody
from router.contracts.conversation import Submission
from router.domain.errors import (
    DuplicateKey,
    NotFound,
    RouterError,
    TooManyRequests,
    Unavailable,
    Unconfirmed,
)
from router.domain.file_types import MOST_BYTES, MOST_FILES, document_kind, safe_name
from router.domain.locale import Localised
from router.domain.messages import Message, Turn
from router.domain.principals import Principal
from router.domain.records import ConversationRecord, FileRecord, Mailbox
from router.extensions.channels import cards, hand_offs
from router.extensions.channels.base import (
    Inbound,
    InboundFile,
    NotAdmitted,
    Outbound,
    TooLong,
    Undeliverable,
)
from router.extensions.channels.outbox import DecisionOutcome, Outbox, decided

PATIENCE = 2.5
"""Seconds: platforms want to hear within three that an event was taken in."""
TOLD_A_MINUTE = 1
"""How often a person is told to slow down, and a stranger that they are one, by each process."""
STRANGERS_A_MINUTE = 30
"""How many accounts that are nobody's are answered in a minute, by each process."""

log = logging.getLogger(__name__)


class _NotTaken(Exception):
    """A file that isn't taken in, and what is said of that."""

    def __init__(self, why: Localised) -> None:
        super().__init__(why.en)
        self.why = why


def _why_not(why: Localised, file: InboundFile, person: Principal) -> str:
    return why.within(person.locale).replace("{name}", safe_name(file.name))


@dataclass
class Dispatcher:
    """One platform's way into the desk.

    What `take` has returned from is in Temporal: the platform may be told that it arrived. Where
    it raises, nothing is lost, for the platform delivers the same event again.
    """

    platform: str
    state: AppState
    outbound: Outbound
    outbox: Outbox
    _aside: set[asyncio.Task[None]] = field(default_factory=set)
    _taking: dict[str, asyncio.Task[None]] = field(default_factory=dict)
    _told: Buckets = field(default_factory=lambda: Buckets(TOLD_A_MINUTE))
    _strangers: Buckets = field(default_factory=lambda: Buckets(STRANGERS_A_MINUTE))

    async def take(self, inbound: Inbound) -> None:
        """Take it in, once, however often it is delivered.

        Raises `TooManyRequests` and `Unavailable`; it is delivered again then. What comes too fast
        isn't taken in, and the person told so: delivered again it would only be more of it.
        """
        person = self.state.services.directory.by_account(self.platform, inbound.account)
        if person is None:
            await self._turn_away(inbound)
            return
        if (why := self._too_fast(person)) is not None:
            # Said once, and not again for each message of the same flood.
            if not self._told.wait((person.tenant, person.id)):
                text = cards.TOO_FAST.within(person.locale)
                said = text.format(why=why.said.within(person.locale))
                self.aside(self.outbound.say(inbound.place, said))
            return
        try:
            async with asyncio.timeout(PATIENCE):
                await (self._fetched if inbound.files else self._said)(person, inbound)
        except TimeoutError as error:
            raise Unconfirmed("It isn't known yet whether the event was taken in.") from error

    async def decide(self, inbound: Inbound) -> DecisionOutcome | None:
        """What a press on a card came to, as late as by REST; None where nobody has the account."""
        services, button = self.state.services, inbound.button
        person = services.directory.by_account(self.platform, inbound.account)
        if person is None or button is None or button.decision is None:
            await self._turn_away(inbound)
            return None
        if (why := self._too_fast(person)) is not None:
            return DecisionOutcome(why.said.within(person.locale))
        word = f"decide:{derived_id(self.platform, inbound.event)}"
        try:
            return await decided(services, person, button.decision, inbound.comment, word)
        except Unconfirmed:
            return DecisionOutcome(cards.UNCONFIRMED.within(person.locale), failed=True)
        except (TooManyRequests, Unavailable):
            return DecisionOutcome(cards.TRY_AGAIN.within(person.locale), failed=True)

    async def deciding(
        self, inbound: Inbound, patience: float | None = None
    ) -> asyncio.Task[DecisionOutcome | None]:
        """What `decide` comes to, once it does or the platform waits no longer.

        What is still under way then dies with this process: whoever pressed is to be told
        `cards.DECIDING`. Raises what it raised, for the press to be delivered or made again.
        """
        under_way = asyncio.create_task(self.decide(inbound))
        await asyncio.wait({under_way}, timeout=PATIENCE if patience is None else patience)
        if under_way.done():
            under_way.result()
        return under_way

    async def _fetched(self, person: Principal, inbound: Inbound) -> None:
        """Take in a message with files: that goes on where it takes longer than a platform waits.

        What is delivered again meanwhile waits for the same, and later finds it done.
        """
        key = derived_id(self.platform, inbound.event)
        taking = self._taking.get(key)
        if taking is None:
            taking = self._taking[key] = asyncio.create_task(self._said(person, inbound))
            taking.add_done_callback(partial(self._taken, key))
        await asyncio.shield(taking)

    def _taken(self, key: str, taking: asyncio.Task[None]) -> None:
        del self._taking[key]
        if not taking.cancelled() and (error := taking.exception()) is not None:
            log.warning("a message with files isn't taken in yet: %s", error)

    def aside(self, work: Coroutine[Any, Any, None]) -> None:
        """Do it after the platform has its answer; what fails is written to the log."""

        async def logged() -> None:
            try:
                await work
            except RouterError as error:
                log.warning("it couldn't be said on a chat platform: %s", error)

        task = asyncio.create_task(logged())
        self._aside.add(task)
        task.add_done_callback(self._aside.discard)

    async def aclose(self) -> None:
        """Leave what isn't done."""
        under_way = [*self._aside, *self._taking.values()]
        for task in under_way:
            task.cancel()
        await asyncio.gather(*under_way, return_exceptions=True)
        await self.outbound.aclose()

    def _too_fast(self, person: Principal) -> TooManyRequests | None:
        """Count it among what the person does at all entrances; why it is too much, if it is."""
        try:
            self.state.rates.admit(person)
        except TooManyRequests as refusal:
            return refusal
        return None

    async def _said(self, person: Principal, inbound: Inbound) -> None:
        if (passed := await self._helped(person, inbound)) is not None:
            if passed.say is not None:
                await self._once(inbound, passed.say.within(person.locale))
            self.outbox.nudge()
            return
        names, refused = await self._handed_in(person, inbound)
        if refused:
            await self._once(inbound, "\n".join(refused))
        if inbound.files and not names and not inbound.text:
            return
        pressed = inbound.button.pressed if inbound.button else None
        try:
            text, files = inbound.text if inbound.text or not names else None, [*names] or None
            said = (
                MessageBody(action=pressed.action)
                if pressed
                else MessageBody(text=text, files=files)
            )
            record = await self._conversation(person, inbound)
            await self._begin(person, record, inbound, said.message, names)
        except ValidationError:
            await self._once(inbound, cards.UNUSABLE.within(person.locale))
        except NotFound:
            await self._once(inbound, cards.NOT_YOURS.within(person.locale))
        except DuplicateKey:
            log.warning("%s delivered another event as %r", self.platform, inbound.event)

    async def _helped(self, person: Principal, inbound: Inbound) -> hand_offs.Passed | None:
        """What came of it where somebody does it as a person who helps; None where they don't."""
        services, word = self.state.services, derived_id(self.platform, inbound.event)
        pressed = inbound.button.pressed if inbound.button else None
        if pressed is not None:
            hand_off = hand_offs.hand_off_in(pressed.conversation)
            if hand_off is None:
                return None
            return await hand_offs.pressed(services, person, hand_off, pressed.action, word)
        if not inbound.direct:
            return None
        files = bool(inbound.files)
        return await hand_offs.passed_on(services, person, inbound.text, word, files=files)

    async def _handed_in(
        self, person: Principal, inbound: Inbound
    ) -> tuple[dict[str, str], list[str]]:
        """What the files that came along are called, by their ids, and why others aren't taken.

        Raises `Unavailable` and `TooManyRequests` of the platform's: it delivers them again.
        """
        names: dict[str, str] = {}
        refused: list[str] = []
        for number, file in enumerate(inbound.files[:MOST_FILES]):
            place = (self.platform, inbound.event, str(number))
            try:
                record = await self._take_file(person, file, place)
                names[record.id] = record.name
            except _NotTaken as error:
                refused.append(_why_not(error.why, file, person))
        beyond = inbound.files[MOST_FILES:]
        refused += [_why_not(cards.FILES_LEFT_OUT, file, person) for file in beyond]
        return names, refused

    async def _take_file(
        self, person: Principal, file: InboundFile, place: tuple[str, ...]
    ) -> FileRecord:
        known = attached_id(person, *place)
        if (kept := await self.state.services.store.files.find(person.tenant, known)) is not None:
            return kept
        if not file.source:
            raise _NotTaken(cards.NOT_A_DOCUMENT)
        if file.size > MOST_BYTES:
            raise _NotTaken(cards.FILE_TOO_LARGE)
        try:
            content = await self.outbound.fetch(file)
        except TooLong as error:
            raise _NotTaken(cards.FILE_TOO_LARGE) from error
        except (Undeliverable, NotAdmitted) as error:
            log.warning("%s doesn't give a file: %s", self.platform, error)
            raise _NotTaken(cards.FILE_NOT_FETCHED) from error
        if document_kind(content) is None:
            raise _NotTaken(cards.NOT_A_DOCUMENT)
        try:
            upload = Upload(file.name, content)
            return await keep_attached(self.state.services, person, upload, *place)
        except TooManyRequests as error:
            zh = cards.FILE_NOT_KEPT.zh.replace("{why}", error.said.zh)
            en = cards.FILE_NOT_KEPT.en.replace("{why}", error.said.en)
            raise _NotTaken(Localised(zh=zh, en=en)) from error

    async def _conversation(self, person: Principal, inbound: Inbound) -> ConversationRecord:
        pressed = inbound.button.pressed if inbound.button else None
        if pressed is not None:
            return await self.state.ownership.owned(person, pressed.conversation)
        store = self.state.services.store
        record = await thread(store.conversations, person, self.platform, inbound.thread)
        mailbox = Mailbox(
            tenant=record.tenant,
            platform=self.platform,
            kind="conversation",
            subject=record.id,
            place={**inbound.place, "account": inbound.account},
            due=datetime.now(UTC),
        )
        await store.mailboxes.open(mailbox)
        return record

    async def _begin(
        self,
        person: Principal,
        record: ConversationRecord,
        inbound: Inbound,
        message: Message,
        names: dict[str, str],
    ) -> None:
        submission = Submission(
            message_id=derived_id(self.platform, inbound.event),
            message=message,
            file_names=names,
            brings_left=True,
            caller=person,
            seconds=self.state.services.settings.llm_turn_seconds,
        )

        def ended(turn: asyncio.Task[Turn | None]) -> None:
            """Have the answer posted at once; it would be posted a little later in any case."""
            self.outbox.nudge()
            if not turn.cancelled() and turn.exception() is not None:
                self.aside(self.outbound.say(inbound.place, cards.FAILED.within(person.locale)))

        never: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        turn = await self.state.turns.take(record, submission, never)
        turn.add_done_callback(ended)

    async def _turn_away(self, inbound: Inbound) -> None:
        """Say that nobody has the account; nothing is kept or posted for those who flood."""
        if not (self._told.wait(inbound.account) or self._strangers.wait(None)):
            await self._once(inbound, cards.STRANGER.format(account=inbound.account))

    async def _once(self, inbound: Inbound, text: str) -> None:
        """Say something that no conversation says, after the platform has its answer."""
        keys, digest = self.state.services.store.keys, digest_of(text)
        key = derived_id(self.platform, inbound.event)
        if not await keys.claimed("default", self.platform, key):
            await keys.claim("default", self.platform, key, digest)
            self.aside(self.outbound.say(inbound.place, text))


Entering = Callable[[Outbound], Dispatcher]
"""Returns what takes in messages and presses from a platform, given what posts on it."""
