"""What a conversation remembers, as pure functions over its state.

The ids and digests of the last `IDS` messages are kept, and the answers of the last
`ANSWERS`; what is older is only in the event log, and `older` says that there is such.
"""

import json
from collections.abc import Sequence
from datetime import datetime

from router.contracts.conversation import (
    ActiveSkill,
    ConversationStart,
    ConversationState,
    ConversationStatus,
    HeldTurn,
    LapsedFlow,
    News,
    OpenSkill,
    PausedFlow,
    WaitingCall,
)
from router.contracts.skill import SkillOutcome, SkillStart
from router.domain.locale import Locale
from router.domain.messages import (
    ChoicesReply,
    ConfirmReply,
    Option,
    Reply,
    Route,
    SpokenLine,
    ToolResultAction,
    offer_question,
    question_in,
)
from router.flow import paused
from router.flow.paused import PausedRun
from router.flow.view import FlowView
from workflows import notices

IDS = 200
ANSWERS = 50
ANSWER_BYTES = 120_000
"""Answers carried into a new run, at most: with views and ids it stays under 256 KiB."""
NEWS_OF = 50
LINES = 12
LINE_LENGTH = 800
"""Of what was said, a model is told the last few lines, each cut at this many characters."""
WAITING = 4
RESULT_LENGTH = 6_000
"""Calls that a conversation waits for the front end to make, and characters of a result: as
much as a model is shown of one."""
GISTS = 30
GIST_LENGTH = 80
"""Of what was said before those lines it is told what each message wanted, in one short line."""


def held(state: ConversationState, message_id: str) -> HeldTurn | None:
    """The message with this id, where it is still remembered."""
    return next((h for h in reversed(state.taken) if h.message_id == message_id), None)


def with_turn(state: ConversationState, answered: HeldTurn) -> ConversationState:
    """The state after one more message was answered."""
    taken = [*state.taken, answered]
    kept = taken[-IDS:]
    fresh = len(kept) - ANSWERS
    return state.model_copy(
        update={
            "turns": state.turns + 1,
            "taken": [h if n >= fresh else _without_answer(h) for n, h in enumerate(kept)],
            "older": state.older or len(taken) > IDS,
            "usage": state.usage + (answered.turn.usage if answered.turn else type(state.usage)()),
        }
    )


def remembering(
    state: ConversationState, said: str, answered: str, route: Route
) -> ConversationState:
    """The state with one more exchange in what a model is told of the past."""
    what = f"{route.kind} {route.target}" if route.target else route.kind
    gist = f"{' '.join(said.split())[:GIST_LENGTH]} ▸ {what}"
    lines = [
        *state.history,
        SpokenLine(role="user", text=said[:LINE_LENGTH]),
        SpokenLine(role="assistant", text=answered[:LINE_LENGTH]),
    ]
    return state.model_copy(
        update={
            "history": lines[-LINES:],
            "gists": [*state.gists, gist][-GISTS - LINES // 2 :],
        }
    )


def earlier(state: ConversationState) -> list[str]:
    """What messages wanted that are too long ago to be told whole."""
    return state.gists[: -len(state.history) // 2] if state.history else []


def waiting_for(state: ConversationState, calls: Sequence[WaitingCall]) -> ConversationState:
    """The state with more calls out at the front end; the oldest are given up beyond `WAITING`."""
    return state.model_copy(update={"waiting": [*state.waiting, *calls][-WAITING:]})


def with_result(state: ConversationState, action: ToolResultAction) -> ConversationState:
    """The state with what the front end found, where that call is out; cut where it is long."""
    text = json.dumps(action.result, ensure_ascii=False)
    result = action.result if len(text) <= RESULT_LENGTH else f"{text[:RESULT_LENGTH]}…"
    taken = {"heard": True, "result": result}
    return state.model_copy(
        update={
            "waiting": [
                w.model_copy(update=taken) if w.id == action.tool_call_id else w
                for w in state.waiting
            ]
        }
    )


def without_waiting(state: ConversationState, message_id: str) -> ConversationState:
    """The state with nothing out any more for that message."""
    left = [w for w in state.waiting if w.message_id != message_id]
    return state.model_copy(update={"waiting": left})


def put_away(state: ConversationState) -> ConversationState:
    """The state for a conversation that is resumed another day: nothing is answered unasked."""
    if state.skill is None or not state.skill.asking:
        return state
    return state.model_copy(update={"skill": state.skill.model_copy(update={"asking": False})})


def open_skill(start: SkillStart, outcome: SkillOutcome) -> OpenSkill | None:
    """What is left of a sub-agent that hasn't answered: it can go on from there."""
    if outcome.memory is None:
        return None
    asks = outcome.ending == "asked"
    return OpenSkill(
        task=start.task,
        memory=outcome.memory,
        tools=start.tools,
        question=outcome.text if asks else "",
        asking=asks,
    )


def _without_answer(one: HeldTurn) -> HeldTurn:
    return one if one.turn is None else one.model_copy(update={"turn": None})


def bounded(state: ConversationState) -> ConversationState:
    """The state small enough to be carried: the oldest answers go first."""
    open_ = len(state.skill.model_dump_json().encode()) if state.skill else 0
    left, taken = ANSWER_BYTES - open_, []
    for one in reversed(state.taken):
        left -= len(one.model_dump_json().encode())
        taken.append(one if left > 0 else _without_answer(one))
    return state.model_copy(update={"taken": taken[::-1]})


def leaves_several(state: ConversationState, view: FlowView) -> bool:
    """True where with this news nothing is asked any more and several flows are put aside."""
    if state.active is None or state.active.id != view.id or view.asking:
        return False
    return len([paused for paused in state.paused if paused.id != view.id]) > 1


def with_news(
    state: ConversationState, view: FlowView, *, take_up: bool = True
) -> ConversationState:
    """The state after news of a run: it may want to ask something, or be over.

    Where nothing is asked then, the flow that was put aside last is, if it is to `take_up` that.
    """
    if state.news.get(view.id, -1) >= view.events:
        return state
    news = {**{k: v for k, v in state.news.items() if k != view.id}, view.id: view.events}
    news = dict(list(news.items())[-NEWS_OF:])
    paused = [p for p in state.paused if p.id != view.id]
    active = state.active
    if view.asking and active is not None and is_paused(state, view):
        at_its_place = [view if p.id == view.id else p for p in state.paused]
        return state.model_copy(update={"news": news, "paused": at_its_place})
    if active is not None and active.id == view.id:
        active = view if view.asking else None
    elif view.asking and active is None:
        active = view
    elif view.asking:
        paused = [*paused, view]
    if active is None and paused and take_up:
        *paused, active = paused
    state = state.model_copy(update={"news": news, "active": active, "paused": paused})
    state = handing_in(state, view)
    return state if view.status == "running" else no_longer_at_work(state, view.id)


def is_paused(state: ConversationState, view: FlowView) -> bool:
    """True where the run waits for another to end."""
    return any(paused.id == view.id for paused in state.paused)


def heard(state: ConversationState, at: datetime) -> ConversationState:
    """The state of a conversation in which something was said just now."""
    return state.model_copy(update={"heard_at": at})


def handing_in(state: ConversationState, view: FlowView) -> ConversationState:
    """The state with this run handed in where it waits for approval, and without it else."""
    if view.status == "waiting_approval":
        # Its slots and texts are known by the run itself: it is only called by its name here.
        named = view.model_copy(update={"slots": {}, "fillable": {}, "replies": []})
        return state.model_copy(update={"handed_in": named})
    if state.handed_in is None or state.handed_in.id != view.id:
        return state
    return state.model_copy(update={"handed_in": None})


def no_longer_at_work(state: ConversationState, run: str) -> ConversationState:
    """The state where this run isn't at work (any longer)."""
    if state.at_work is None or state.at_work.id != run:
        return state
    return state.model_copy(update={"at_work": None})


def status(state: ConversationState, running: list[str]) -> ConversationStatus:
    """Where the conversation stands, for people."""
    asked, talked_of = state.active.replies if state.active else [], state.active or state.at_work
    confirmation = next((r for r in asked if isinstance(r, ConfirmReply)), None)
    return ConversationStatus(
        running=running,
        turns=state.turns,
        active_flow=talked_of.summary if talked_of else None,
        paused_flows=[PausedFlow(id=p.id, name=p.flow, state=p.state) for p in state.paused],
        pending_confirmation=confirmation.model_dump(mode="json") if confirmation else None,
        asked=question_in(_shown_last(state)),
        active_skill=_active(state.skill) if state.skill else None,
        waiting_calls={call.id: call.tool for call in state.waiting if not call.heard},
        usage=state.usage,
    )


def _shown_last(state: ConversationState) -> list[Reply]:
    """The replies that ask what is open: what the router offered last, else what the flow asks."""
    if not state.offered:
        return state.active.replies if state.active else []
    named = offer_question(state.offered)
    turns = (held.turn for held in reversed(state.taken) if held.turn is not None)
    shown = next(turns, None)
    return [r for r in shown.replies if getattr(r, "question", None) == named] if shown else []


def _active(skill: OpenSkill) -> ActiveSkill:
    return ActiveSkill(name=skill.name, title=skill.task.skill.title, asking=skill.asking)


def details(start: ConversationStart, state: ConversationState, route: Route) -> str:
    """The conversation in a few lines of Markdown, for the Temporal UI."""
    target = f" ▸ {route.target}" if route.target else ""
    lines = [
        f"**{start.conversation}** of {start.owner}, {state.turns} turns",
        f"last route: {route.kind}{target} by {route.by}: {route.reason}",
    ]
    if state.active is not None:
        active = state.active
        lines.append(f"active: {active.flow} {active.id}, {active.status} in `{active.state}`")
        lines += [f"- {name}: {value}" for name, value in active.slots.items()]
    return "\n".join(lines)


LAPSED = 3
LAPSED_BYTES = 8_000
"""Lapsed runs that a conversation keeps, and what each may have been told at most, as JSON."""


def to_take_up(state: ConversationState, locale: Locale) -> list[PausedRun]:
    """Everything that can be taken up by name, the latest last; what is paused is later."""
    lapsed = [PausedRun(run=one.run, flow=one.flow, title=one.title) for one in state.lapsed]
    return [*lapsed, *(PausedRun.of(view, locale) for view in state.paused)]


def asking_which(
    state: ConversationState, locale: Locale
) -> tuple[ConversationState, ChoicesReply]:
    """The question which of the paused flows to take up, and the state in which it is open."""
    reply = paused.which([PausedRun.of(view, locale) for view in state.paused], locale)
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
    if state.active is not None and view.replies and is_paused(state, view):
        replies = replies[: -len(view.replies)] or replies
    if lapsed_of(view) is not None:
        label = notices.go_on(view.title).within(locale)
        button = Option(label=label, value=paused.value(view.id))
        replies.append(ChoicesReply(text=label, options=[button]))
    return news.model_copy(update={"replies": replies})
