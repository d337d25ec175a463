"""Somebody who watches: `Live` as whoever tells sees it, with all that was told in order."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager

from router.domain.progress import Progress
from router.store.live import InProcessLive


class Audience:
    """Remembers everything; while `door` is shut, whoever tells waits there."""

    def __init__(self) -> None:
        self.told: list[Progress] = []
        self.door = asyncio.Event()
        self.door.set()
        self._live = InProcessLive()

    async def tell(self, progress: Progress) -> None:
        self.told.append(progress)
        await self._live.tell(progress)
        await self.door.wait()

    def listen(
        self, tenant: str, conversation: str
    ) -> AbstractAsyncContextManager[AsyncIterator[Progress]]:
        return self._live.listen(tenant, conversation)

    def listen_for(
        self, tenant: str, person: str
    ) -> AbstractAsyncContextManager[AsyncIterator[Progress]]:
        return self._live.listen_for(tenant, person)
