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
        """Add it; never waits."""
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
    """The readers of this process, by the conversation they read."""

    def __init__(self) -> None:
        self._inboxes: dict[tuple[str, str], list[Inbox]] = defaultdict(list)

    def give(self, progress: Progress) -> None:
        """Put it into the inbox of everyone who reads its conversation."""
        for inbox in self._inboxes.get((progress.tenant, progress.conversation), ()):
            inbox.put(progress)

    @contextmanager
    def reading(self, tenant: str, conversation: str) -> Iterator[Inbox]:
        """An inbox that is filled for as long as one stays."""
        read, inbox = (tenant, conversation), Inbox()
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

    async def aclose(self) -> None:
        """Nothing to let go of."""
