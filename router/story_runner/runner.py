"""Running stories: act, wait until all is quiet, look, compare; and what came of all.

Acts go the same ways that the API goes. Time passes on the test server, whose clock may skip while
nobody holds a lock on it; tasks under way hold one each. Now and then the server forgets to let go
of one (seen with 1.40, once in some twenty stories on a busy machine: nothing is pending in any
workflow, and the clock goes on at its usual pace). Then one is let go of in its place.
"""

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from itertools import product
from pathlib import Path
from time import monotonic
from typing import Any, Self
from uuid import uuid4
from zoneinfo import ZoneInfo

from temporalio.api.testservice.v1 import UnlockTimeSkippingRequest
from temporalio.client import WithStartWorkflowOperation
from temporalio.common import WorkflowIDConflictPolicy, WorkflowIDReusePolicy
from temporalio.service import RPCError, RPCStatusCode
from temporalio.testing import WorkflowEnvironment

from router.contracts import conversation
from router.contracts.conversation import ConversationStart, Submission
from router.contracts.flow import VIEW
from router.directory.sources import people_of
from router.domain.errors import Conflict, NotFound, RouterError, Unavailable
from router.domain.locale import Locale, Localised
from router.domain.messages import ENDED, ConfirmAction, Message, Turn
from router.domain.principals import Principal
from router.domain.records import ApprovalRecord, ConversationRecord, LogEntry, RunRecord
from router.flow.catalog import Catalog
from router.flow.engine.events import Arrived, Cancelled, Decided, Nudged
from router.flow.view import FlowView
from router.gateway import run_updates
from router.runtime.definitions import load_catalog, load_registry
from router.settings import Settings
from router.settings.sample import sample_folder
from router.story.coverage import Coverage, TakenTransitions, coverages, taken_in
from router.story.entries import (
    ASKED_THEN,
    AfterStep,
    ApproverStep,
    EventStep,
    Expectation,
    NudgeStep,
    StepEntry,
    StoryNames,
    ToolAnswersStep,
    ToolFailsStep,
    ToolsStep,
    UserStep,
    WithdrawStep,
)
from router.story.expectations import (
    Divergence,
    Mismatch,
    Seen,
    ShownCard,
    Standing,
    StoryOutcome,
    judge,
)
from router.story.loader import load_stories
from router.story.story import Story, StoryStep
from router.story_runner.environment import Environment, kept_down, opened
from router.story_runner.quiescence import due_next, settled

AT_ONCE = timedelta(days=7)
"""A call that takes long is given up by the client, and every timer on the way takes its time."""
STUCK_AFTER = 2.0
"""Seconds of real time; a week takes a tenth of that."""
MOST_LOOKS = 15


async def skip(environment: WorkflowEnvironment, duration: timedelta) -> None:
    """Return when so much time has passed; raises `Unavailable` where the clock stands."""
    while duration > timedelta():
        part = min(duration, AT_ONCE)
        await _skip(environment, part)
        duration -= part


async def _skip(environment: WorkflowEnvironment, part: timedelta) -> None:
    sleeping = asyncio.ensure_future(environment.sleep(part))
    server = environment.client.test_service
    try:
        for _ in range(MOST_LOOKS):
            before = await environment.get_current_time()
            await asyncio.wait([sleeping], timeout=STUCK_AFTER)
            if sleeping.done():
                return await sleeping
            moved = await environment.get_current_time() - before
            if moved < 2 * timedelta(seconds=STUCK_AFTER):
                await server.unlock_time_skipping(UnlockTimeSkippingRequest())
    except RPCError as error:
        raise Unavailable(f"the test server can't skip {part}: {error}; try again") from error
    finally:
        sleeping.cancel()
    raise Unavailable(f"the test server's clock doesn't get through {part}: try again")


MOST_RUNS = 200


class Actor:
    """Acts in one story: its user, approvers, time, tools; a refusal is a `RouterError`."""

    def __init__(self, house: Environment, queue: str, user: Principal, locale: Locale) -> None:
        self.house = house
        self.queue = queue
        self.user = user
        self.locale = locale
        self.conversation = uuid4().hex[:12]

    async def open(self) -> None:
        """Begin the conversation."""
        record = ConversationRecord(
            id=self.conversation,
            tenant=self.user.tenant,
            owner=self.user.id,
            locale=self.locale,
            created_at=datetime.now(UTC),
        )
        await self.house.parts.store.conversations.create(record)

    async def act(self, step: StepEntry) -> None:
        """Do it; returns when it was taken, not when all that follows from it is done."""
        match step:
            case UserStep():
                await self._send(step.user)
            case ApproverStep():
                await self._decide(step)
            case AfterStep():
                await skip(self.house.environment, step.after)
            case ToolFailsStep():
                self.house.add_stand_ins(step.tool_fails)
                self.house.books[self.user.tenant].failing.update(step.tool_fails)
            case ToolAnswersStep():
                self.house.add_stand_ins(step.tool_answers)
                self.house.books[self.user.tenant].answers.update(step.tool_answers)
            case WithdrawStep():
                # Where that is locked, a story goes on to see that nothing has changed.
                with suppress(run_updates.RunLocked):
                    await self._tell(Cancelled(by=self.user.id, comment=step.comment))
            case NudgeStep():
                await self._tell(Nudged(by=self.user.id))
            case EventStep():
                await self._happen(step)

    async def close(self) -> None:
        """End what is left, lest its timers ring in the next story."""
        for id_ in await self.workflows():
            try:
                await self.house.client.get_workflow_handle(id_).terminate("the story is over")
            except RPCError as error:
                if error.status != RPCStatusCode.NOT_FOUND:
                    raise

    async def workflows(self) -> list[str]:
        """The ids of all that belong to the story, the conversation's last."""
        own = conversation.workflow_id(self.user.tenant, self.conversation)
        return [*(run.workflow_id for run in await self.runs()), own]

    async def runs(self) -> list[RunRecord]:
        """All runs of the story, newest first."""
        runs = self.house.parts.store.runs
        found, _ = await runs.listed(self.user.tenant, None, None, None, None, MOST_RUNS)
        return found

    async def waiting(self) -> list[ApprovalRecord]:
        """All decisions that are awaited, the longest awaited first."""
        ids = [run.id for run in await self.runs()]
        return await self.house.parts.store.runs.awaited(self.user.tenant, ids)

    async def _answering(self, message: Message) -> Message:
        """The message, whose yes or no is to what is asked now: a story names no question."""
        action = message.action
        if not isinstance(action, ConfirmAction) or action.question != ASKED_THEN:
            return message
        id_ = conversation.workflow_id(self.user.tenant, self.conversation)
        handle = self.house.client.get_workflow_handle(id_)
        standing = await handle.query(
            conversation.STATUS, result_type=conversation.ConversationStatus
        )
        asked = standing.asked.question if standing.asked else None
        named = action.replace(question=asked or ASKED_THEN)
        return message.replace(action=named)

    async def _send(self, said: Message) -> None:
        message = await self._answering(said)
        name, tenant = uuid4().hex, self.user.tenant
        await self.house.client.execute_update_with_start_workflow(
            conversation.SUBMIT,
            Submission(message_id=name, message=message, caller=self.user),
            start_workflow_operation=WithStartWorkflowOperation(
                conversation.WORKFLOW,
                ConversationStart(
                    tenant=tenant,
                    conversation=self.conversation,
                    owner=self.user.id,
                    locale=self.locale,
                ),
                id=conversation.workflow_id(tenant, self.conversation),
                task_queue=self.queue,
                id_conflict_policy=WorkflowIDConflictPolicy.USE_EXISTING,
                id_reuse_policy=WorkflowIDReusePolicy.ALLOW_DUPLICATE,
            ),
            id=conversation.update_id(name, message.digest),
            result_type=Turn,
        )

    async def _decide(self, step: ApproverStep) -> None:
        waiting = await self.waiting()
        theirs = [approval for approval in waiting if approval.person == step.approver]
        if not theirs:
            others = ", ".join(f"{one.person} ({one.flow})" for one in waiting)
            zh = f"没有什么在等 {step.approver} 决定；在等的是 {others or '没有人'}"
            en = f"nothing waits for {step.approver}; waited for is {others or 'nobody'}"
            raise NotFound(Localised(zh=zh, en=en))
        event = Decided(
            by=step.approver,
            approval=theirs[0].id,
            verdict=step.decides,
            comment=step.comment,
            to=step.to,
            digest=theirs[0].digest,
        )
        await run_updates.decide(self.house.client, theirs[0], event, uuid4().hex)

    async def _tell(self, event: Cancelled | Nudged) -> None:
        going = [run for run in await self.runs() if run.status not in ENDED]
        if not going:
            raise Conflict(Localised(zh="没有正在办理的流程", en="no flow is going on"))
        await run_updates.tell(self.house.client, going[0], self.user, event, uuid4().hex)

    async def _happen(self, step: EventStep) -> None:
        """Tell the newest run that is to hear of it, in the name of somebody who may."""
        client, people = self.house.client, self.house.parts.directory.everyone(self.user.tenant)
        for run, teller in product(await self.runs(), people):
            with suppress(NotFound):
                await run_updates.event_known(client, run, teller, step.event.name)
                break
        else:
            zh = f"正在办理的流程里没有在等事件 {step.event.name} 的"
            en = f"nothing that is going on waits for the event {step.event.name}"
            raise NotFound(Localised(zh=zh, en=en))
        event = Arrived(by=teller.id, name=step.event.name, value=step.event.model_extra or {})
        await run_updates.happen(client, run, teller, event)


MOST_LINES = 2_000


@dataclass
class Played:
    """What became of a story, and what of each flow it came through."""

    outcome: StoryOutcome
    taken: dict[str, TakenTransitions] = field(default_factory=dict)


async def play(house: Environment, story: Story, tenant: str) -> Played:
    """Play it, up to the first step that doesn't come out as expected.

    `tenant` is the story's own, which no other may have had. Raises `NotFound` where the directory
    has nobody of the name of the one who talks.
    """
    began = monotonic()
    performance = await Performance.begun(house, story, tenant)
    try:
        divergence = await performance.play(story)
        seconds = monotonic() - began
        return Played(StoryOutcome(story, seconds, divergence), await performance.taken())
    finally:
        await performance.close()


class Performance:
    """A story on its way, step after step: what is done, and what there is to see of it."""

    def __init__(self, house: Environment, actor: Actor) -> None:
        self.house = house
        self.actor = actor
        self.seen = Seen()
        """Since the last act; runs and calls since the beginning."""
        self.refused: RouterError | None = None
        """Why the last act that wasn't taken wasn't."""
        self._read = 0
        self._heard: dict[str, int] = {}

    @classmethod
    async def begun(cls, house: Environment, story: Story, tenant: str) -> Self:
        """One in which nothing has happened yet; raises as `play`. It is to be closed."""
        user = await house.parts.directory.find(tenant, story.user)
        if user is None:
            raise NotFound(f"the directory has nobody called {story.user!r}")
        zone = ZoneInfo(user.timezone)
        now = story.now if story.now.tzinfo else story.now.replace(tzinfo=zone)
        house.shifts[tenant] = now - await house.environment.get_current_time()
        flows = house.catalog.flows.values()
        of_flows = {name for flow in flows for kind, name in flow.needs if kind == "tool"}
        house.add_stand_ins({*of_flows, *story.failing, *story.answers})
        house.books[tenant].failing.update(story.failing)
        house.books[tenant].answers.update(story.answers)
        actor = Actor(house, house.ready_for(story), user, story.locale or user.locale)
        await actor.open()
        return cls(house, actor)

    def answer(self, answers: Mapping[str, Any]) -> None:
        """Have tools answer this from now on."""
        self.house.books[self.actor.user.tenant].answers.update(answers)

    async def due(self) -> datetime | None:
        """When something next happens by itself, in the story's time; None where nothing does."""
        going = (run for run in await self.actor.runs() if run.status not in ENDED)
        handles = [self.house.client.get_workflow_handle(run.workflow_id) for run in going]
        due = [due_next((await handle.fetch_history()).events) for handle in handles]
        first = min(filter(None, due), default=None)
        return first and first + self.house.shifts[self.actor.user.tenant]

    async def close(self) -> None:
        """Let nothing of it go on."""
        await self.actor.close()

    @property
    def gave_way(self) -> bool:
        """True where what it is played on failed, and not the story."""
        return isinstance(self.refused, Unavailable)

    async def play(self, story: Story) -> Divergence | None:
        """Take every step, up to the first that doesn't come out as expected."""
        for number, step in enumerate(story.steps, start=1):
            mismatch = await self.take(step)
            if mismatch is not None:
                steps, said = story.steps[:number], tuple(self.seen.said)
                return Divergence(steps, mismatch, said, self.seen.standing, self.gave_way)
        return None

    async def take(self, step: StoryStep) -> Mismatch | None:
        """Take a step; what speaks against it, or None."""
        entry = step.entry
        if isinstance(entry, Expectation):
            return judge(entry, self.seen)
        if isinstance(entry, ToolsStep):
            # It is no event: what was said before it can still be expected.
            await self.actor.act(entry)
            return None
        self.seen = Seen(standings=self.seen.standings, calls=self.seen.calls)
        model = self.house.model
        model.expect(entry.model if isinstance(entry, UserStep) else ())
        try:
            await self.actor.act(entry)
            book = self.house.books[self.actor.user.tenant]
            await settled(self.house.client, self.actor.workflows, book.hopeless)
        except RouterError as error:
            self.refused = error
            await self._look()
            return Mismatch([str(step)], [_refused(error)])
        await self._look()
        return model.mismatch()

    async def _look(self) -> None:
        """See what was said since, where the runs stand, and what was called."""
        tenant, store = self.actor.user.tenant, self.house.parts.store
        talk = self.actor.conversation
        lines = await store.log.transcript(tenant, talk, self._read, MOST_LINES)
        self._read = max([self._read, *(line.sequence or 0 for line in lines)])
        self.seen.said += [said for line in lines for said in spoken(line)]
        self.seen.replies += [reply for line in lines for reply in replies_of(line)]
        self.seen.calls = self.house.books[tenant].calls
        waiting = await self.actor.waiting()
        found = await self.actor.runs()
        self.seen.standings = [await self._standing(run, waiting) for run in found]
        self.seen.cards = await self._cards(waiting)
        for person in self.house.parts.directory.everyone(tenant):
            rows = await store.log.news(
                tenant, person.id, self._heard.get(person.id, 0), MOST_LINES
            )
            told = [row for row in rows if row.kind == "approval"]
            self.seen.told += [(person.id, str(row.data["reason"])) for row in told]
            heard = (row.sequence or 0 for row in rows)
            self._heard[person.id] = max([self._heard.get(person.id, 0), *heard])

    async def _cards(self, waiting: Sequence[ApprovalRecord]) -> list[ShownCard]:
        """What waits, as those read it who decide."""
        parts, tenant = self.house.parts, self.actor.user.tenant
        before = await parts.store.runs.shown_before(tenant, [each.run for each in waiting])
        found = []
        for each in waiting:
            person = await parts.directory.find(tenant, each.person)
            locale = person.locale if person else self.actor.locale
            changes = each.changes_since(before.get(each.run, each), locale)
            changed = {change.label: (change.before, change.now) for change in changes}
            found.append(ShownCard(each.person, each.summary_in(locale), changed))
        return found

    async def _standing(self, run: RunRecord, waiting: list[ApprovalRecord]) -> Standing:
        """As its workflow has it: what is being filled in is published only later."""
        looks_up = run.flow in self.house.offered.look_ups()
        if run.status in ENDED:
            return Standing(run.flow, run.status, run.state, run.slots, looks_up=looks_up)
        handle = self.house.client.get_workflow_handle(run.workflow_id)
        view: FlowView = await handle.query(VIEW, result_type=FlowView)
        return Standing(
            flow=run.flow,
            status=view.status,
            state=view.state,
            slots=view.slots,
            awaiting=tuple(view.awaiting),
            approvers=tuple(each.person for each in waiting if each.run == run.id),
            looks_up=looks_up,
        )

    async def taken(self) -> dict[str, TakenTransitions]:
        """By flow, what the story's runs came through; forms of tools are no flows of a file."""
        found: dict[str, TakenTransitions] = {}
        for run in await self.actor.runs():
            definition = self.house.catalog.get(run.flow)
            if definition is not None:
                earlier = found.get(run.flow, TakenTransitions())
                found[run.flow] = earlier | taken_in(definition, run.history)
        return found


def _refused(error: RouterError) -> Localised:
    return Localised(zh=f"被拒绝：{error.said.zh}", en=f"it was refused: {error}")


def spoken(line: LogEntry) -> Iterable[str]:
    """What the desk says in a line of the transcript: words, then what can be chosen."""
    return [_reply(reply) for reply in replies_of(line)]


def replies_of(line: LogEntry) -> list[dict[str, Any]]:
    """The desk's replies in a line of the transcript, as REST has them."""
    if line.data.get("role") != "assistant":
        return []
    replies = line.data.get("replies")
    if not isinstance(replies, list):
        return [{"type": "text", "text": str(line.data.get("text", ""))}]
    return [reply for reply in replies if isinstance(reply, dict)]


def _reply(reply: Mapping[str, Any]) -> str:
    options = " ".join(f"[{option['label']}]" for option in reply.get("options") or ())
    return "\n".join([str(reply.get("text", "")), *filter(None, [options])])


OnOutcome = Callable[[StoryOutcome], None]


@dataclass
class Report:
    """What all stories came to."""

    outcomes: list[StoryOutcome] = field(default_factory=list)
    taken: dict[str, TakenTransitions] = field(default_factory=dict)

    @property
    def failed(self) -> list[StoryOutcome]:
        """Those that went another way."""
        return [outcome for outcome in self.outcomes if not outcome.ok]

    def coverage(self, catalog: Catalog, *, whole: bool) -> list[Coverage]:
        """Of the flows that stories took, or of the `whole` catalog."""
        return coverages((flow for flow in catalog if whole or flow.flow in self.taken), self.taken)


def folders_of(settings: Settings) -> list[Path]:
    """Where stories stand that nobody names: `tests` beside the flows, and beside the skills.

    Those of the skills that ship are of the flows that ship, and of no others.
    """
    folders, here = [settings.flows or sample_folder("flows")], Path.cwd()
    if settings.skills or not settings.flows:
        beside = settings.skills or sample_folder("skills")
        folders += [beside] if any(beside.glob("tests/*.yaml")) else []
    every = (folder / "tests" for folder in folders)
    return [one.relative_to(here) if one.is_relative_to(here) else one for one in every]


def chosen(settings: Settings, paths: Sequence[Path], text: str) -> list[Story]:
    """The stories of the paths, or of the house's own folders, whose name or file has the text.

    Raises `DefinitionError` with every problem of every file, and `NotFound` where none has it.
    """
    places = paths or folders_of(settings)
    for place in places:
        if not place.exists():
            raise NotFound(
                f"there are no stories at {place}: name a file of them or a folder, "
                "or pick some by name with -k"
            )
    stories = load_stories(places, known_of(settings))
    wanted = [s for s in stories if text.lower() in f"{Path(s.file).stem} {s.name}".lower()]
    if not wanted:
        raise NotFound(f"no story has {text!r} in its name or its file's: there are {len(stories)}")
    return wanted


def known_of(settings: Settings) -> StoryNames:
    """What stories may name here."""
    registry = load_registry(settings)
    people = people_of(settings).everyone()
    catalog = load_catalog(settings, registry)
    ids = [one.id for one in people]
    return StoryNames(ids, registry.names, catalog.flows, registry.prefixes)


async def run(
    settings: Settings, stories: Iterable[Story], tell: OnOutcome
) -> tuple[Report, Catalog]:
    """Run them on a server of their own, each outcome told at once; raises as `opened`."""
    with kept_down():
        async with opened(settings) as house:
            return await run_in(house, stories, tell), house.catalog


async def run_in(house: Environment, stories: Iterable[Story], tell: OnOutcome) -> Report:
    """The same in a house that is there already."""
    report = Report()
    for story in stories:
        played = await _played(house, story)
        report.outcomes.append(played.outcome)
        for flow, taken in played.taken.items():
            report.taken[flow] = report.taken.get(flow, TakenTransitions()) | taken
        tell(played.outcome)
    return report


async def _played(house: Environment, story: Story) -> Played:
    """What became of it; played once more where the stage gave way, as on a busy machine."""
    # By its number, a tenant that no story had before in a house that may have seen some.
    first = await play(house, story, f"story-{len(house.shifts)}")
    stopped = first.outcome.divergence
    if stopped is None or not stopped.gave_way:
        return first
    second = await play(house, story, f"story-{len(house.shifts)}")
    return replace(second, outcome=replace(second.outcome, earlier=stopped))
