"""Tells other systems what happened: signed, at least once, in order per run, for three days.

Each consumer has a task of its own, so that one that is slow or away keeps nobody else waiting. A
process that dies leaves what it was sending to the next, under the same `webhook-id`.
"""

import asyncio
import json
import logging
import random
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime

from router.api.dependencies import Services
from router.domain.errors import RouterError, ToolError, Unavailable
from router.domain.webhook_events import WebhookDelivery
from router.outbound.client import Received, Sender
from router.outbound.guard import WEBHOOK_ORIGINS, OutboundGuard
from router.store.webhook_deliveries import WebhookDeliveries
from router.telemetry.metrics import UNDELIVERED, WEBHOOKS, WEBHOOKS_DEAD
from router.webhook.webhook_files import WebhookConsumer

EVERY = 1.0
"""Seconds between looks, where nothing was due."""
AT_ONCE = 8
"""Requests that one consumer has under way from one process."""
SECONDS = 15.0
"""For which a consumer may take its time."""
LEASE = timedelta(seconds=60)
"""For which what was claimed is one process's alone: longer than a request ever takes."""
FIRST_WAIT = timedelta(seconds=5)
LONGEST_WAIT = timedelta(hours=8)
COUNTED_EVERY = 15.0
GONE = 410
LONGEST_ERROR = 300

log = logging.getLogger("router.webhooks")


def wait_after(tries: int, spread: float) -> timedelta:
    """How long a consumer is left alone after so many tries, three times as long each time.

    `spread`, from 0 to 1, makes it up to a quarter shorter: lest all come back at once.
    """
    grown: timedelta = min(LONGEST_WAIT, FIRST_WAIT * 3 ** min(tries - 1, 12))
    return grown * (1 - spread / 4)


def wanted_wait(value: str, now: datetime) -> timedelta:
    """What a `Retry-After` asks for, as seconds or a date; none where it says neither."""
    try:
        wait = timedelta(seconds=int(value)) if value.isdecimal() else _until(value) - now
    except (ValueError, OverflowError, TypeError):
        return timedelta()
    return max(timedelta(), min(wait, timedelta(days=1)))


def _until(date: str) -> datetime:
    then = parsedate_to_datetime(date)
    return then if then.tzinfo else then.replace(tzinfo=UTC)


@dataclass
class ConsumerLine:
    """What goes to one consumer."""

    consumer: WebhookConsumer
    deliveries: WebhookDeliveries
    sender: Sender
    clock: Callable[[], datetime]
    signing_clock: Callable[[], datetime]
    is_gone: bool = False
    """True once it said that it wants nothing more, until this process is started anew."""

    @property
    def _id(self) -> str:
        return self.consumer.subscription.consumer

    async def run(self) -> None:
        """Deliver until cancelled."""
        while True:
            found = 0
            try:
                found = await self.round()
            except RouterError as error:
                log.warning("nothing can be delivered to %s right now: %s", self._url, error)
            except Exception:  # a line that stops would be a silence that nobody explains
                log.exception("nothing was delivered to %s", self._url)
            if found < AT_ONCE:
                await asyncio.sleep(EVERY)

    @property
    def _url(self) -> str:
        return self.consumer.subscription.shown_url

    async def round(self) -> int:
        """Deliver what is due, each of another run; how many that were."""
        if self.is_gone:
            await self.deliveries.bury_all(self._id, "410: it wants nothing more")
            return 0
        now = self.clock()
        due = await self.deliveries.claim(self._id, now, now + LEASE, AT_ONCE)
        ends = await asyncio.gather(*map(self._deliver, due), return_exceptions=True)
        for delivery, end in zip(due, ends, strict=True):
            # Its lease ends either way, and it is tried again.
            if isinstance(end, RouterError):
                log.warning("%s isn't delivered to %s yet: %s", delivery.id, self._url, end)
            elif isinstance(end, Exception):
                log.error("%s isn't delivered to %s", delivery.id, self._url, exc_info=end)
        return len(due)

    async def _deliver(self, delivery: WebhookDelivery) -> None:
        try:
            answer = await self._sent(delivery)
        except ToolError as error:
            await self._failed(delivery, str(error), timedelta())
            return
        except Exception as error:  # not counted, it would hold up its run for ever
            log.exception("%s can't be sent to %s", delivery.id, self._url)
            await self._failed(delivery, f"it can't be sent: {type(error).__name__}", timedelta())
            return
        if answer.fine:
            await self.deliveries.deliver(delivery)
            WEBHOOKS.labels("delivered").inc()
        elif answer.status == GONE:
            self.is_gone = True
            log.error(
                "%s answered 410 and is sent nothing more: take it out of ROUTER_WEBHOOKS, or "
                "start anew once it wants to hear of us; what it missed is with the dead ones",
                self._url,
            )
            await self._dead(delivery, "410: it wants nothing more")
        else:
            wait = wanted_wait(answer.headers.get("retry-after", "").strip(), self.clock())
            await self._failed(delivery, _said(answer), wait)

    async def _sent(self, delivery: WebhookDelivery) -> Received:
        body = json.dumps(delivery.data, ensure_ascii=False)
        signed = self.consumer.secrets.headers(delivery.id, self.signing_clock(), body)
        return await self.sender.send(self.consumer.request(signed, body), SECONDS)

    async def _failed(self, delivery: WebhookDelivery, why: str, at_least: timedelta) -> None:
        # No secret hangs on how far apart tries are.
        spread = random.random()  # noqa: S311
        wait = max(wait_after(delivery.attempts + 1, spread), at_least)
        now, why = self.clock(), why[:LONGEST_ERROR]
        if now >= delivery.until:
            await self._dead(delivery, why)
            return
        # Tried a last time as it is given up, however long the wait would be.
        await self.deliveries.postpone(delivery, min(now + wait, delivery.until), why)
        WEBHOOKS.labels("failed").inc()
        log.warning("%s didn't take %s and is asked again: %s", self._url, delivery.id, why)

    async def _dead(self, delivery: WebhookDelivery, why: str) -> None:
        await self.deliveries.bury(delivery, why)
        WEBHOOKS.labels("dead").inc()
        log.error("%s of %s is given up for %s: %s", delivery.id, delivery.event, self._url, why)


def _said(answer: Received) -> str:
    """The status alone: what a consumer writes is nobody's to keep."""
    if 300 <= answer.status < 400:  # noqa: PLR2004
        return f"{answer.status}: it leads elsewhere, which isn't followed; name that address"
    return f"it answered {answer.status}"


def _now() -> datetime:
    return datetime.now(UTC)


@dataclass
class WebhookDispatcher:
    """All consumers' lines, and what is counted of them."""

    consumers: Sequence[WebhookConsumer]
    deliveries: WebhookDeliveries
    sender: Sender
    clock: Callable[[], datetime] = _now
    signing_clock: Callable[[], datetime] = _now
    keep_time: Callable[[], Awaitable[None]] | None = None
    """Sees from time to time that the clock is right."""
    lines: list[ConsumerLine] = field(init=False)

    def __post_init__(self) -> None:
        """A line for each."""
        self.lines = [
            ConsumerLine(consumer, self.deliveries, self.sender, self.clock, self.signing_clock)
            for consumer in self.consumers
        ]

    @asynccontextmanager
    async def at_work(self) -> AsyncIterator[None]:
        """Deliver for as long as the block lasts."""
        work = [line.run() for line in self.lines]
        tasks = [asyncio.create_task(each) for each in (*work, self._keep_counting())]
        try:
            yield
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _keep_counting(self) -> None:
        while True:
            try:
                if self.keep_time is not None:
                    await self.keep_time()
                await self.tidy()
            except RouterError as error:
                log.warning("webhooks can't be counted right now: %s", error)
            except Exception:  # figures that stand still would say that nothing waits
                log.exception("webhooks weren't counted")
            await asyncio.sleep(COUNTED_EVERY)

    async def tidy(self) -> None:
        """Count what waits and what is dead; give up what nobody took in its time.

        For consumers that aren't named here another process may be at work, by a newer file.
        """
        now, why = self.clock(), "ROUTER_WEBHOOKS has no entry with this address any more"
        known = [line.consumer.subscription.consumer for line in self.lines]
        if number := await self.deliveries.bury_overdue(known, now, now - LEASE, why):
            log.error("%d events are given up: %s", number, why)
        await self.deliveries.release()
        UNDELIVERED.clear()
        WEBHOOKS_DEAD.clear()
        for line in self.lines:
            UNDELIVERED.labels(line.consumer.subscription.shown_url).set(0)
        for each in await self.deliveries.backlog():
            WEBHOOKS_DEAD.labels(each.url).set(each.dead)
            waited = (now - each.oldest).total_seconds() if each.oldest else 0.0
            UNDELIVERED.labels(each.url).set(max(0.0, waited))


@asynccontextmanager
async def webhooks_at_work(services: Services) -> AsyncIterator[None]:
    """Tell other systems what happens, for as long as the block lasts; nothing if none is set."""
    settings = services.settings
    if settings.webhooks is None:
        yield
        return
    sender = Sender(OutboundGuard(settings.webhook_allow, WEBHOOK_ORIGINS), follows=False)
    store = services.store
    with suppress(Unavailable):
        await store.clock.keep()
    by = (store.clock, store.clock, store.clock.keep)
    dispatcher = WebhookDispatcher(services.systems.told, store.webhooks, sender, *by)
    async with dispatcher.at_work():
        yield
