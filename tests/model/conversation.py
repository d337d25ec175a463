"""A run and the conversation that talks about it: what each knows of the other, however it travels.

The run answers what it is told, and tells by itself what happens to it. The answer comes back
within a turn; news come as signals, each at least once, and wait for the turn that is running.

    conversation ── told ──▶ run            (one word at a time)
      ▲    ▲                  │ └─ tasks, decisions, the clock
      │    └──── answer ──────┤
      └───────── news ◀───────┘             (sent one after another; a copy may be late)
"""

import hashlib
from collections.abc import Callable, Iterator
from copy import copy
from dataclasses import dataclass, field, replace
from functools import partial

from router.contracts.conversation_state import News, OpenFlows
from router.domain.messages import ENDED
from router.flow.engine import events, machine
from router.flow.engine.events import AnyEvent
from router.flow.view import FlowView
from tests.model.exploration import BrokenPromise
from tests.model.run import Intent, RunWorld
from workflows import open_flows
from workflows.publication import ConversationNotifier

ONE_TRUTH = "one truth for a run and its conversation"


@dataclass(frozen=True)
class Talk:
    """One state of both. Nothing goes wrong within the run here: `run` has its worlds for that."""

    of: RunWorld
    notifier: ConversationNotifier
    flows: OpenFlows = field(default_factory=OpenFlows)
    faults: int = 0
    answer: FlowView | None = None
    """What the run has answered to the turn that is running, which hasn't heard it yet."""
    sending: News | None = None
    late: tuple[News, ...] = ()
    """Copies that were given up, and may arrive yet."""
    unheard: tuple[News, ...] = ()

    @property
    def key(self) -> bytes:
        """Everything that anything depends on."""
        state = self.flows.model_dump_json(
            include={"active", "at_work", "handed_in", "event_counts"}
        )
        views = [news.view.model_dump_json() for news in (*self.late, *self.unheard)]
        under_way = [each and each.model_dump_json() for each in (self.answer, self.sending)]
        # How many events it has had orders its views: here it can't be left out.
        news = (self.notifier.has_news(self.of.run), bool(self.notifier.said), len(self.late))
        parts = (self.of.key, self.of.run.events, self.faults, state, views, under_way, news)
        return hashlib.blake2b(repr(parts).encode(), digest_size=16).digest()

    def moves(self) -> Iterator[tuple[str, Callable[[], "Talk"]]]:
        """What can happen; no word is said while another's answer is awaited."""
        yield from self._words()
        yield from self._events()
        yield from self._news()

    def _words(self) -> Iterator[tuple[str, Callable[[], "Talk"]]]:
        if self.answer is not None:
            yield "the conversation hears the answer", self._hear_answer
            return
        for intent in self.of.intents:
            event = intent.event(self.of)
            if event is not None and intent.way == "tell":
                yield f"{intent.name}", partial(self._told, intent, event)

    def _events(self) -> Iterator[tuple[str, Callable[[], "Talk"]]]:
        for intent in self.of.intents:
            event = intent.event(self.of)
            if event is not None and intent.way == "decide":
                yield intent.name, partial(self._without(intent)._take, event)
        for task in self.of.run.work.tasks.values():
            known = self.of.setting.lookups.get(task.name)
            event = (
                events.LookedUp(task=task.id, value=known(*task.positional))
                if known is not None
                else events.Called(task=task.id, value="done", lasts=True)
            )
            yield f"{task.name} comes back", partial(self._take, event)

    def _news(self) -> Iterator[tuple[str, Callable[[], "Talk"]]]:
        if self.sending is None and self.answer is None and self._has_news:
            yield "the run has news", self._send
        if self.sending is not None:
            news, done = self.sending, replace(self, sending=None)
            yield "the news arrive", partial(done._arrive, news)
            if self.faults:
                fewer = replace(self, faults=self.faults - 1)
                yield "the news arrive, and are sent again", partial(fewer._arrive, news)
                hung = replace(fewer, late=(*self.late, news))
                yield "the news are held up, and sent again", partial(_same, hung)
        for place, news in enumerate(self.late):
            rest = replace(self, late=self.late[:place] + self.late[place + 1 :])
            yield "late news arrive", partial(rest._arrive, news)

    @property
    def _has_news(self) -> bool:
        # As the workflow's: not while something is under way that comes back soon.
        return self.notifier.has_news(self.of.run) and not self.of.run.work.tasks

    def _without(self, intent: Intent) -> "Talk":
        left = tuple(one for one in self.of.intents if one is not intent)
        return replace(self, of=replace(self.of, intents=left))

    def _take(self, event: AnyEvent) -> "Talk":
        definition, now = self.of.setting.definition, self.of.now
        decided = event if isinstance(event, events.Decided) else None
        if decided and machine.refusal_of(definition, self.of.run, decided, now) is not None:
            return self
        run, effects = machine.step(definition, self.of.run, event, now)
        notifier = _copied(self.notifier)
        notifier.said += [effect.text for effect in effects if isinstance(effect, events.Say)]
        return replace(self, of=replace(self.of, run=run), notifier=notifier).published()

    def published(self) -> "Talk":
        """The same with its rows as they are: that they may be behind is shown elsewhere."""
        return replace(self, of=self.of.published_now())

    def _told(self, intent: Intent, event: AnyEvent) -> "Talk":
        if self.of.run.status in ENDED:
            return self._without(intent)
        world = self._without(intent)
        hears = isinstance(event, events.Cancelled) or not self.of.run.work.tasks
        world = world._take(event) if hears else world
        notifier = _copied(world.notifier)
        answer = notifier.answer(world.of.setting.definition, world.of.run)
        return replace(world, notifier=notifier, answer=answer.view)

    def _hear_answer(self) -> "Talk":
        if self.answer is None:
            return self
        flows = open_flows.note_events(self.flows, self.answer)
        flows = open_flows.receive_answer(flows, self.answer)
        return replace(self, flows=flows, answer=None)._heard()

    def _send(self) -> "Talk":
        notifier = _copied(self.notifier)
        news = notifier.news(self.of.setting.definition, self.of.run, self.of.now)
        return replace(self, notifier=notifier, sending=news)

    def _arrive(self, news: News) -> "Talk":
        return replace(self, unheard=(*self.unheard, news))._heard()

    def _heard(self) -> "Talk":
        if self.answer is not None:
            return self
        flows = self.flows
        for news in self.unheard:
            flows = open_flows.receive_news(flows, news.view)
        return replace(self, flows=flows, unheard=())


def check(talk: Talk) -> None:
    """At rest the conversation knows of the run what is so."""
    under_way = (talk.answer, talk.sending, *talk.unheard, *talk.late)
    run = talk.of.run
    if any(under_way) or talk._has_news or run.work.tasks or not talk.flows.event_counts:
        return
    active, waits = talk.flows.active, [view.id for view in talk.flows.handed_in]
    asks = run.status in ("collecting", "confirming") or run.approvals.asks_to_amend
    if asks != (active is not None) or (active and active.question != run.question_id):
        shown = active and f"{active.status}, {active.question}"
        raise BrokenPromise(
            ONE_TRUTH, f"it is {run.status}, {run.question_id}, and taken to be {shown}"
        )
    if (run.status == "waiting_approval") != bool(waits):
        raise BrokenPromise(ONE_TRUTH, f"it is {run.status}, and taken to wait: {bool(waits)}")


def _copied(notifier: ConversationNotifier) -> ConversationNotifier:
    own = copy(notifier)
    own.said, own.calls, own.begun = list(own.said), [], []
    return own


def _same(talk: Talk) -> Talk:
    return talk
