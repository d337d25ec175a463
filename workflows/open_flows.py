"""The runs of flows that a conversation talks about: which asks, which wait, which have lapsed.

One run is active; others wait for it to end. Each request that is set aside is carried with the
conversation, and a person who begins one after the other would make it too large to continue: the
oldest of too many is put away as if it had expired. What it was told is kept, and the person is
told so by its name. Pure functions of `OpenFlows`.
"""

from collections.abc import Collection, Iterable

from router.contracts.conversation_state import MAX_PAUSED, LapsedFlow, News, OpenFlows
from router.contracts.flow import FlowAnswer
from router.domain import messages
from router.domain.locale import Locale, Localised
from router.domain.sizes import measure_bytes
from router.flow import paused
from router.flow.paused import PausedRun, known_in_short
from router.flow.slot_types.slot import Slot
from router.flow.view import FlowView, FormView
from workflows import notices

MAX_PAUSED_BYTES = 400_000
"""Bytes of the requests that are set aside, with the slots of their flows."""
MAX_LAPSED_BYTES = 8_000
"""Bytes of what a lapsed run may have been told, as JSON; of more nothing is kept."""


def learn_slots(flows: OpenFlows, received: FlowAnswer | News) -> OpenFlows:
    """Return the flows with the slots that a run sent along, if they aren't known yet."""
    name = received.view.slot_set
    if not received.fillable or name in flows.slot_sets:
        return flows
    return flows.replace(slot_sets={**flows.slot_sets, name: received.fillable})


def drop_unused_slots(flows: OpenFlows, news: Iterable[News] = ()) -> OpenFlows:
    """Return the flows without slots that no run refers to any longer, those in the news included.

    Call it only between turns: a run that is sent a message leaves out the slots that are known.
    """
    views = [flows.active, flows.at_work, *flows.paused, *flows.handed_in]
    used = {view.slot_set for view in views if view} | {each.view.slot_set for each in news}
    if used.issuperset(flows.slot_sets):
        return flows
    kept = {name: slots for name, slots in flows.slot_sets.items() if name in used}
    return flows.replace(slot_sets=kept)


def show_form(flows: OpenFlows, view: FlowView) -> FormView:
    """Return the view of a run with the slots that a person may fill."""
    return view.with_slots(flows.slot_sets)


def slots_to_read(flows: OpenFlows, *, is_answer: bool) -> dict[str, dict[str, Slot]]:
    """Return the slot sets that a message may fill.

    If the active run asks something, that is its own set: runs that wait for approval are changed
    only while nothing is asked, or by an option that was offered, so that it is no `is_answer`.
    """
    asks = flows.active is not None and flows.active.asking
    views = [flows.active, *([] if asks and is_answer else flows.handed_in)]
    named = [view.slot_set for view in views if view is not None]
    return {name: flows.slot_sets[name] for name in named if name in flows.slot_sets}


def receive_news(flows: OpenFlows, view: FlowView, *, resume: bool = True) -> OpenFlows:
    """Return the flows after news of a run.

    With `resume`, the run that was put aside last becomes active if nothing is asked any longer.
    """
    if flows.event_counts.get(view.id, -1) >= view.events:
        return flows
    flows = note_events(flows, view)
    others = [p for p in flows.paused if p.id != view.id]
    active = flows.active
    if view.asking and active is not None and is_paused(flows, view):
        at_its_place = [view if p.id == view.id else p for p in flows.paused]
        return flows.replace(paused=at_its_place)
    if active is not None and active.id == view.id:
        active = view if view.asking else None
    elif view.asking and active is None:
        active = view
    elif view.asking:
        others = [*others, view]
    if active is None and others and resume:
        *others, active = others
    flows = note_approval(flows.replace(active=active, paused=others), view)
    return flows if view.status == "running" else end_work(flows, view.id)


def hear_news(flows: OpenFlows, news: News, locale: Locale) -> tuple[News, OpenFlows]:
    """Return the news as the person is told of it, and the flows after it."""
    told, asks_which = pass_on(flows, news, locale), leaves_several(flows, news.view)
    flows = receive_news(learn_slots(flows, news), news.view, resume=not asks_which)
    flows = add_lapsed(flows, news.view)
    if asks_which:
        flows, which = ask_which(flows, locale)
        told = told.replace(replies=[*told.replies, which])
    return told, flows


def note_events(flows: OpenFlows, view: FlowView) -> OpenFlows:
    """Return the flows to which whatever the run was before this view is no news any longer."""
    newest = max(view.events, flows.event_counts.get(view.id, -1))
    others = {run: events for run, events in flows.event_counts.items() if run != view.id}
    return flows.replace(event_counts={**others, view.id: newest})


def receive_answer(flows: OpenFlows, view: FlowView) -> OpenFlows:
    """Return the flows after what a run answered to a message: it is talked about."""
    flows = end_work(note_approval(flows, view), view.id)
    at_work = view if view.status == "running" else flows.at_work
    return flows.replace(at_work=at_work, active=view if view.asking else None)


def pause_active(flows: OpenFlows) -> OpenFlows:
    """Return the flows with the active run set aside, the next one to be resumed."""
    if flows.active is None:
        return flows
    return flows.replace(paused=[*flows.paused, flows.active], active=None)


def is_paused(flows: OpenFlows, view: FlowView) -> bool:
    """Return whether the run waits for another one to end."""
    return any(paused.id == view.id for paused in flows.paused)


def leaves_several(flows: OpenFlows, view: FlowView) -> bool:
    """Return whether after this news nothing is asked any longer and several runs are set aside."""
    over = flows.active is not None and flows.active.id == view.id and not view.asking
    return over and sum(paused.id != view.id for paused in flows.paused) > 1


def note_approval(flows: OpenFlows, view: FlowView) -> OpenFlows:
    """Return the flows with the run handed in if it waits for approval, and without it if not."""
    if view.status == "waiting_approval" or view.amends:
        others = [one for one in flows.handed_in if one.id != view.id]
        waiting = view.replace(status="waiting_approval", replies=[])
        return flows.replace(handed_in=[*others, waiting])
    return end_approval(flows, view.id)


def end_approval(flows: OpenFlows, run: str) -> OpenFlows:
    """Return the flows in which this run doesn't wait for approval."""
    others = [one for one in flows.handed_in if one.id != run]
    return flows if others == flows.handed_in else flows.replace(handed_in=others)


def end_work(flows: OpenFlows, run: str) -> OpenFlows:
    """Return the flows in which this run isn't at work."""
    done = flows.at_work is not None and flows.at_work.id == run
    return flows.replace(at_work=None) if done else flows


def list_resumable(flows: OpenFlows, locale: Locale) -> list[PausedRun]:
    """Return every run that can be resumed by name, the latest last: those that lapsed first."""
    lapsed = [PausedRun(run=one.run, flow=one.flow, title=one.title) for one in flows.lapsed]
    return [*lapsed, *(PausedRun.of(show_form(flows, view), locale) for view in flows.paused)]


def ask_which(flows: OpenFlows, locale: Locale) -> tuple[OpenFlows, messages.ChoicesReply]:
    """Return the question which of the paused runs to resume, and the flows in which it is open."""
    several = [PausedRun.of(show_form(flows, view), locale) for view in flows.paused]
    reply = paused.which(several, locale)
    return flows.replace(offered=reply.options, offered_for=""), reply


def add_lapsed(flows: OpenFlows, view: FlowView) -> OpenFlows:
    """Return the flows with what an expired run was told; the oldest of too many is forgotten."""
    one = keep_lapsed(view)
    others = [other for other in flows.lapsed if other.run != view.id]
    return flows.replace(lapsed=[*others, one]) if one else flows


def keep_lapsed(view: FlowView) -> LapsedFlow | None:
    """Return what is kept of a run; `None` if it didn't lapse, or was told nothing or too much."""
    if not view.kept:
        return None
    one = LapsedFlow(
        run=view.id, flow=view.flow, title=view.title, slots=view.kept, skipped=view.skipped
    )
    return one if measure_bytes(one) <= MAX_LAPSED_BYTES else None


def drop_lapsed(flows: OpenFlows, run: str) -> OpenFlows:
    """Return the flows without this lapsed run, which another one continues."""
    return flows.replace(lapsed=[one for one in flows.lapsed if one.run != run])


def pass_on(flows: OpenFlows, news: News, locale: Locale) -> News:
    """Return the news as the person is told of it.

    The question of a paused run is left out, and a lapsed run has a button that resumes it.
    """
    view, replies = news.view, list(news.replies)
    if flows.active is not None and view.replies and is_paused(flows, view):
        replies = replies[: -len(view.replies)] or replies
    if keep_lapsed(view) is not None:
        label = notices.go_on(view.title).within(locale)
        button = messages.Option(label=label, value=paused.value(view.id))
        replies.append(messages.ChoicesReply(text=label, options=[button]))
    return news.replace(replies=replies)


def find_surplus(flows: OpenFlows, spared: Collection[str] = ()) -> FlowView | None:
    """Return the oldest paused run if there are too many; never one of those `spared`."""
    if len(flows.paused) <= MAX_PAUSED and _measure_paused(flows) <= MAX_PAUSED_BYTES:
        return None
    return next((view for view in flows.paused if view.id not in spared), None)


def _measure_paused(flows: OpenFlows) -> int:
    paused = OpenFlows(paused=flows.paused, slot_sets=flows.slot_sets)
    return measure_bytes(drop_unused_slots(paused))


def drop_surplus(flows: OpenFlows, closed: FlowView, after: FlowView | None) -> OpenFlows:
    """Return the flows without a run that was closed, which then stands as in `after`.

    A run that has gone on by itself meanwhile isn't paused any longer either.
    """
    flows = flows.replace(paused=[view for view in flows.paused if view.id != closed.id])
    if after is None:
        return flows
    return add_lapsed(note_approval(flows, after), after)


def say_closed(closed: FormView, after: FlowView | None) -> Localised | None:
    """Return what the person is told of a closed run; `None` if it wasn't open any longer."""
    if after is None or after.status != "expired":
        return None
    known = Localised(zh=known_in_short(closed, "zh"), en=known_in_short(closed, "en"))
    kept = keep_lapsed(after) is not None
    return notices.put_away(closed.title, known, MAX_PAUSED, kept=kept)
