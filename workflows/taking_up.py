"""Flows that a conversation has put aside, or seen lapse: kept, offered, and found again."""

from router.contracts.conversation import ConversationState, LapsedFlow, News
from router.domain.messages import ChoicesReply, Option
from router.domain.texts import Locale
from router.flow import put_aside
from router.flow.put_aside import PutAside
from router.flow.view import FlowView
from workflows import memory, notices

LAPSED = 3
LAPSED_BYTES = 8_000
"""Lapsed runs that a conversation keeps, and what each may have been told at most, as JSON."""


def to_take_up(state: ConversationState, locale: Locale) -> list[PutAside]:
    """Everything that can be taken up by name, the latest last; what is paused is later."""
    lapsed = [PutAside(run=one.run, flow=one.flow, title=one.title) for one in state.lapsed]
    return [*lapsed, *(PutAside.of(view, locale) for view in state.paused)]


def asking_which(
    state: ConversationState, locale: Locale
) -> tuple[ConversationState, ChoicesReply]:
    """The question which of the paused flows to take up, and the state in which it is open."""
    reply = put_aside.which([PutAside.of(view, locale) for view in state.paused], locale)
    return state.model_copy(update={"offered": reply.options, "offered_for": ""}), reply


def with_lapsed(state: ConversationState, view: FlowView) -> ConversationState:
    """The state with what an expired run was told; the oldest of too many is forgotten."""
    one = lapsed_of(view)
    if one is None:
        return state
    others = [other for other in state.lapsed if other.run != one.run]
    return state.model_copy(update={"lapsed": [*others, one][-LAPSED:]})


def lapsed_of(view: FlowView) -> LapsedFlow | None:
    """What is kept of a run; None where it didn't lapse, or was told nothing or too much."""
    if not view.kept:
        return None
    one = LapsedFlow(
        run=view.id, flow=view.flow, title=view.title, slots=view.kept, skipped=view.skipped
    )
    return one if len(one.model_dump_json().encode()) <= LAPSED_BYTES else None


def without_lapsed(state: ConversationState, run: str) -> ConversationState:
    """The state where that run is gone on with, and needn't be kept."""
    left = [one for one in state.lapsed if one.run != run]
    return state.model_copy(update={"lapsed": left})


def as_told(state: ConversationState, news: News, locale: Locale) -> News:
    """The news as this conversation passes it on.

    Of a run that is put aside no question is asked; of one that lapsed there is a button.
    """
    view, replies = news.view, list(news.replies)
    if state.active is not None and view.replies and memory.is_paused(state, view):
        replies = replies[: -len(view.replies)] or replies
    if lapsed_of(view) is not None:
        label = notices.go_on(view.title).within(locale)
        button = Option(label=label, value=put_aside.value(view.id))
        replies.append(ChoicesReply(text=label, options=[button]))
    return news.model_copy(update={"replies": replies})
