"""Answers to a question that its person has answered already, from another browser or device.

The first answer counts. An answer that says the same is answered as the first one was; one that
says the opposite is told what counts.
"""

from router.contracts.conversation_state import ConversationState
from router.domain.locale import Localised
from router.domain.messages import Answering, ConfirmAction, Message, Turn
from router.understanding.actions import asking, open_questions
from workflows.turns import TurnContext, situation

SAID_YES_BEFORE = Localised(
    zh="您之前已经确认过了，这次的“不”没有生效。要收回请说“撤回”。",
    en="You had confirmed this already, so this “no” changed nothing. Say “withdraw” to take it "
    "back.",
)
SAID_NO_BEFORE = Localised(
    zh="您之前已经答了“不”，这次的“确认”没有生效。",
    en="You had answered “no” to this already, so this “yes” changed nothing.",
)


def repeat_answer(message: TurnContext, state: ConversationState) -> Turn | None:
    """Return the turn of an answer whose question was answered before; None for any other message.

    Where something else is asked now, that is shown instead, so this returns None too.
    """
    action = message.submission.message.action
    if not isinstance(action, Answering) or action.question is None:
        return None
    stands, number = situation(message, state), state.transcript.next_turn
    if asking(stands) is not None or stands.offered or action.question in open_questions(stands):
        return None
    if (first := _find_turn(state, message.submission.digest)) is not None:
        return _repeated(message, number, first)
    if not isinstance(action, ConfirmAction):
        return None
    opposite = Message(action=action.replace(value=not action.value))
    other = message.submission.replace(message=opposite)
    if (first := _find_turn(state, other.digest)) is None:
        return None
    repeated = _repeated(message, number, first)
    said = message.says(SAID_NO_BEFORE if action.value else SAID_YES_BEFORE)
    return repeated.replace(replies=[said, *repeated.replies])


def _find_turn(state: ConversationState, digest: str) -> Turn | None:
    """Return the turn of the last such message, unless its request has gone on since."""
    turns = (held.turn for held in reversed(state.transcript.last_turns) if held.digest == digest)
    turn = next((turn for turn in turns if turn is not None and turn.status == "done"), None)
    if turn is None or turn.flow is None:
        return None
    waits = any(view.id == turn.flow.id for view in state.flows.handed_in)
    return turn if waits == (turn.flow.status == "waiting_approval") else None


def _repeated(message: TurnContext, number: int, first: Turn) -> Turn:
    return Turn(
        message_id=message.id,
        turn=number,
        route=first.route,
        replies=first.replies,
        flow=first.flow,
    )
