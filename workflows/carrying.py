"""What a conversation carries into its next run, and into the snapshot of a closed one.

Temporal refuses a continue-as-new above 2 MiB, and the conversation would never get past it. So
the state is measured before it is sent. The slots of a flow are written once for all its runs, and
answers that the event log has give way first. If the state is still too large, its parts give way
in a fixed order, each with a sentence for the person. What is left always fits. Pure.
"""

from collections.abc import Callable, Mapping, Sequence

from pydantic import JsonValue

from router.contracts.conversation import ConversationState, News
from router.contracts.limits import MAX_CARRIED_BYTES
from router.contracts.payload import Payload
from router.domain.locale import Localised
from router.domain.messages import digest_of
from router.domain.sizes import measure_bytes
from router.flow.slot_types.slot import Slot
from router.flow.view import FlowView
from workflows import notices

ANSWERS_BYTES = 120_000
"""Bytes of answers that are carried; the event log has all of them."""
MAX_UNHEARD = 20
"""News of runs that are carried before anybody heard them; others are heard first."""


class Carried(Payload):
    """A state that fits, and what its person has to be told of what had to give way."""

    state: ConversationState
    said: list[Localised] = []


def fit_state(state: ConversationState, max_bytes: int = MAX_CARRIED_BYTES) -> Carried:
    """Return the state as it can be carried in so many bytes.

    `restore_slots` makes of it what it was, but for the parts that `said` tells of.
    """
    fitting = share_slots(_with_short_answers(state))
    said: list[Localised] = []
    for drop in _IN_ORDER:
        if measure_bytes(fitting) <= max_bytes:
            break
        fitting, told = drop(fitting)
        # Drop the slots that no run refers to any more, too.
        fitting = share_slots(restore_slots(fitting))
        said += told
    return Carried(state=fitting, said=said)


def is_ready(unheard: Sequence[News]) -> bool:
    """Return whether so few news are unheard that they can be carried."""
    return len(unheard) <= MAX_UNHEARD


def share_slots(state: ConversationState) -> ConversationState:
    """Return the state with each set of slots in one place, to which its views refer."""
    sets: dict[str, dict[str, Slot]] = {}

    def share(view: FlowView) -> FlowView:
        if not view.fillable:
            return view
        name = _name_slots(view.fillable)
        sets[name] = view.fillable
        return view.replace(fillable={}, shared_slots=name)

    return _with_views(state, share).replace(shared_slots=sets)


def restore_slots(state: ConversationState) -> ConversationState:
    """Return the state with the slots of each view where they belong."""

    def restore(view: FlowView) -> FlowView:
        slots = state.shared_slots.get(view.shared_slots)
        if slots is None:
            return view
        return view.replace(fillable=slots, shared_slots="")

    if not state.shared_slots:
        return state
    return _with_views(state, restore).replace(shared_slots={})


def _with_views(
    state: ConversationState, change: Callable[[FlowView], FlowView]
) -> ConversationState:
    return state.replace(
        active=state.active and change(state.active),
        at_work=state.at_work and change(state.at_work),
        paused=[change(view) for view in state.paused],
        handed_in=[change(view) for view in state.handed_in],
        unheard=[news.replace(view=change(news.view)) for news in state.unheard],
    )


def _name_slots(slots: Mapping[str, Slot]) -> str:
    told: JsonValue = {name: slot.model_dump(mode="json") for name, slot in slots.items()}
    # Their order is part of what they are, and the digest doesn't see it.
    return digest_of([told, list(slots)])


def _with_short_answers(state: ConversationState) -> ConversationState:
    """Return the state with as many of the last answers as `ANSWERS_BYTES` hold."""
    others = [*([state.skill] if state.skill else []), *state.awaited, *state.waiting]
    left = ANSWERS_BYTES - measure_bytes(others) - measure_bytes(state.front_end)
    taken = []
    for one in reversed(state.taken):
        left -= measure_bytes(one)
        taken.append(one if left > 0 else one.replace(turn=None))
    return state.replace(taken=taken[::-1])


Dropped = tuple[ConversationState, list[Localised]]


def _drop_answers(state: ConversationState) -> Dropped:
    return state.replace(taken=[one.replace(turn=None) for one in state.taken]), []


def _drop_lapsed(state: ConversationState) -> Dropped:
    titles = [one.title for one in state.lapsed]
    return state.replace(lapsed=[]), _say(notices.lapsed_dropped, titles)


def _drop_skill(state: ConversationState) -> Dropped:
    titles = [state.skill.task.skill.title] if state.skill else []
    return state.replace(skill=None), _say(notices.skill_dropped, titles)


def _drop_calls(state: ConversationState) -> Dropped:
    said = [notices.CALLS_DROPPED] if any(not call.heard for call in state.waiting) else []
    return state.replace(awaited=[], waiting=[], front_end=[]), said


def _drop_handed_in(state: ConversationState) -> Dropped:
    titles = [view.title for view in state.handed_in]
    return state.replace(handed_in=[]), _say(notices.handed_in_dropped, titles)


def _drop_paused(state: ConversationState) -> Dropped:
    titles = [view.title for view in state.paused]
    without = state.replace(paused=[], offered=[], offered_for="")
    return without, _say(notices.runs_dropped, titles)


def _drop_active(state: ConversationState) -> Dropped:
    views = [view for view in (state.active, state.at_work) if view is not None]
    titles = [view.title for view in views]
    return state.replace(active=None, at_work=None), _say(notices.runs_dropped, titles)


def _drop_past(state: ConversationState) -> Dropped:
    said = [notices.PAST_DROPPED] if state.history or state.gists else []
    return state.replace(history=[], gists=[], called=[], left={}), said


def _drop_unheard(state: ConversationState) -> Dropped:
    titles = [news.view.title for news in state.unheard]
    return state.replace(unheard=[]), _say(notices.news_dropped, titles)


_IN_ORDER: tuple[Callable[[ConversationState], Dropped], ...] = (
    _drop_answers,
    _drop_lapsed,
    _drop_skill,
    _drop_calls,
    _drop_past,
    _drop_handed_in,
    _drop_paused,
    _drop_active,
    _drop_unheard,
)
"""What gives way, the most dispensable first. Each step is lossless, or says what is gone."""


def _say(
    worded: Callable[[Sequence[Localised]], Localised], titles: Sequence[Localised]
) -> list[Localised]:
    return [worded(titles)] if titles else []
