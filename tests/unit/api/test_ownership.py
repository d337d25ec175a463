"""Whose a conversation is, remembered."""

import pytest

from router.api.dependencies import Ownership
from router.domain.errors import NotFound
from router.domain.principals import Principal
from router.domain.records import ConversationRecord


class CountingConversations:
    def __init__(self) -> None:
        self.asked = 0

    async def find(self, tenant: str, conversation: str) -> ConversationRecord | None:
        self.asked += 1
        row = {"id": conversation, "tenant": tenant, "owner": "alice", "locale": "zh"}
        begun = row | {"created_at": "2026-01-01T00:00:00Z"}
        return None if conversation == "none" else ConversationRecord.model_validate(begun)


async def test_ownership_remembers_what_was_used_last() -> None:
    rows = CountingConversations()
    ownership = Ownership(rows, max_remembered=2)  # type: ignore[arg-type]
    alice = Principal(id="alice", name="Alice")
    for conversation in ("a", "b", "a", "a", "c", "a"):
        await ownership.owned(alice, conversation)
    assert rows.asked == 3
    await ownership.owned(alice, "b")
    assert rows.asked == 4
    for stranger, conversation in ((Principal(id="bob", name="Bob"), "a"), (alice, "none")):
        with pytest.raises(NotFound):
            await ownership.owned(stranger, conversation)
