"""How many unfinished requests a conversation holds, and which one is closed when it is too many.

Each request that is set aside is carried with the conversation, and a person who begins one after
the other would make it too large to continue. The oldest is put away as if it had expired: what it
was told is kept, and the person is told so by its name.
"""

from collections.abc import Collection

from router.contracts.conversation import ConversationState
from router.domain.locale import Localised
from router.domain.sizes import measure_bytes
from router.flow.paused import known_in_short
from router.flow.view import FlowView
from workflows import memory, notices
from workflows.carrying import share_slots

MAX_PAUSED = 20
"""Requests that wait in a conversation for another one to end."""
MAX_PAUSED_BYTES = 400_000
"""Bytes that they have together, with the slots of their flows."""


def find_surplus(state: ConversationState, spared: Collection[str] = ()) -> FlowView | None:
    """Return the oldest paused request if there are too many; never one of those `spared`."""
    if len(state.paused) <= MAX_PAUSED and _measure_paused(state) <= MAX_PAUSED_BYTES:
        return None
    return next((view for view in state.paused if view.id not in spared), None)


def _measure_paused(state: ConversationState) -> int:
    return measure_bytes(share_slots(ConversationState(paused=state.paused)))


def without_surplus(
    state: ConversationState, closed: FlowView, after: FlowView | None
) -> ConversationState:
    """Return the state without a request that was closed, which then stands as in `after`.

    A request that has gone on by itself meanwhile isn't paused any more either.
    """
    paused = [view for view in state.paused if view.id != closed.id]
    state = state.replace(paused=paused)
    if after is None:
        return state
    return memory.with_lapsed(memory.handing_in(state, after), after)


def say_closed(closed: FlowView, after: FlowView | None) -> Localised | None:
    """Return what the person is told of a closed request; None if it wasn't open any more."""
    if after is None or after.status != "expired":
        return None
    known = Localised(zh=known_in_short(closed, "zh"), en=known_in_short(closed, "en"))
    kept = memory.lapsed_of(after) is not None
    return notices.put_away(closed.title, known, MAX_PAUSED, kept=kept)
