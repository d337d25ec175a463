"""Conversations that something outside knows by a name of its own: a chat page's, a thread's."""

from datetime import UTC, datetime

from router.api.identifiers import derived_id
from router.domain.ports import Conversations
from router.domain.principals import Principal
from router.domain.records import ConversationRecord
from router.domain.texts import Locale


async def thread(
    conversations: Conversations,
    owner: Principal,
    face: str,
    name: str,
    locale: Locale | None = None,
) -> ConversationRecord:
    """The owner's conversation that `face` (`openai`, `ag-ui`, `slack`…) calls `name`.

    The first time it is begun. Owner and face are part of where the name leads, so a name that
    somebody else uses, guessed or by chance, leads to another conversation: it says which one is
    meant and never authorises. Asked for at once by two requests it is one conversation.
    """
    id_ = thread_id(owner, face, name)
    known = await conversations.find(owner.tenant, id_)
    if known is not None:
        return known
    begun = ConversationRecord(
        id=id_,
        tenant=owner.tenant,
        owner=owner.id,
        locale=locale or owner.locale,
        created_at=datetime.now(UTC),
        metadata={"face": face},
    )
    return await conversations.create(begun)


def thread_id(owner: Principal, face: str, name: str) -> str:
    """The id that `thread` gives that conversation, begun or not."""
    return derived_id("thread", face, owner.tenant, owner.id, name)
