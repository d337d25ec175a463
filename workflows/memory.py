"""What a conversation keeps: its state, as pure functions over it, its log rows, and a snapshot.

The last `ANSWERS` messages are in the state with their answers, the ids and digests of `IDS`; what
is older is only in the event log. A row's key makes a repeated write harmless.
"""

import re
from collections.abc import Collection, Iterable, Sequence
from datetime import datetime
from typing import Literal

from pydantic import JsonValue
from temporalio import workflow

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
    Submission,
    WithPerson,
)
from router.contracts.skill_run import SkillOutcome, SkillStart
from router.domain import messages
from router.domain.errors import DuplicateKey
from router.domain.hand_offs import BACK, NamedPerson, OngoingHandOff
from router.domain.locale import Locale
from router.domain.progress import ProgressPlace, ToolCallProgress
from router.domain.records import LogEntry, RecordedTurn
from router.domain.sizes import measure_bytes
from router.flow import paused
from router.flow.paused import PausedRun, run_meant
from router.flow.view import FlowView
from workflows import notices

IDS = 200
ANSWERS = 8
"""As many as may be sent again by whoever didn't hear the end of them, and some more: the log has
the others, and each that is held is some kilobytes, in memory and in what is carried."""
NEWS_OF = 50
LINES = 12
LINE_LENGTH, RESULT_OF_LINE = 4_000, 2_000
"""Of what was said, a model is told the last few lines, each cut at so many characters; and of
each call's result so much."""
HISTORY_LENGTH = 9_000
"""Characters of all of them: where there are more, the oldest are shortened first."""
SHORT_LINE, SHORT_RESULT = 300, 120
STOPPED = "(The person stopped this before it was done.)"
BROKE = "(This couldn't be done.)"
UNSAID = "(Nothing was said to this by itself.)"
"""What it is told where a turn was stopped, broke, or has no words of its own."""
GISTS = 30
GIST_LENGTH = 80
"""Of what was said before those lines it is told what each message wanted, in one short line."""


def held(state: ConversationState, message_id: str) -> HeldTurn | None:
    """The message with this id, where its answer is still remembered."""
    return next((h for h in reversed(state.taken) if h.message_id == message_id), None)


def digest_of(state: ConversationState, message_id: str) -> str | None:
    """The digest of the message with this id, where that is still remembered."""
    one = held(state, message_id)
    return one.digest if one else state.known.get(message_id)


def with_turn(state: ConversationState, answered: HeldTurn) -> ConversationState:
    """The state after one more message was answered."""
    taken, known = [*state.taken, answered], [*state.known.items()]
    known += [(one.message_id, one.digest) for one in taken[:-ANSWERS]]
    return state.replace(
        turns=state.turns + 1,
        taken=taken[-ANSWERS:],
        known=dict(known[ANSWERS - IDS :]),
        older=state.older or len(known) > IDS - ANSWERS,
        usage=state.usage + (answered.turn.usage if answered.turn else messages.Usage()),
    )


def other_message(message_id: str) -> DuplicateKey:
    """What whoever sends another message by the id of an earlier one is told."""
    return DuplicateKey(
        f"Message id {message_id!r} was used for another message; use a new id, or send the "
        "same message again to get its answer."
    )


def with_recorded(state: ConversationState, found: Iterable[RecordedTurn]) -> ConversationState:
    """The state with these turns, which it doesn't know, as the last that were answered."""
    for one in found:
        turn = one.turn
        held = HeldTurn(message_id=turn.message_id, digest=one.digest, turn=turn)
        state = with_turn(state.replace(turns=turn.turn - 1), held)
    return state


def remembering(
    state: ConversationState,
    said: str,
    answered: str,
    routes: Sequence[messages.Route],
    files: Sequence[str] = (),
) -> ConversationState:
    """The state with one more exchange in what a model is told of the past."""
    what = ", ".join(f"{r.kind} {r.target}" if r.target else r.kind for r in routes)
    gist = f"{' '.join(said.split())[:GIST_LENGTH]} ▸ {what}"
    lines = [
        *state.history,
        messages.SpokenLine(role="user", text=_cut(said, LINE_LENGTH), files=[*files]),
        messages.SpokenLine(role="assistant", text=_cut(answered, LINE_LENGTH), calls=state.called),
    ]
    gists = [*state.gists, gist][-GISTS - LINES // 2 :]
    return _gone_from(state, routes).replace(
        history=shortened(lines[-LINES:]), gists=gists, called=[]
    )


def _gone_from(state: ConversationState, routes: Sequence[messages.Route]) -> ConversationState:
    """The state without a skill that has answered, once something else was wished for."""
    skill, wished = state.skill, {"flow", "skill", "tool", "cancel"}
    targets = {route.target for route in routes if route.kind in wished}
    if skill is None or not skill.answered or not targets or skill.name in targets:
        return state
    return state.replace(skill=None)


def remembering_results(
    state: ConversationState, wanted: str, answered: str, routes: Sequence[messages.Route]
) -> ConversationState:
    """The same once the front end has made calls: it is the message that `wanted` them's answer."""
    made = {call.id: call for call in state.called}
    place = place_of(state.history, made.keys())
    if place is None:
        return remembering(state, wanted, answered, routes) if made else state
    line = state.history[place]
    known = [made.pop(call.id, call) for call in line.calls]
    said = _cut("\n".join(filter(None, (line.text, answered))), LINE_LENGTH)
    whole = line.replace(text=said, calls=[*known, *made.values()])
    told = [*state.history[:place], whole, *state.history[place + 1 :]]
    return _gone_from(state, routes).replace(history=shortened(told), called=[])


def for_models(turn: messages.Turn) -> str:
    """What a model is told that the turn said: no notices of the desk's, but what became of it."""
    spoken = messages.without_notices(turn.replies)
    ends = {"cancelled": STOPPED, "failed": BROKE}
    told = "\n".join(filter(None, (text_of(spoken), ends.get(turn.status, ""))))
    return told or ("" if turn.tool_calls else UNSAID)


def recalled(call: messages.ToolCallView, result: str) -> messages.RecalledCall:
    """A call and what it came to, as it is remembered."""
    about = {"id": call.id, "name": call.name, "arguments": call.arguments}
    return messages.RecalledCall(**about, result=_cut(result, RESULT_OF_LINE))


def shortened(lines: Sequence[messages.SpokenLine]) -> list[messages.SpokenLine]:
    """The lines within `HISTORY_LENGTH`: results give way before words, the oldest first.

    The last exchange stays whole, and a call stays with its result.
    """
    kept = list(lines)
    for shorten in (_with_short_results, _with_short_words):
        for place in range(len(kept) - 2):
            if sum(len(line.told) for line in kept) <= HISTORY_LENGTH:
                return kept
            kept[place] = shorten(kept[place])
    return kept


def _with_short_results(line: messages.SpokenLine) -> messages.SpokenLine:
    short = [call.replace(result=_cut(call.result, SHORT_RESULT)) for call in line.calls]
    return line.replace(calls=short)


def _with_short_words(line: messages.SpokenLine) -> messages.SpokenLine:
    return line.replace(text=_cut(line.text, SHORT_LINE))


def _cut(text: str, longest: int) -> str:
    """Its beginning, and how long it was before anything was cut of it, where it is longer."""
    head, length = text, len(text)
    if cut := _LEFT_OUT.search(text):
        head, length = text[: cut.start()], int(cut[1])
    if len(head) <= longest:
        return text
    return f"{head[:longest]}… ({length} characters in all)"


_LEFT_OUT = re.compile(r"… \((\d{1,9}) characters in all\)$")


def in_play(state: ConversationState) -> list[str]:
    """The capabilities that the last answer came from: what is said next may be about them."""
    last = last_turn(state)
    if last is None:
        return []
    routes = last.routes or [last.route]
    named = [*(route.target for route in routes), *(call.name for call in last.tool_calls)]
    return list(dict.fromkeys(name for name in named if name))


def called_lately(state: ConversationState) -> frozenset[str]:
    """The tools that had a part in what a model is told of the past."""
    turns = (answered.turn for answered in state.taken[-LINES // 2 :])
    return frozenset(call.name for turn in turns if turn for call in turn.tool_calls)


def earlier(state: ConversationState) -> list[str]:
    """What messages wanted that are too long ago to be told whole."""
    return state.gists[: -len(state.history) // 2] if state.history else []


def place_of(history: Sequence[messages.SpokenLine], calls: Collection[str]) -> int | None:
    """Where the line stands that these calls were made for; None where it is forgotten."""
    for place in reversed(range(1, len(history))):
        if any(call.id in calls for call in history[place].calls):
            return place
    return None


def put_away(state: ConversationState) -> ConversationState:
    """The state for a conversation that is resumed another day: nothing is answered unasked."""
    if state.skill is None or not state.skill.asking:
        return state
    return state.replace(skill=state.skill.replace(asking=False))


def open_skill(start: SkillStart, outcome: SkillOutcome) -> OpenSkill:
    """What a sub-agent goes on from, whether it has answered, asked, or was stopped."""
    about = {"task": start.task, "memory": outcome.memory, "tools": start.tools}
    known = OpenSkill(**about, inner=outcome.inner)
    if outcome.ending == "awaits":
        return known.replace(progress=outcome.progress)
    if outcome.ending == "asked":
        return known.replace(question=outcome.text, card=outcome.card, asking=True)
    return known.replace(answered=outcome.ending == "answered")


def plan_shown(state: ConversationState) -> str:
    """The name of the question by which a sub-agent shows its plan; empty where none does."""
    card = state.skill.plan_shown if state.skill else None
    return card.question or "" if card else ""


def leaves_several(state: ConversationState, view: FlowView) -> bool:
    """True where with this news nothing is asked any more and several flows are put aside."""
    over = state.active is not None and state.active.id == view.id and not view.asking
    return over and sum(paused.id != view.id for paused in state.paused) > 1


def with_news(
    state: ConversationState, view: FlowView, *, resume: bool = True
) -> ConversationState:
    """The state after news of a run; what was put aside last is taken up where nothing is asked."""
    if state.news.get(view.id, -1) >= view.events:
        return state
    state = having_heard(state, view)
    paused = [p for p in state.paused if p.id != view.id]
    active = state.active
    if view.asking and active is not None and is_paused(state, view):
        at_its_place = [view if p.id == view.id else p for p in state.paused]
        return state.replace(paused=at_its_place)
    if active is not None and active.id == view.id:
        active = view if view.asking else None
    elif view.asking and active is None:
        active = view
    elif view.asking:
        paused = [*paused, view]
    if active is None and paused and resume:
        *paused, active = paused
    state = handing_in(state.replace(active=active, paused=paused), view)
    return state if view.status == "running" else no_longer_at_work(state, view.id)


def having_heard(state: ConversationState, view: FlowView) -> ConversationState:
    """The state to which whatever the run was before this is news no longer."""
    newest = max(view.events, state.news.get(view.id, -1))
    others = [(run, events) for run, events in state.news.items() if run != view.id]
    return state.replace(news=dict([*others, (view.id, newest)][-NEWS_OF:]))


def answered(state: ConversationState, view: FlowView) -> ConversationState:
    """The state after what a run answered to whoever told it something: it is talked about."""
    state = handing_in(state, view)
    if view.status == "running":
        state = state.replace(at_work=view)
    else:
        state = no_longer_at_work(state, view.id)
    return state.replace(active=view if view.asking else None)


def is_paused(state: ConversationState, view: FlowView) -> bool:
    """True where the run waits for another to end."""
    return any(paused.id == view.id for paused in state.paused)


HANDED_IN = 4
"""Runs that wait for approval, and that what is said may change."""


def handing_in(state: ConversationState, view: FlowView) -> ConversationState:
    """The state with this run handed in where it waits for approval, and without it else."""
    if view.status == "waiting_approval" or view.amends:
        others = [one for one in state.handed_in if one.id != view.id]
        waiting = view.replace(status="waiting_approval", replies=[])
        return state.replace(handed_in=[*others, waiting][-HANDED_IN:])
    return no_longer_handed_in(state, view.id)


def no_longer_handed_in(state: ConversationState, run: str) -> ConversationState:
    """The state where this run doesn't wait for approval (any longer)."""
    others = [one for one in state.handed_in if one.id != run]
    return state if others == state.handed_in else state.replace(handed_in=others)


def no_longer_at_work(state: ConversationState, run: str) -> ConversationState:
    """The state where this run isn't at work (any longer)."""
    done = state.at_work is not None and state.at_work.id == run
    return state.replace(at_work=None) if done else state


def status(state: ConversationState, running: list[str]) -> ConversationStatus:
    """Where the conversation stands, for people."""
    asked, talked_of = _shown_last(state), state.active or state.at_work
    confirmation = next((r for r in asked if isinstance(r, messages.ConfirmReply)), None)
    skill = state.skill
    return ConversationStatus(
        running=running,
        turns=state.turns,
        active_flow=talked_of.summary if talked_of else None,
        paused_flows=[PausedFlow(id=p.id, name=p.flow, state=p.state) for p in state.paused],
        pending_confirmation=confirmation.model_dump(mode="json") if confirmation else None,
        asked=messages.question_in(asked),
        active_skill=None
        if skill is None or skill.answered
        else ActiveSkill(name=skill.name, title=skill.task.skill.title, asking=skill.asking),
        waiting_calls={call.id: call.tool for call in state.waiting if not call.heard},
        with_person=with_person(state.hand_off) if state.hand_off else None,
        usage=state.usage,
    )


def with_person(hand_off: OngoingHandOff) -> WithPerson:
    """Who has the conversation, or will."""
    name = hand_off.agent.name if hand_off.agent else ""
    return WithPerson(hand_off=hand_off.id, name=name, opens_at=hand_off.opens_at)


def _shown_last(state: ConversationState) -> list[messages.Reply]:
    if state.active is not None:
        return state.active.replies  # what is offered beside it isn't the last word
    if not state.offered:
        card = state.skill.plan_shown if state.skill else None
        return [card] if card else []
    named = messages.offer_question(state.offered)
    shown = last_turn(state)
    return [r for r in shown.replies if getattr(r, "question", None) == named] if shown else []


def last_turn(state: ConversationState) -> messages.Turn | None:
    """The last turn whose answer is still held."""
    return next((held.turn for held in reversed(state.taken) if held.turn is not None), None)


def details(start: ConversationStart, state: ConversationState, route: messages.Route) -> str:
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


def resumable(state: ConversationState, locale: Locale) -> list[PausedRun]:
    """Everything that can be taken up by name, the latest last; what is paused is later."""
    lapsed = [PausedRun(run=one.run, flow=one.flow, title=one.title) for one in state.lapsed]
    return [*lapsed, *(PausedRun.of(view, locale) for view in state.paused)]


def asking_which(
    state: ConversationState, locale: Locale
) -> tuple[ConversationState, messages.ChoicesReply]:
    """The question which of the paused flows to take up, and the state in which it is open."""
    reply = paused.which([PausedRun.of(view, locale) for view in state.paused], locale)
    return state.replace(offered=reply.options, offered_for=""), reply


def with_lapsed(state: ConversationState, view: FlowView) -> ConversationState:
    """The state with what an expired run was told; the oldest of too many is forgotten."""
    one = lapsed_of(view)
    others = [other for other in state.lapsed if other.run != view.id]
    return state.replace(lapsed=[*others, one][-LAPSED:]) if one else state


def lapsed_of(view: FlowView) -> LapsedFlow | None:
    """What is kept of a run; None where it didn't lapse, or was told nothing or too much."""
    if not view.kept:
        return None
    known = LapsedFlow(run=view.id, flow=view.flow, title=view.title, slots=view.kept)
    one = known.replace(skipped=view.skipped)
    return one if measure_bytes(one) <= LAPSED_BYTES else None


def without_lapsed(state: ConversationState, run: str) -> ConversationState:
    """The state where that run is gone on with, and needn't be kept."""
    return state.replace(lapsed=[one for one in state.lapsed if one.run != run])


def as_told(state: ConversationState, news: News, locale: Locale) -> News:
    """The news as passed on: of a paused run without question, of a lapsed one with a button."""
    view, replies = news.view, list(news.replies)
    if state.active is not None and view.replies and is_paused(state, view):
        replies = replies[: -len(view.replies)] or replies
    if lapsed_of(view) is not None:
        label = notices.go_on(view.title).within(locale)
        button = messages.Option(label=label, value=paused.value(view.id))
        replies.append(messages.ChoicesReply(text=label, options=[button]))
    return news.replace(replies=replies)


def rows_of_turn(
    conversation: str, submission: Submission, said: str, turn: messages.Turn, began: datetime
) -> list[LogEntry]:
    """The rows of a turn that is answered now: what the person `said`, the answer, and the turn.

    What was said is news for the person too, whose other windows may show other conversations.
    Before them the end of each call, for those whose worker died before it could say so.
    """
    id_, person, now = submission.message_id, submission.caller.id, workflow.now()
    place = ProgressPlace(conversation, id_)

    def row(part: str, at: datetime, recipient: str | None, **data: JsonValue) -> LogEntry:
        kind: Literal["turn", "message"] = "turn" if part == "turn" else "message"
        about = {"conversation": conversation, "message_id": id_, "recipient": recipient}
        key = f"{conversation}:{id_}:{part}"
        return LogEntry(key=key, kind=kind, at=at, data=data, **about)

    route = turn.route.model_dump(mode="json", exclude_none=True)
    usage = turn.usage.model_dump(mode="json")
    answered = _spoken(turn.replies, route=route, message_id=id_, usage=usage)
    if turn.structured is not None:
        answered["structured"] = turn.structured
    return [
        *(
            ToolCallProgress(place, call.id, call.name).finished(now, call.status)
            for call in turn.tool_calls
            if call.status != "waiting"
        ),
        row("user", began, person, role="user", text=said, message_id=id_, **_attached(submission)),
        row("assistant", now, person, **answered),
        row("turn", now, None, digest=submission.digest, turn=turn.model_dump(mode="json")),
    ]


def rows_of_model(conversation: str, message_id: str, before: str, model: str) -> list[LogEntry]:
    """The row of a turn that another model answered than the one before; none where none did."""
    if not before or not model or before == model:
        return []
    entry = LogEntry(
        key=f"{conversation}:{message_id}:model",
        kind="model",
        at=workflow.now(),
        conversation=conversation,
        message_id=message_id,
        data={"model": model, "before": before},
    )
    return [entry]


def _attached(submission: Submission) -> dict[str, JsonValue]:
    """The files of a message as the transcript has them; nothing of one without any."""
    names = submission.file_names
    files: list[JsonValue] = [
        {"id": file, "name": names.get(file, file)} for file in submission.message.files
    ]
    return {"files": files} if files else {}


def rows_of_news(conversation: str, owner: str, news: News) -> list[LogEntry]:
    """The row of what a run said without being asked; none where it said nothing."""
    entry = LogEntry(
        key=f"{conversation}:{news.view.id}:{news.view.events}",
        kind="message",
        at=news.at,
        conversation=conversation,
        recipient=owner,
        data=_spoken(news.replies, flow=news.view.summary.model_dump(mode="json")),
    )
    return [entry] if news.replies else []


def row_of_person(
    start: ConversationStart,
    key: str,
    replies: list[messages.Reply],
    author: NamedPerson | None,
    agent: str | None,
) -> LogEntry:
    """The row of what a person who helps says by name, or the desk of this `agent`."""
    by: dict[str, JsonValue] = {"author": author.model_dump(mode="json")} if author else {}
    by |= {"agent": agent} if agent else {}
    return LogEntry(
        key=f"{start.conversation}:{key}",
        kind="message",
        at=workflow.now(),
        conversation=start.conversation,
        recipient=start.owner,
        data=_spoken(replies, **by),
    )


def _spoken(replies: list[messages.Reply], **more: JsonValue) -> dict[str, JsonValue]:
    shown: list[JsonValue] = [r.model_dump(mode="json", exclude_none=True) for r in replies]
    return {"role": "assistant", "text": text_of(replies), "replies": shown, **more}


def text_of(replies: list[messages.Reply]) -> str:
    """Replies as plain text, a paragraph each."""
    return "\n".join(reply.text for reply in replies)


def as_text(message: messages.Message, before: ConversationState, names: Sequence[str] = ()) -> str:
    """What a person said; what a button or form stands for; of files alone, their `names`."""
    match message.action:
        case None:
            return message.text or ", ".join(names)
        case messages.ChooseAction(value=value):
            return _label(value, before)
        case messages.ConfirmAction(value=value):
            return "✓" if value else "✗"
        case messages.FormAction(values=values):
            return "\n".join(f"{name}: {_shown(value)}" for name, value in values.items())
        case messages.StartAction(flow=flow):
            return f"▶ {flow}"
        case messages.ToolResultAction(tool_call_id=id_):
            return f"[{id_}]"


def _shown(value: JsonValue) -> JsonValue:
    """A file by its name, where the front end sent along what the upload was answered."""
    if isinstance(value, dict) and value.keys() == {"id", "name", "type", "size"}:
        return value["name"]
    return value


def _label(value: JsonValue, before: ConversationState) -> str:
    if value == BACK:
        return "/back"
    shown = [*before.offered]
    for reply in before.active.replies if before.active else []:
        shown += getattr(reply, "options", [])
    named = next((option.label for option in shown if option.value == value), None)
    # A button of a day ago may go on with a run: shown as one that starts a flow.
    flows = {one.run: one.flow for one in before.lapsed} | {v.id: v.flow for v in before.paused}
    run = run_meant(value)
    return named or (f"▶ {flows[run]}" if run in flows else str(value))
