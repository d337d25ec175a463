"""A run of a flow with all that it has to do with, as one value: the code is the model.

What decides is the product's own: the machine's step, its refusals, the ledger's protocol, what a
run's rows are, which updates were answered. What is modelled is around them: the network, which
loses answers and brings requests again, late, in any order; workers that die; the clock.

    people ── requests, in flight ──▶ the run ── tasks ──▶ tries ──▶ ledger, effects out there
      ▲                                 │ └─ timers, continue-as-new
      └───────── rows ◀── publications ─┘
"""

import hashlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial
from types import SimpleNamespace
from typing import Any, Literal

from temporalio.exceptions import ActivityError
from temporalio.exceptions import TimeoutError as TimedOut

from router.contracts.failures import to_failure
from router.contracts.flow import AmendmentTaken, CallLimits
from router.domain.messages import ENDED
from router.domain.records import ApprovalRecord
from router.flow.definition import FlowDefinition
from router.flow.engine import amendment, events, incidents, machine, waiting
from router.flow.engine.context import canonical
from router.flow.engine.events import AnyEvent
from router.flow.engine.run import Run
from router.flow.engine.run_parts.work import Task
from router.store import flow_runs
from router.store.flow_runs import LAST_EVENT
from router.tool.tool import Tool
from tests.model.exploration import BrokenPromise
from tests.model.ledger import FAULTS, GOES_ON, HANGS, Crash, Ledger, Out, Try
from workflows import flow as workflow
from workflows import publication, tasks

Way = Literal["tell", "decide", "happen", "amend", "operate"]
"""By which of the workflow's updates a request comes."""


@dataclass(frozen=True)
class Request:
    """What somebody wants of the run, until they are answered: sent again with the same id."""

    id: str
    way: Way
    event: AnyEvent


@dataclass(frozen=True)
class Intent:
    """What somebody may do once: the event is made of what they see then, None where of nothing."""

    name: str
    way: Way
    event: Callable[["RunWorld"], AnyEvent | None]


@dataclass(frozen=True)
class Row:
    """An approval as the database shows it to its approver."""

    id: str
    person: str
    active: bool
    verdict: str | None
    digest: str

    @classmethod
    def of(cls, row: ApprovalRecord) -> "Row":
        """What of it matters here."""
        return cls(row.id, row.person, row.active, row.verdict, row.digest)


@dataclass(frozen=True)
class Published:
    """What the database has of the run."""

    events: int = -1
    status: str = ""
    listed: tuple[object, ...] = ()
    approvals: tuple[Row, ...] = ()
    history: tuple[tuple[str, str | None, datetime], ...] = ()
    wordless: bool = False
    """Whether its person was erased from it."""


@dataclass(frozen=True)
class Setting:
    """What stays the same: the flow, its tools, and what the world looks up."""

    definition: FlowDefinition
    tools: Mapping[str, Tool]
    lookups: Mapping[str, Callable[..., Any]]
    attempts: int = 2
    does: tuple[str, ...] = ()
    """The tools whose effect stands once where a run is completed."""
    consents: int = 1
    """How many have to agree before what lasts is done."""

    def limits(self, task: Task) -> CallLimits:
        """How often a call may be made, and whether it writes."""
        writes = self.tools[task.name].writes if task.name in self.tools else False
        return CallLimits(attempts=self.attempts, writes=writes)


@dataclass(frozen=True)
class RunWorld:
    """One state. `faults` and `again` are how much may go wrong yet, `intents` what is wished."""

    setting: Setting
    now: datetime
    run: Run
    intents: tuple[Intent, ...]
    faults: int = 0
    again: int = 0
    anew: int = 0
    flight: tuple[Request, ...] = ()
    known: tuple[tuple[str, str], ...] = ()
    """Updates that Temporal knows in this workflow run, with their answers."""
    decided: tuple[tuple[str, AmendmentTaken], ...] = ()
    told: tuple[tuple[str, str], ...] = ()
    ledger: Ledger = field(default_factory=Ledger)
    out: Out = field(default_factory=Out)
    tries: tuple[tuple[str, int], ...] = ()
    hanging: tuple[Task, ...] = ()
    """Tries that were given up and aren't dead."""
    published: Published = field(default_factory=Published)
    late: tuple[Published, ...] = ()
    """Publications that were given up, and may be made yet."""
    erasures: int = 0
    """How often its requester may be erased yet, with all that goes on."""
    erased: bool = False
    lapses: int = 0
    """How often Temporal may be made to forget an event whose rows are written."""
    lapsed: bool = False
    """True since it did, until the run's next event."""
    # What the promises are about; nobody decides anything by it.
    answers: tuple[tuple[str, str], ...] = ()
    """What each request was answered, in words, once it was."""
    agreed: tuple[tuple[str, str], ...] = ()
    """Each approver who agreed to something, with that as they were shown it."""
    verdicts: tuple[tuple[str, str], ...] = ()
    """The verdict that an approver was told is taken, by approval."""
    amended: tuple[tuple[str, Any], ...] = ()
    """What the last change that its requester was told is made says."""
    cancelled: bool = False
    unsure: bool = False
    """Whether somebody was told that a call's outcome is unknown."""

    @property
    def key(self) -> bytes:
        """Everything that anything depends on; not when it was, nor how it was worded."""
        behind = self.published.listed != publication.as_listed(self.run)
        published = (self.published.status, self.published.approvals, behind)
        parts = (
            self.now.isoformat(),
            self.run.model_dump_json(exclude={"history", "events", "requester", "times_asked"}),
            [intent.name for intent in self.intents],
            (self.faults, self.again, self.anew, self.cancelled, self.unsure),
            sorted((request.id, request.event.model_dump_json()) for request in self.flight),
            (self.known, sorted(id_ for id_, _ in self.decided), self.told),
            (self.ledger.rows, sorted(self.out.effects), self.out.refused, self.tries),
            [task.id for task in self.hanging],
            (published, [(late.status, late.approvals) for late in self.late]),
            (
                self.erasures,
                self.erased,
                self.published.wordless,
                self.lapses,
                self.lapsed,
                self._ahead,
            ),
            (self.answers, self.agreed, self.verdicts, self.amended),
        )
        return hashlib.blake2b(repr(parts).encode(), digest_size=16).digest()

    def moves(self) -> Iterator[tuple[str, Callable[[], "RunWorld"]]]:
        """What can happen; a request of a person's whose eyes are behind is one of them."""
        yield from self._late()
        yield from self._given_up()
        if self.erased:
            return
        yield from self._wishes()
        yield from self._arrivals()
        yield from self._publications()
        yield from self._tries()
        yield from self._time()
        if self.erasures:
            yield "alice is erased", self._erase

    def _wishes(self) -> Iterator[tuple[str, Callable[[], "RunWorld"]]]:
        for place, intent in enumerate(self.intents):
            event = intent.event(self)
            if event is not None:
                left = self.intents[:place] + self.intents[place + 1 :]
                request = Request(intent.name, intent.way, event)
                sent = replace(self, intents=left, flight=(*self.flight, request))
                yield f"{intent.name} is sent", partial(_same, sent)

    def _arrivals(self) -> Iterator[tuple[str, Callable[[], "RunWorld"]]]:
        for place, request in enumerate(self.flight):
            rest = self.flight[:place] + self.flight[place + 1 :]
            yield f"{request.id} arrives", partial(self.arrive, request, rest)
            if self.again:
                more = replace(self, again=self.again - 1)
                name = f"{request.id} arrives, and will come again"
                yield name, partial(more.arrive, request, self.flight)
            if self.lapses:
                yield from self._forgotten(request, rest)

    def _forgotten(
        self, request: Request, rest: tuple[Request, ...]
    ) -> Iterator[tuple[str, Callable[[], "RunWorld"]]]:
        """It arrives and is published, with what comes at once after it, and then never was."""
        after = self.arrive(request, rest)
        tasks = [(request.id, after)]
        for place, second in enumerate(rest):
            both = after.arrive(second, rest[:place] + rest[place + 1 :])
            tasks.append((f"{request.id}, and then {second.id}", both))
        for name, world in tasks:
            if not world.behind or world.run.status in ENDED:
                continue  # a row that says that a run has ended is set back by `reconcile` alone
            rows = replace(world._publication(), listed=self.published.listed)
            before = replace(self, lapses=self.lapses - 1, published=rows, lapsed=True)
            forgotten = f"{name}: published, and forgotten by Temporal"
            yield f"{forgotten}; they come again", partial(_same, before)
            yield forgotten, partial(_same, replace(before, flight=world.flight))

    def _tries(self) -> Iterator[tuple[str, Callable[[], "RunWorld"]]]:
        for task in self.run.work.tasks.values():
            if task.kind == "lookup":
                yield f"{task.name} is looked up", partial(self._looked_up, task)
                continue
            yield f"{task.id} is done", partial(self.tried, task)
            for crash in FAULTS if self.faults else ():
                fewer = replace(self, faults=self.faults - 1)
                yield f"{task.id}: {crash}", partial(fewer.tried, task, crash)

    def _given_up(self) -> Iterator[tuple[str, Callable[[], "RunWorld"]]]:
        for place, task in enumerate(self.hanging):
            rest = replace(self, hanging=self.hanging[:place] + self.hanging[place + 1 :])
            yield f"{task.id}, given up, goes on", partial(rest.gone_on, task)

    def _time(self) -> Iterator[tuple[str, Callable[[], "RunWorld"]]]:
        due = min((timer.due for timer in self.run.work.timers.values()), default=None)
        for timer in self.run.work.timers.values():
            if timer.due == due:
                later = replace(self, now=max(self.now, timer.due))
                fired = events.Fired(timer=timer.id)
                yield f"{timer.name} comes due", partial(later.take, fired)
        # As `_full` has it: while anything is owed, the workflow run goes on.
        settled = not self.run.work.tasks and not self.behind and self.run.status not in ENDED
        if self.anew and settled:
            yield "continues as new", self._continued

    def _publications(self) -> Iterator[tuple[str, Callable[[], "RunWorld"]]]:
        if self.behind:
            now = self._publication()
            yield "the run is published", partial(self._write, now, reported=True)
            if self.faults:
                fewer = replace(self, faults=self.faults - 1)
                worker = "the worker dies once the run is published"
                yield worker, partial(fewer._write, now, reported=False)
                hung = replace(fewer, late=(*self.late, now))
                yield "a publication hangs", partial(_same, hung)

    def _late(self) -> Iterator[tuple[str, Callable[[], "RunWorld"]]]:
        for place, late in enumerate(self.late):
            rest = replace(self, late=self.late[:place] + self.late[place + 1 :])
            yield "a late publication is made", partial(rest._write, late, reported=False)

    def _erase(self) -> "RunWorld":
        """Its workflow is ended and forgotten, and then its rows have no word of hers any more."""
        status = self.published.status if self.published.status in ENDED else "cancelled"
        closed = tuple(replace(row, active=False) for row in self.published.approvals)
        left = Published(LAST_EVENT, status, self.published.listed, closed, wordless=True)
        return replace(self, published=left, erased=True, erasures=0, flight=(), intents=())

    @property
    def behind(self) -> bool:
        return self.published.listed != publication.as_listed(self.run)

    @property
    def _ahead(self) -> int | None:
        """By how much what is on record is ahead of the run, if it isn't of its past."""
        kept: Any = self.published
        number = flow_runs._ahead(kept, _as_kept(self.run))
        return None if number is None else number - self.run.events

    def _publication(self) -> Published:
        rows = publication.approvals_of(self.setting.definition, self.run, self.run.id)
        listed = publication.as_listed(self.run)
        about = (self.run.events, self.run.status, listed, tuple(map(Row.of, rows)))
        return Published(*about, history=_past(self.run))

    def _write(self, news: Published, *, reported: bool) -> "RunWorld":
        if reported and self._ahead is not None and self.published.status not in ENDED:
            number = self.published.events + 1
            return replace(self, run=self.run.model_copy(update={"events": number}))
        kept = news if published_over(self.published, news) else self.published
        listed = news.listed if reported else self.published.listed
        return replace(self, published=replace(kept, listed=listed))

    def published_now(self) -> "RunWorld":
        """The world with the run's rows as it stands."""
        return self._write(self._publication(), reported=True)

    def take(self, event: AnyEvent) -> "RunWorld":
        """The world after the machine's step, with what the promises have to know of it."""
        run, effects = machine.step(self.setting.definition, self.run, event, self.now)
        made = tuple(e for e in effects if isinstance(e, events.AmendmentJudged) and e.why is None)
        unsure = self._is_unsure(event)
        new = {line.event for line in run.history[len(self.run.history) :]}
        if unsure and self.run.work.ending is not None and "unknown" not in new:
            raise BrokenPromise(TOLD, f"{event!r} came back to a run that was being taken back")
        live = {task.id for task in run.work.tasks.values()}
        tries = tuple(one for one in self.tries if one[0] in live)
        after = replace(self, run=run, unsure=self.unsure or unsure, tries=tries, lapsed=False)
        if made and isinstance(event, events.Amended) and not made[0].problems:
            after = replace(after, amended=tuple(sorted(event.slots.items())))
        if isinstance(event, events.Decided) and event.verdict == "approve":
            shown = self.run.approvals.current.summary.items() if self.run.approvals.current else ()
            seen = canonical({name: text.en for name, text in shown})
            after = replace(after, agreed=(*self.agreed, (event.by or "", seen)))
        return after

    def _is_unsure(self, event: AnyEvent) -> bool:
        task = self.run.work.tasks.get(event.task) if isinstance(event, events.Failed) else None
        if task is None or task.kind != "call" or not isinstance(event, events.Failed):
            return False
        return event.kind in incidents.WORTH_ANOTHER_TRY

    # People.

    def arrive(self, request: Request, rest: tuple[Request, ...]) -> "RunWorld":
        """The world after the request has come to the workflow, and its answer to whoever asked."""
        before = dict(self.known).get(request.id)
        if before is not None:
            return replace(self, flight=rest).answered(request, before)
        if self.run.status in ENDED:
            return replace(self, flight=rest)
        if (noted := dict(self.decided).get(request.id)) is not None:
            return replace(self, flight=rest).heard(request, f"{noted.status} in {noted.state}")
        if (told_before := dict(self.told).get(request.id)) is not None:
            return replace(self, flight=rest).heard(request, told_before)
        if self._refuses(request):
            return replace(self, flight=rest)
        after = replace(self.take(request.event), flight=rest)
        said = f"{after.run.status} in {after.run.state}"
        if request.way == "tell":
            told = workflow.with_answer(dict(self.told), request.id, said, workflow.MOST_TOLD)
            after = replace(after, told=tuple(told.items()))
        else:
            taken = AmendmentTaken(status=after.run.status, state=after.run.state)
            decided = workflow.with_answer(
                dict(self.decided), request.id, taken, workflow.MOST_DECIDED
            )
            after = replace(after, decided=tuple(decided.items()))
        return after.heard(request, said)

    def _refuses(self, request: Request) -> bool:
        definition, run, event = self.setting.definition, self.run, request.event
        match event:
            case events.Decided() | events.Retried() | events.Reassigned():
                return machine.refusal_of(definition, run, event, self.now) is not None
            case events.Arrived():
                return waiting.refusal(definition, run, event, ["employee"]) is not None
            case events.Amended() if request.way == "amend":
                return amendment.refusal(definition, run) is not None
            case events.Cancelled() | events.Amended():
                return False
        return bool(run.work.tasks) and not run.approvals.asks_to_amend

    def heard(self, request: Request, said: str) -> "RunWorld":
        """Temporal knows the update from now on, with its answer."""
        return replace(self, known=(*self.known, (request.id, said))).answered(request, said)

    def answered(self, request: Request, said: str) -> "RunWorld":
        """Whoever asked has the answer."""
        told = dict(self.answers)
        first = request.id not in told
        if told.get(request.id, said) != said:
            raise BrokenPromise(
                SAME, f"{request.id} was answered {told[request.id]!r}, then {said!r}"
            )
        after = replace(self, answers=tuple(sorted((told | {request.id: said}).items())))
        event = request.event
        if first and isinstance(event, events.Decided) and event.verdict in FINAL:
            after = replace(after, verdicts=(*self.verdicts, (event.approval, event.verdict)))
        if first and isinstance(event, events.Cancelled):
            after = replace(after, cancelled=True)
        return after

    def _continued(self) -> "RunWorld":
        run = Run.model_validate_json(self.run.model_dump_json())
        return replace(self, run=run, known=(), anew=self.anew - 1)

    # The world.

    def _looked_up(self, task: Task) -> "RunWorld":
        value = self.setting.lookups[task.name](*task.positional)
        return self.take(events.LookedUp(task=task.id, value=value))

    def tried(self, task: Task, fault: str = "") -> "RunWorld":
        """The world after one try of the call, which may go wrong in one way."""
        limits, tool = self.setting.limits(task), self.setting.tools[task.name]
        tries = dict(self.tries).get(task.id, 0) + 1
        world = replace(self, tries=tuple(sorted((dict(self.tries) | {task.id: tries}).items())))
        try:
            sent = Try(tool, task, self.ledger, self.out, fault).sent(self.run)
        except Crash as crash:
            hanging = (*self.hanging, task) if fault == HANGS else self.hanging
            world = replace(world, ledger=crash.ledger, out=crash.out, hanging=hanging)
            if tries < limits.attempts:
                return world
            return world._failed(
                task, TimedOut("no sign of life", type=None, last_heartbeat_details=[])
            )
        world = replace(world, ledger=sent.ledger, out=sent.out)
        if sent.error is None:
            lasts = limits.writes
            called = events.Called(task=task.id, value=sent.value, lasts=lasts, attempts=tries)
            return world.take(called)
        failure = to_failure(sent.error)
        if not failure.non_retryable and tries < limits.attempts:
            return world
        return world._failed(task, failure)

    def gone_on(self, task: Task) -> "RunWorld":
        """The world after a try that was given up has come to its end all the same."""
        tool = self.setting.tools[task.name]
        sent = Try(tool, task, self.ledger, self.out, GOES_ON).sent(self.run)
        return replace(self, ledger=sent.ledger, out=sent.out)

    def _failed(self, task: Task, why: BaseException) -> "RunWorld":
        failure = ActivityError(
            "failed",
            scheduled_event_id=0,
            started_event_id=0,
            identity="",
            activity_type="call",
            activity_id=task.id,
            retry_state=None,
        )
        failure.__cause__ = why
        limits = self.setting.limits(task)
        about = (task, failure, self.setting.definition, self.run, limits)
        return self.take(tasks.came_to_nothing(*about))


TOLD = "what may have been done is said"
SAME = "the same request has the same answer"
FINAL = ("approve", "reject", "return")


def _past(run: Run) -> tuple[tuple[str, str | None, datetime], ...]:
    return tuple((line.event, line.by, line.at) for line in run.history)


def _as_kept(run: Run) -> Any:
    return SimpleNamespace(events=run.events, history=_past(run))


def published_over(kept: Published, news: Published) -> bool:
    """Whether the database takes what is published: not what is older than what it has."""
    if kept.status in ENDED and kept.status != news.status:
        return False
    return kept.events <= news.events


def _same(world: RunWorld) -> RunWorld:
    return world
