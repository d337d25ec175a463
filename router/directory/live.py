"""People as their source has them by now: edited, hired and gone without a restart."""

import asyncio
import logging
import time
from collections.abc import Callable, Sequence
from typing import Self

from router.directory.file import FileDirectory
from router.directory.sources import Source
from router.domain.errors import RouterError, Unavailable
from router.domain.principals import DEFAULT_TENANT, Principal

_log = logging.getLogger("router.directory")


class LiveDirectory:
    """A `router.domain.principals.Directory` that is asked in memory and follows its source.

    What can't be used or fetched is logged, and everybody stays as they were; but not for longer
    than the source's `stale_seconds`, or who has left the house would stay in here for ever.
    From then on every method raises `Unavailable`.
    """

    def __init__(
        self, people: FileDirectory, source: Source, now: Callable[[], float] = time.monotonic
    ) -> None:
        """`people` are what the source gave just now."""
        self._people = people
        self._source = source
        self._now = now
        self._confirmed = now()

    @classmethod
    def load(cls, source: Source, now: Callable[[], float] = time.monotonic) -> Self:
        """The directory as the source has it; raises what `Source.read` raises."""
        return cls(source.read() or FileDirectory([]), source, now)

    def refresh(self) -> bool:
        """Ask the source; True where the people are others now. Blocks: call it in a thread."""
        began = self._now()
        try:
            people = self._source.read()
        except RouterError as error:
            _log.error("the people stay as they were: %s", error)
            return False
        self._people, self._confirmed = people or self._people, began
        return people is not None

    async def kept_up(self) -> None:
        """Follow the source until cancelled."""
        while True:
            await asyncio.sleep(self._source.seconds)
            try:
                if await asyncio.to_thread(self.refresh):
                    _log.info("the people have changed")
            except Exception:  # noqa: BLE001 - to stop following would be a silence
                _log.exception("the people stay as they were")

    async def find(self, tenant: str, user: str) -> Principal | None:
        """The person with this id, or None."""
        return await self._now_known().find(tenant, user)

    async def holding(self, tenant: str, role: str) -> list[Principal]:
        """Everyone with this role, ordered by id."""
        return await self._now_known().holding(tenant, role)

    def everyone(self, tenant: str = DEFAULT_TENANT) -> list[Principal]:
        """All people of a tenant, ordered by id."""
        return self._now_known().everyone(tenant)

    def by_account(self, platform: str, account: str) -> Principal | None:
        """Whose account it is on a chat platform (`slack`, `feishu`…); None: nobody's."""
        return self._now_known().by_account(platform, account)

    def accounts(self, platform: str) -> Sequence[tuple[Principal, str]]:
        """Everyone who has an account there, with it."""
        return self._now_known().accounts(platform)

    def _now_known(self) -> FileDirectory:
        if self._now() - self._confirmed > self._source.stale_seconds:
            raise Unavailable("Who works here can't be told right now: the directory is too old.")
        return self._people
