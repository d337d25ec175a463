"""Progress passed on within one process: all that SQLite needs, which serves one alone."""

import asyncio
from collections import defaultdict, deque
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager

from router.domain.progress import Progress

WAITING = 256
"""What a reader may be behind, in events: over ten seconds of text as fast as it is told."""


class Inbox:
    """What one reader hasn't read yet; the oldest text goes where that becomes too much.

    Tools that started or finished are kept for as long as there is text to give up instead.
    """

    def __init__(self) -> None:
        self._waiting: deque[Progress] = deque()
        self._filled = asyncio.Event()

    def put(self, progress: Progress) -> None:
        """Add it; never waits. Who is to look at the log needn't be told twice."""
        if progress.type == "recorded" and self._waiting and self._waiting[-1] == progress:
            return
        if len(self._waiting) >= WAITING:
            self._give_up_one()
        self._waiting.append(progress)
        self._filled.set()

    def __aiter__(self) -> "Inbox":
        return self

    async def __anext__(self) -> Progress:
        while not self._waiting:
            self._filled.clear()
            await self._filled.wait()
        return self._waiting.popleft()

    def _give_up_one(self) -> None:
        texts = (at for at, it in enumerate(self._waiting) if it.type == "text_delta")
        del self._waiting[next(texts, 0)]


class Readers:
    """The readers of this process, by the conversation or the person whose news they read."""

    def __init__(self) -> None:
        self._inboxes: dict[tuple[str, str, str], list[Inbox]] = defaultdict(list)

    def give(self, progress: Progress) -> None:
        """Put it into the inbox of everyone who reads what it is of."""
        read = (progress.tenant, progress.conversation, progress.person)
        for inbox in self._inboxes.get(read, ()):
            inbox.put(progress)

    @contextmanager
    def reading(self, tenant: str, conversation: str = "", person: str = "") -> Iterator[Inbox]:
        """An inbox that is filled for as long as one stays, with one of the two."""
        read, inbox = (tenant, conversation, person), Inbox()
        self._inboxes[read].append(inbox)
        try:
            yield inbox
        finally:
            self._inboxes[read].remove(inbox)
            if not self._inboxes[read]:
                del self._inboxes[read]


class InProcessLive:
    """`router.domain.ports.Live` between the parts of one process, on one event loop."""

    def __init__(self) -> None:
        self._readers = Readers()

    async def tell(self, progress: Progress) -> None:
        """Pass it on, after what the same caller told before."""
        self._readers.give(progress)

    @asynccontextmanager
    async def listen(
        self, tenant: str, conversation: str
    ) -> AsyncIterator[AsyncIterator[Progress]]:
        """Everything that is told of the conversation from now on, for as long as one stays."""
        with self._readers.reading(tenant, conversation) as inbox:
            yield inbox

    @asynccontextmanager
    async def listen_for(self, tenant: str, person: str) -> AsyncIterator[AsyncIterator[Progress]]:
        """The same of what is told for a person."""
        with self._readers.reading(tenant, person=person) as inbox:
            yield inbox

    async def aclose(self) -> None:
        """Nothing to let go of."""
