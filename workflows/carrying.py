"""What a conversation carries into its next run, and into the snapshot of a closed one.

Temporal refuses a continue-as-new above 2 MiB, and the conversation would never get past it. So
each part of the state, and all of it, is measured before it is sent. Answers that the event log has
give way first. If a part is still too large, or the state is, the contents give way in a fixed
order, each with a sentence for the person. What is left always fits. Pure.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Literal, NamedTuple

from router.contracts.conversation_state import (
    MAX_UNHEARD,
    ConversationState,
    FrontEnd,
    News,
)
from router.contracts.limits import MAX_CARRIED_BYTES
from router.contracts.payload import Payload
from router.domain.locale import Localised
from router.domain.sizes import measure_bytes
from workflows import notices
from workflows.open_flows import drop_unused_slots, learn_slots

MAX_ANSWERS_BYTES = 120_000
"""Bytes of answers that are carried; the event log has all of them."""
Part = Literal["transcript", "flows", "skill", "front_end", "hand_offs"]
MAX_PART_BYTES: Mapping[Part, int] = {
    "transcript": 300_000,
    "flows": 900_000,
    "skill": 900_000,
    "front_end": 300_000,
    "hand_offs": 100_000,
}
"""Bytes of each part. All of them together are bounded by `MAX_CARRIED_BYTES`."""


class Carried(Payload):
    """A state that fits, and what its person has to be told of what had to give way."""

    state: ConversationState
    said: list[Localised] = []


def fit_state(
    state: ConversationState, news: Sequence[News] = (), max_bytes: int = MAX_CARRIED_BYTES
) -> Carried:
    """Return the state as it can be carried in so many bytes, with the news that nobody heard.

    It is what it was, but for answers in the event log and the contents that `said` tells of.
    """
    fitting = _with_short_answers(_with_news(state, news))
    said: list[Localised] = []
    sizes = _measure_parts(fitting)
    for step in _IN_ORDER:
        if sizes[step.part] <= MAX_PART_BYTES[step.part] and sum(sizes.values()) <= max_bytes:
            continue
        fitting, told = step.drop(fitting)
        # Drop the slots that no run refers to any longer, too.
        fitting = _without_unused_slots(fitting)
        sizes = _measure_parts(fitting)
        said += told
    return Carried(state=fitting, said=said)


def is_ready(unheard: Sequence[News]) -> bool:
    """Return whether so few news are unheard that they can be carried."""
    return len(unheard) <= MAX_UNHEARD


def _measure_parts(state: ConversationState) -> dict[Part, int]:
    return {
        "transcript": measure_bytes(state.transcript) + len('{"transcript":,}'),
        "flows": measure_bytes(state.flows) + len('"flows":,'),
        "skill": measure_bytes(state.skill) + len('"skill":null,'),
        "front_end": measure_bytes(state.front_end) + len('"front_end":,'),
        "hand_offs": measure_bytes(state.hand_offs) + len('"hand_offs":,'),
    }


def _with_news(state: ConversationState, news: Sequence[News]) -> ConversationState:
    flows = state.flows
    for each in news:
        flows = learn_slots(flows, each)
    unheard = [each.replace(fillable={}) for each in news]
    return _without_unused_slots(state.replace(flows=flows.replace(unheard_news=unheard)))


def _without_unused_slots(state: ConversationState) -> ConversationState:
    flows = state.flows
    return state.replace(flows=drop_unused_slots(flows, flows.unheard_news))


def _with_short_answers(state: ConversationState) -> ConversationState:
    """Return the state with as many of the last answers as `MAX_ANSWERS_BYTES` hold."""
    left, held = MAX_ANSWERS_BYTES - measure_bytes(state.skill, state.front_end), []
    for one in reversed(state.transcript.last_turns):
        left -= measure_bytes(one)
        held.append(one if left > 0 else one.replace(turn=None))
    return state.replace(transcript=state.transcript.replace(last_turns=held[::-1]))


Dropped = tuple[ConversationState, list[Localised]]


def _drop_answers(state: ConversationState) -> Dropped:
    turns = [one.replace(turn=None) for one in state.transcript.last_turns]
    return state.replace(transcript=state.transcript.replace(last_turns=turns)), []


def _drop_lapsed(state: ConversationState) -> Dropped:
    titles = [one.title for one in state.flows.lapsed]
    left = state.replace(flows=state.flows.replace(lapsed=[]))
    return left, _say(notices.lapsed_dropped, titles)


def _drop_skill(state: ConversationState) -> Dropped:
    titles = [state.skill.task.skill.title] if state.skill else []
    return state.replace(skill=None), _say(notices.skill_dropped, titles)


def _drop_calls(state: ConversationState) -> Dropped:
    waits = any(not call.heard for call in state.front_end.calls)
    left = FrontEnd(left_files=state.front_end.left_files)
    return state.replace(front_end=left), [notices.CALLS_DROPPED] if waits else []


def _drop_files(state: ConversationState) -> Dropped:
    return state.replace(front_end=state.front_end.replace(left_files={})), []


def _drop_past(state: ConversationState) -> Dropped:
    transcript = state.transcript
    said = [notices.PAST_DROPPED] if transcript.history or transcript.gists else []
    left = transcript.replace(history=[], gists=[], turn_calls=[])
    return state.replace(transcript=left), said


def _drop_unpublished(state: ConversationState) -> Dropped:
    return state.replace(hand_offs=state.hand_offs.replace(unpublished=())), []


def _drop_handed_in(state: ConversationState) -> Dropped:
    titles = [view.title for view in state.flows.handed_in]
    left = state.replace(flows=state.flows.replace(handed_in=[]))
    return left, _say(notices.handed_in_dropped, titles)


def _drop_paused(state: ConversationState) -> Dropped:
    titles = [view.title for view in state.flows.paused]
    left = state.flows.replace(paused=[], offered=[], offered_for="")
    return state.replace(flows=left), _say(notices.runs_dropped, titles)


def _drop_active(state: ConversationState) -> Dropped:
    flows = state.flows
    titles = [view.title for view in (flows.active, flows.at_work) if view is not None]
    left = state.replace(flows=flows.replace(active=None, at_work=None))
    return left, _say(notices.runs_dropped, titles)


def _drop_unheard(state: ConversationState) -> Dropped:
    titles = [news.view.title for news in state.flows.unheard_news]
    left = state.replace(flows=state.flows.replace(unheard_news=[]))
    return left, _say(notices.news_dropped, titles)


class _Step(NamedTuple):
    part: Part
    drop: Callable[[ConversationState], Dropped]


_IN_ORDER: tuple[_Step, ...] = (
    _Step("transcript", _drop_answers),
    _Step("flows", _drop_lapsed),
    _Step("skill", _drop_skill),
    _Step("front_end", _drop_calls),
    _Step("front_end", _drop_files),
    _Step("transcript", _drop_past),
    _Step("hand_offs", _drop_unpublished),
    _Step("flows", _drop_handed_in),
    _Step("flows", _drop_paused),
    _Step("flows", _drop_active),
    _Step("flows", _drop_unheard),
)
"""What gives way, the most dispensable first. Each step is lossless, or says what is gone."""


def _say(
    worded: Callable[[Sequence[Localised]], Localised], titles: Sequence[Localised]
) -> list[Localised]:
    return [worded(titles)] if titles else []
