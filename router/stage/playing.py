"""Playing a story: act, wait until all is quiet, look, compare."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from time import monotonic
from typing import Any
from zoneinfo import ZoneInfo

from router.contracts.flow import VIEW
from router.domain.errors import NotFound, RouterError, Unavailable
from router.domain.messages import ENDED
from router.domain.records import ApprovalRecord, LogEntry, RunRecord
from router.flow.view import FlowView
from router.stage.acting import Actor
from router.stage.house import House
from router.stage.quiet import settled
from router.story.coverage import Taken, taken_in
from router.story.judging import Mismatch, Seen, Standing, judge
from router.story.steps import AnyStep, BotSays, RunStands, Story, ToolCalled, ToolsFail
from router.story.telling import Divergence, Outcome

MOST_LINES = 2_000


@dataclass
class Played:
    """What became of a story, and what of each flow it came through."""

    outcome: Outcome
    taken: dict[str, Taken] = field(default_factory=dict)


async def play(house: House, story: Story, tenant: str) -> Played:
    """Play it, up to the first step that doesn't come out as expected.

    `tenant` is the story's own, which no other may have had.

    Raises:
        NotFound: the directory has nobody of the name of the one who talks.
    """
    user = await house.parts.directory.find(tenant, story.user)
    if user is None:
        raise NotFound(f"the directory has nobody called {story.user!r}")
    zone = ZoneInfo(user.timezone)
    now = story.now if story.now.tzinfo else story.now.replace(tzinfo=zone)
    house.shifts[tenant] = now - await house.environment.get_current_time()
    house.books[tenant].failing.update(story.failing)
    player = _Player(house, Actor(house, user, story.locale or user.locale))
    began = monotonic()
    try:
        await player.actor.open()
        divergence = await player.play(story)
        seconds = monotonic() - began
        return Played(Outcome(story, seconds, divergence), await player.taken())
    finally:
        await player.actor.close()


class _Player:
    def __init__(self, house: House, actor: Actor) -> None:
        self.house = house
        self.actor = actor
        self._seen = Seen()
        self._read = 0
        self._gave_way = False

    async def play(self, story: Story) -> Divergence | None:
        for number, step in enumerate(story.steps, start=1):
            mismatch = await self._take(step)
            if mismatch is not None:
                steps, said = story.steps[:number], tuple(self._seen.said)
                return Divergence(steps, mismatch, said, self._seen.standing, self._gave_way)
        return None

    async def _take(self, step: AnyStep) -> Mismatch | None:
        if isinstance(step, BotSays | RunStands | ToolCalled):
            return judge(step, self._seen)
        if isinstance(step, ToolsFail):
            # It is no event: what was said before it can still be expected.
            await self.actor.act(step)
            return None
        self._seen = Seen(standings=self._seen.standings)
        try:
            await self.actor.act(step)
            book = self.house.books[self.actor.user.tenant]
            await settled(self.house.client, self.actor.workflows, book.hopeless)
        except RouterError as error:
            self._gave_way = isinstance(error, Unavailable)
            await self._look()
            return Mismatch([str(step)], [f"it was refused: {error}"])
        await self._look()
        return None

    async def _look(self) -> None:
        """See what was said since, where the runs stand, and what was called."""
        tenant, store = self.actor.user.tenant, self.house.parts.store
        talk = self.actor.conversation
        lines = await store.log.transcript(tenant, talk, self._read, MOST_LINES)
        self._read = max([self._read, *(line.sequence or 0 for line in lines)])
        self._seen.said += [said for line in lines for said in spoken(line)]
        self._seen.calls = self.house.books[tenant].calls
        waiting = await self.actor.waiting()
        found = await self.actor.runs()
        self._seen.standings = [await self._standing(run, waiting) for run in found]

    async def _standing(self, run: RunRecord, waiting: list[ApprovalRecord]) -> Standing:
        """As its workflow has it: what is being filled in is published only later."""
        if run.status in ENDED:
            return Standing(run.flow, run.status, run.state, run.slots)
        handle = self.house.client.get_workflow_handle(run.workflow_id)
        view: FlowView = await handle.query(VIEW, result_type=FlowView)
        return Standing(
            flow=run.flow,
            status=view.status,
            state=view.state,
            slots=view.slots,
            awaiting=tuple(view.awaiting),
            approvers=tuple(each.person for each in waiting if each.run == run.id),
        )

    async def taken(self) -> dict[str, Taken]:
        """By flow, what the story's runs came through; forms of tools are no flows of a file."""
        found: dict[str, Taken] = {}
        for run in await self.actor.runs():
            definition = self.house.catalog.get(run.flow)
            if definition is not None:
                earlier = found.get(run.flow, Taken())
                found[run.flow] = earlier | taken_in(definition, run.history)
        return found


def spoken(line: LogEntry) -> Iterable[str]:
    """What the desk says in a line of the transcript, as people see it.

    Of each reply its words, and then what can be chosen.
    """
    if line.data.get("role") != "assistant":
        return []
    replies = line.data.get("replies")
    if not isinstance(replies, list):
        return [str(line.data.get("text", ""))]
    return [_reply(reply) for reply in replies if isinstance(reply, dict)]


def _reply(reply: Mapping[str, Any]) -> str:
    options = [f"[{option['label']}]" for option in reply.get("options") or ()]
    return "\n".join([str(reply.get("text", "")), *([" ".join(options)] if options else [])])
