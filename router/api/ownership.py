"""Whose conversation it is: asked on every request, and never changing until it is deleted."""

import time
from collections import OrderedDict

from router.domain.errors import NotFound
from router.domain.ports import Conversations
from router.domain.principals import Principal
from router.domain.records import ConversationRecord

REMEMBERED = 10_000
GOOD_FOR = 60.0
"""Seconds: after that one that was erased, or has expired, isn't there any more."""


class Ownership:
    """Conversations by owner, with the last used in memory: their rows never change."""

    def __init__(self, conversations: Conversations, remembered: int = REMEMBERED) -> None:
        self._conversations = conversations
        self._remembered = remembered
        self._recent: OrderedDict[tuple[str, str], tuple[ConversationRecord, float]] = OrderedDict()

    async def owned(self, caller: Principal, conversation: str) -> ConversationRecord:
        """The caller's conversation with this id.

        Raises:
            NotFound: there is none, or it is someone else's: the answer is the same.
        """
        record = await self._find(caller.tenant, conversation)
        if record is None or record.owner != caller.id:
            raise NotFound("There is no such conversation.")
        return record

    async def _find(self, tenant: str, conversation: str) -> ConversationRecord | None:
        place = (tenant, conversation)
        record, found = self._recent.get(place, (None, 0.0))
        if record is None or time.monotonic() - found > GOOD_FOR:
            record, found = await self._conversations.find(tenant, conversation), time.monotonic()
            self._recent.pop(place, None)
        if record is not None:
            self._recent[place] = (record, found)
            self._recent.move_to_end(place)
            if len(self._recent) > self._remembered:
                self._recent.popitem(last=False)
        return record
