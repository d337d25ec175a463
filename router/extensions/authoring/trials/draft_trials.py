"""Drafts tried for their authors, each author's in a process that has nothing of the house's.

The process is `router.extensions.authoring.trials.process`. It gets neither settings nor secrets,
only what a trial is played on: the tenant's flows with the draft in place, its people, and of tools
what is said of them. It is kept for the author's next step, ends after a while without one, with
the API, and with whatever went wrong; what was played is played anew then.

What is submitted takes no author's place where all are taken: its stories wait in a line of their
own, in which tenants take turns, and are run beside those, one submission after the other.
"""

import asyncio
import logging
import os
import signal
import sys
import time
from asyncio.subprocess import PIPE, Process
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from tempfile import TemporaryDirectory
from weakref import WeakKeyDictionary

from activities.capabilities import Capabilities
from router.api.isolated_work import IsolatedWork
from router.domain.configuration_documents import path_of
from router.domain.errors import (
    DefinitionError,
    FieldProblem,
    InvalidInput,
    TooManyRequests,
    Unavailable,
)
from router.domain.locale import Localised
from router.domain.principals import ALL_NAMES, NameSelection, PeopleDirectory, Principal
from router.extensions.authoring.author_jobs import read_flow_among
from router.extensions.authoring.settings import TrialSettings
from router.extensions.authoring.trials.manuscript import PlayedStory, appended
from router.extensions.authoring.trials.protocol import (
    PlayedTrial,
    StoriesReport,
    TrialAnswer,
    TrialPlay,
    TrialRequest,
    TrialStage,
    TrialStories,
    TrialTool,
)
from router.flow.definition import FlowDefinition
from router.flow.validation.phrases import told
from router.isolation.fair_queue import FairQueue, QueueLimits
from router.isolation.limits import MIB, child_environment
from router.runtime.definitions import vocabulary
from router.tool.tool import Tool

COMMAND = (sys.executable, "-P", "-m", "router.extensions.authoring.trials.process")
LOADING = 60.0
"""Seconds that a process may take until it is ready."""
PATIENCE = 10.0
"""Seconds that a request waits for an earlier one of the same author, or for a place."""
MAX_ANSWER_BYTES = 8 * MIB
_AGAIN = 5
SUBMISSION_LIMITS = QueueLimits(processes=1, waiting_per_tenant=3, wait_seconds=120.0)
"""One submission is run at a time; so many of a tenant's wait for it, for so long."""

_log = logging.getLogger(__name__)


class _Gone(Exception):
    """The process has ended, or has said what can't be read."""

    def __init__(self, status: int | None = None, *, says_too_much: bool = False) -> None:
        super().__init__()
        self.used_too_much = says_too_much or status in _BY_LIMIT
        """True where it has met a limit, which another try would meet too."""


_BY_LIMIT = {-signal.SIGXCPU, -signal.SIGABRT, -signal.SIGTRAP, -signal.SIGILL, -signal.SIGSEGV}


@dataclass
class _TrialProcess:
    """One process, and what it was last given."""

    process: Process
    folder: "TemporaryDirectory[str]"
    stage: TrialStage | None = None

    @classmethod
    async def started(cls, command: Sequence[str]) -> "_TrialProcess":
        """One that is ready; raises `Unavailable` where none can be."""
        folder = TemporaryDirectory(prefix="trial-")
        process = await asyncio.create_subprocess_exec(
            *command,
            stdin=PIPE,
            stdout=PIPE,
            limit=MAX_ANSWER_BYTES,
            cwd=folder.name,  # where no `.env` is
            env={**child_environment(), "TMPDIR": folder.name},
            start_new_session=True,  # its server goes with it, whatever it dies of
        )
        made = cls(process, folder)
        try:
            async with asyncio.timeout(LOADING):
                answer = await made._heard()
        except (TimeoutError, _Gone):
            await made.end()
            raise Unavailable("the process in which drafts are tried doesn't start") from None
        except BaseException:
            await made.end()
            raise
        if answer.refused is not None:
            await made.end()
            raise Unavailable(answer.refused.message)
        _log.info("drafts can be tried in pid %d", process.pid)
        return made

    async def asked(self, stage: TrialStage, request: TrialRequest) -> TrialAnswer:
        """What it answers; raises `_Gone` where it doesn't."""
        anew = stage if self.stage != stage else None
        line = request.replace(stage=anew).model_dump_json()
        assert self.process.stdin is not None  # noqa: S101 - a pipe
        self.process.stdin.write(line.encode() + b"\n")
        with suppress(ConnectionError):
            await self.process.stdin.drain()
        answer = await self._heard()
        # It may have been the stage that was refused.
        self.stage = stage if answer.refused is None else None
        return answer

    async def _heard(self) -> TrialAnswer:
        assert self.process.stdout is not None  # noqa: S101 - a pipe
        try:
            line = await self.process.stdout.readline()
        except ValueError:  # the line is longer than `MAX_ANSWER_BYTES`
            self._kill()
            # Its end isn't noticed before the rest of what it has said is read.
            while await self.process.stdout.read(MIB):
                pass
            raise _Gone(says_too_much=True) from None
        try:
            return TrialAnswer.model_validate_json(line)
        except ValueError:
            is_over = self.process.stdout.at_eof()
            raise _Gone(await self.process.wait() if is_over else None) from None

    async def end(self) -> None:
        """End it at once, and all that it has started: there is nothing that it could lose."""
        try:
            self._kill()
            # Its output may be read by whoever still waits for an answer, and learns that so.
            await self.process.wait()
        finally:
            await asyncio.to_thread(self.folder.cleanup)

    def _kill(self) -> None:
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)


@dataclass
class _Place:
    """An author's: who it is, their process where it is there, and who waits for it."""

    tenant: str
    author: str
    turn: asyncio.Lock = field(default_factory=asyncio.Lock)
    process: _TrialProcess | None = None
    used: float = 0.0
    going: asyncio.TimerHandle | None = None

    async def clear(self) -> None:
        """End the process."""
        held, self.process = self.process, None
        if held is not None:
            await held.end()


class DraftTrials:
    """Tries drafts for authors.

    Args:
        offered: what every tenant has.
        directory: who every tenant's people are.
        settings: how many processes there may be, and for how long.
        command: what is run.
        work: what reads drafts in a child process; by default one of its own.
        author_tools: the tools that a tenant's authors may use; by default all.
    """

    def __init__(
        self,
        offered: Capabilities,
        directory: PeopleDirectory,
        settings: TrialSettings,
        command: Sequence[str] = COMMAND,
        work: IsolatedWork | None = None,
        *,
        author_tools: Callable[[str], NameSelection] = lambda _: ALL_NAMES,
    ) -> None:
        self._offered = offered
        self._author_tools = author_tools
        self._work = work or IsolatedWork()
        self._directory = directory
        self._settings = settings
        self._command = command
        self._places: dict[tuple[str, str], _Place] = {}
        self._tools: WeakKeyDictionary[Tool, TrialTool] = WeakKeyDictionary()
        self._without: Counter[str] = Counter()
        """Of each tenant how many wait because no place can be theirs."""
        self._ending: set[asyncio.Task[None]] = set()
        self._submissions = FairQueue(SUBMISSION_LIMITS, _LONG_LINE)
        self._aside = _Place("", "")
        """Where the submission is run whose turn it is."""
        self._freed = asyncio.Event()
        self._closed = False

    @property
    def pids(self) -> list[int]:
        """Of the processes that there are."""
        held = (place.process for place in (*self._places.values(), self._aside))
        there = (each.process for each in held if each is not None)
        return [process.pid for process in there if process.returncode is None]

    async def play(self, author: Principal, flow: str, text: str, asked: TrialPlay) -> PlayedTrial:
        """What there is to see when this is done with the draft.

        Raises:
            InvalidInput: the draft, the steps or the answers can't be used.
            TooManyRequests: others try theirs, or the author waits for an earlier step.
            Unavailable: there is no process for it, or it gave way.
        """
        stage = await self.stage(author, flow, text)
        if asked.user not in {person.id for person in stage.people}:
            zh, en = (
                f"通讯录里没有 {asked.user!r}",
                f"the directory has nobody called {asked.user!r}",
            )
            raise InvalidInput.at("user", Localised(zh=zh, en=en))
        unknown = sorted(asked.answers.keys() - {tool.name for tool in stage.tools})
        if unknown:
            raise InvalidInput.at(f"answers.{unknown[0]}", _NO_TOOL)
        answer = await self._answer(author, stage, TrialRequest(play=asked))
        if answer.played is None:
            raise Unavailable("the trial's process answered something else than was asked")
        return answer.played

    async def run(
        self,
        author: Principal,
        flow: str,
        text: str,
        stories: str,
        *,
        is_submitted: bool = False,
    ) -> StoriesReport:
        """What becomes of all stories of a draft, and how much of it they take; raises as `play`.

        Tools answer what the stories say, and otherwise what is made up. What is submitted waits
        for other submissions alone.
        """
        stage = await self.stage(author, flow, text)
        asked = TrialStories(flow=flow, stories=stories, locale=author.locale)
        waits = is_submitted and self._has_no_place(author)
        answering = self._answered_in_line if waits else self._answer
        answer = await answering(author, stage, TrialRequest(stories=asked))
        if answer.report is None:
            raise Unavailable("the trial's process answered something else than was asked")
        return answer.report

    async def keep(
        self, author: Principal, flow: str, text: str, stories: str, title: str, asked: TrialPlay
    ) -> str:
        """The story file with what this comes to as a story at its end; raises as `play`.

        The story is run at once: one that doesn't go twice as it went once isn't kept.
        """
        stage = await self.stage(author, flow, text)
        once = await self.play(author, flow, text, asked)
        if once.failed is not None:
            raise InvalidInput.at(f"steps.{once.failed.step}", once.failed.message)
        again = await self.play(author, flow, text, asked.replace(anew=True))
        if len(again.steps) != len(once.steps):
            raise InvalidInput(_NOT_TWICE)
        played = PlayedStory(title, asked, once, again, stage.answers())
        kept = appended(stories, played.entry())
        report = await self.run(author, flow, text, appended("", played.entry()))
        if report.failed:
            why = [FieldProblem("steps", line) for line in report.stories[0].told]
            raise InvalidInput(_NOT_TWICE, why)
        return kept

    async def stage(self, author: Principal, flow: str, text: str) -> TrialStage:
        """What the draft is played on; raises `InvalidInput` with all that is wrong with it."""
        offered = self._offered.of(author.tenant)
        known = vocabulary(offered.registry, self._author_tools(author.tenant))
        others = dict(offered.catalog.flows)
        path = path_of("flows", flow)
        try:
            draft = await self._work.run(author, read_flow_among, path, text, known, others)
        except DefinitionError as error:
            found = [
                FieldProblem.of("text", told(each.what, each.remedy, each.line))
                for each in error.problems[:MOST_PROBLEMS]
            ]
            count = len(error.problems)
            zh = f"草稿有 {count} 处问题，改好才能试。"
            en = f"The draft has {count} problem{'s' * (count > 1)}: mend that, and then try it."
            raise InvalidInput(Localised(zh=zh, en=en), found) from None
        return self._stage(offered, author.tenant, draft)

    def _stage(self, offered: Capabilities, tenant: str, draft: FlowDefinition) -> TrialStage:
        tools = [*offered.registry]
        for tool in tools:
            if tool not in self._tools:
                self._tools[tool] = TrialTool.of(tool)
        return TrialStage(
            flows=tuple({**offered.catalog.flows, draft.flow: draft}.values()),
            people=tuple(self._directory.everyone(tenant)),
            tools=tuple(self._tools[tool] for tool in tools),
        )

    async def _answer(
        self, author: Principal, stage: TrialStage, request: TrialRequest
    ) -> TrialAnswer:
        try:
            async with asyncio.timeout(PATIENCE):
                place = await self._taken(author)
        except TimeoutError:
            raise TooManyRequests(_ALL_TAKEN, retry_after=_AGAIN) from None
        try:
            self._stay(place)
            answer = await self._asked(place, stage, request)
        except BaseException:
            # What it was doing nobody waits for any more, and what it says next is no answer.
            await place.clear()
            raise
        finally:
            place.used = time.monotonic()
            place.turn.release()
            self._freed.set()
            self._may_go(place)
        return _accepted(answer)

    def _has_no_place(self, author: Principal) -> bool:
        place = self._place(author)
        return place is None or place.turn.locked()

    async def _answered_in_line(
        self, author: Principal, stage: TrialStage, request: TrialRequest
    ) -> TrialAnswer:
        """The same beside all places, in a process that ends with it."""
        async with self._submissions.turn(author.tenant, author.id):
            try:
                return _accepted(await self._asked(self._aside, stage, request))
            finally:
                await self._aside.clear()

    async def _asked(self, place: _Place, stage: TrialStage, request: TrialRequest) -> TrialAnswer:
        # One may have ended before it was asked; all of it can be played again.
        for _ in range(2):
            if self._closed:
                raise Unavailable(_NONE_HERE)
            if place.process is None:
                place.process = await _TrialProcess.started(self._command)
            try:
                async with asyncio.timeout(self._settings.seconds):
                    return await place.process.asked(stage, request)
            except TimeoutError:
                raise Unavailable(self._too_slow) from None
            except _Gone as gone:
                await place.clear()
                if gone.used_too_much:
                    raise Unavailable(_USED_TOO_MUCH) from None
        raise Unavailable(_GAVE_WAY)

    @property
    def _too_slow(self) -> Localised:
        seconds = f"{self._settings.seconds:g}"
        zh = f"{seconds} 秒内没有走完：请少走几步，或让时间一次少过一些"
        en = f"It wasn't done in {seconds} s: take fewer steps, or let less time pass at once."
        return Localised(zh=zh, en=en)

    async def _taken(self, author: Principal) -> _Place:
        """The author's place, held for them; another's where all are taken, once that is idle."""
        while True:
            place = self._place(author)
            if place is None:
                await self._another_time(author.tenant)
                continue
            await place.turn.acquire()
            if self._is_there(place) and not self._crowds(author):
                return place
            place.turn.release()  # it was given away meanwhile, or is to be
            self._freed.set()

    async def _another_time(self, tenant: str) -> None:
        """Wait until a place may be free."""
        self._without[tenant] += 1
        self._freed.clear()
        try:
            await self._freed.wait()
        finally:
            self._without[tenant] -= 1

    def _crowds(self, author: Principal) -> bool:
        """Whether their tenant is at work in another place, and one that is in none waits."""
        busy = [each for each in self._places.values() if each.turn.locked()]
        at_work = {each.tenant for each in busy if each.author != author.id}
        waiting = {tenant for tenant, count in self._without.items() if count}
        served = {author.tenant, *(each.tenant for each in busy)}
        return author.tenant in at_work and not waiting <= served

    def _place(self, author: Principal) -> _Place | None:
        """Theirs, or one that can be theirs from now on; None where there is none just now."""
        if self._closed or not self._settings.processes:
            raise Unavailable(_NONE_HERE)
        if self._crowds(author):
            return None
        key = (author.tenant, author.id)
        if key not in self._places and len(self._places) >= self._settings.processes:
            idle = [each for each in self._places.values() if not each.turn.locked()]
            if not idle:
                return None
            self._give(min(idle, key=lambda each: (each.tenant != author.tenant, each.used)), key)
        return self._places.setdefault(key, _Place(*key))

    def _is_there(self, place: _Place) -> bool:
        return self._places.get((place.tenant, place.author)) is place

    def _give(self, idle: _Place, key: tuple[str, str]) -> None:
        """Let whoever had the place have it no more: what runs there is of use in its tenant."""
        del self._places[idle.tenant, idle.author]
        self._stay(idle)
        self._places[key] = place = _Place(*key)
        if idle.tenant == place.tenant:
            place.process, idle.process = idle.process, None
        self._clear_soon(idle)

    def _clear_soon(self, place: _Place) -> None:
        task = asyncio.get_running_loop().create_task(place.clear())
        self._ending.add(task)
        task.add_done_callback(self._ending.discard)

    def _stay(self, place: _Place) -> None:
        if place.going is not None:
            place.going.cancel()
            place.going = None

    def _may_go(self, place: _Place) -> None:
        self._stay(place)
        if not self._closed and place.process is not None:
            loop, seconds = asyncio.get_running_loop(), self._settings.idle_seconds
            place.going = loop.call_later(seconds, self._let_go, place)

    def _let_go(self, place: _Place) -> None:
        if not place.turn.locked() and self._is_there(place):
            del self._places[place.tenant, place.author]
            self._clear_soon(place)

    async def close(self) -> None:
        """End all processes; no other is started."""
        self._closed = True
        places, self._places = list(self._places.values()), {}
        for place in places:
            self._stay(place)
        ends = [*(place.clear() for place in (*places, self._aside)), *self._ending]
        for each in await asyncio.gather(*ends, return_exceptions=True):
            if isinstance(each, Exception):
                _log.error("a process for trying drafts couldn't be ended", exc_info=each)


def _accepted(answer: TrialAnswer) -> TrialAnswer:
    """The answer; raises what it refuses."""
    if answer.refused is None:
        return answer
    if answer.refused.kind == "unavailable":
        raise Unavailable(answer.refused.message)
    fields = [FieldProblem.of(*each) for each in answer.refused.fields]
    raise InvalidInput(answer.refused.message, fields)


MOST_PROBLEMS = 50
_NO_TOOL = Localised(zh="没有这个名称的工具", en="there is no tool of this name")
_NOT_TWICE = Localised(
    zh="这段故事再走一遍时不一样，没有记下来。",
    en="Played again, it went another way: nothing was kept.",
)
_NONE_HERE = Localised(
    zh="这里不能试草稿：ROUTER_TRIAL_PROCESSES 是 0，或服务正在停止。",
    en="No drafts are tried here: ROUTER_TRIAL_PROCESSES is 0, or the server is stopping.",
)
_ALL_TAKEN = Localised(
    zh="试草稿的位置都有人在用，请过几秒再试。",
    en="Every place for trying drafts is in use: try again in a few seconds.",
)
_LONG_LINE = Localised(
    zh="前面还有别的提交在跑用例，请过几秒再提交。",
    en="The stories of other submissions are run first: submit again in a few seconds.",
)
_USED_TOO_MUCH = Localised(
    zh="试这份草稿用的内存或时间超过了上限，已经中止；请精简草稿或少走几步再试。",
    en="Trying this draft took too much memory or time and was stopped: shorten the draft or take "
    "fewer steps, then try again.",
)
_GAVE_WAY = Localised(
    zh="试草稿的进程中断了，请再试一次。",
    en="The process in which the draft was tried gave way: try again.",
)
