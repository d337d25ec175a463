"""What a message means where it was said: by rules where they can tell, else by the decider."""

from router.contracts import activities
from router.contracts.conversation import ConversationState
from router.domain.messages import Usage
from router.flow.situation import Situation
from workflows import memory, taking_up
from workflows.activity import perform
from workflows.at_hand import AtHand


async def decide(message: AtHand, state: ConversationState) -> activities.Decided:
    """What is to be done about the message."""
    said, situation = message.submission.message, _situation(message, state)
    reading = await perform(
        activities.UNDERSTAND,
        activities.Understand(message=said, situation=situation, caller=message.caller),
    )
    if reading.route is not None:
        return activities.Decided(
            route=reading.route,
            commands=reading.commands,
            tools=reading.tools,
            plainly=reading.plainly,
        )
    return await perform(
        activities.DECIDE,
        activities.Decide(
            message=said,
            situation=situation,
            account=message.account(Usage()),
            history=state.history,
            earlier=memory.earlier(state),
        ),
    )


async def read_aside(message: AtHand, state: ConversationState) -> activities.Understood:
    """What rules alone make of a message that comes while another is being answered."""
    given = activities.Understand(
        message=message.submission.message, situation=_situation(message, state)
    )
    return await perform(activities.UNDERSTAND, given)


def _situation(message: AtHand, state: ConversationState) -> Situation:
    return Situation(
        now=message.now,
        locale=message.locale,
        roles=message.caller.roles,
        active=state.active,
        paused=[view.flow for view in state.paused],
        put_aside=taking_up.to_take_up(state, message.locale),
        at_work=state.at_work,
        handed_in=state.handed_in,
        skill=state.skill.name if state.skill and state.skill.asking else "",
        offered=state.offered,
        offered_for=state.offered_for,
    )
