"""Somebody who watches: `Live` as whoever tells sees it, with all that was told in order."""

import asyncio

from router.domain.progress import Progress
from router.store.live import InProcessLive


class Audience(InProcessLive):
    """Remembers everything; while `door` is shut, whoever tells waits there."""

    def __init__(self) -> None:
        super().__init__()
        self.told: list[Progress] = []
        self.door = asyncio.Event()
        self.door.set()

    async def tell(self, progress: Progress) -> None:
        self.told.append(progress)
        await super().tell(progress)
        await self.door.wait()
