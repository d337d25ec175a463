"""Results of calls that a front end was asked to make, looked at before they are taken in."""

from temporalio.client import Client

from router.api.deps import Offers
from router.api.standing import standing
from router.domain.errors import FieldProblem, InvalidInput
from router.domain.messages import Message, ToolResultAction
from router.domain.ports import Conversations
from router.domain.records import ConversationRecord


async def check_result(
    message: Message,
    offered: Offers,
    temporal: Client,
    conversations: Conversations,
    record: ConversationRecord,
) -> None:
    """Return where the message brings no result, or one that its tool declares.

    That nobody waits for it is the conversation's to say: it may be a repeat.

    Raises:
        InvalidInput: the result isn't of the type that the tool declares; the call still waits.
        Unavailable: the conversation can't be asked which tool it is of.
    """
    action = message.action
    if not isinstance(action, ToolResultAction):
        return
    stands = await standing(temporal, conversations, record.tenant, record.id)
    tool = stands.waiting_calls.get(action.tool_call_id)
    problems = offered.result_problems(tool, action.result) if tool else []
    if problems:
        raise InvalidInput(
            f"The result isn't what {tool} declares that it gives: {'; '.join(problems[:10])}.",
            [FieldProblem("action.result", problem) for problem in problems[:10]],
        )
