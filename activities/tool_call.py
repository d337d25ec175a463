"""The way of a call around the gate: audited, rated, remembered, paged.

Long results, page by page.

How many calls a tool, or all tools of a server together, get at once from this worker.

    rate ▸ gate ▸ cache ▸ a free place ▸ ledger (writes) ▸ check ▸ the tool ▸ page ▸ audit

A refusal is audited like a call. Flows call on the authority of what was approved: no rate
holds them up, and no page is made of what they save. A tool's form only shows what it gets.
"""

import asyncio
import logging
from collections import OrderedDict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from time import monotonic

from pydantic import JsonValue

from activities.effects import digest
from activities.execution import unforeseen
from activities.progress import ProgressPublisher
from activities.tool_run import attempt_of, check_rules, let_through, run_admitted
from router.contracts.activities import ToolCall
from router.domain.errors import RouterError, TooManyRequests, TransientToolError, UnknownOutcome
from router.domain.locale import Locale, Localised
from router.domain.records import AuditRecord, ResultPage
from router.store.audit import ToolCallAudit
from router.store.files import Results
from router.store.idempotency import EffectsLedger
from router.telemetry.metrics import REFUSED
from router.tool.context import Dependencies
from router.tool.gate import Admitted, screen
from router.tool.registry import Registry
from router.tool.results import keepable_text
from router.tool.tool import Tool

PAGE = 6_000
"""Characters of a page: as much as a model is shown of one result."""
_AROUND = 600
"""Characters of a page's JSON beside its text."""
_SHOWN_AS = dict.fromkeys(map(chr, range(32)), 6) | dict.fromkeys('\n\r\t\b\f"\\', 2)
"""How many characters JSON needs for those that it writes otherwise."""


def page_of(text: str, number: int, handle: str) -> ResultPage:
    """One page of a long result, which a model is shown whole; pages count from 1.

    Behind the last one there are pages without text.

    >>> page_of("x" * 7000, 2, "h").read_more is None
    True
    """
    pages = text_pages(text)
    return ResultPage(
        read_more=handle if number < len(pages) else None,
        page=number,
        pages=len(pages),
        text=pages[number - 1] if number <= len(pages) else "",
    )


def text_pages(text: str) -> list[str]:
    r"""A text in pages that a model is shown whole, as JSON; they end with a line if they can.

    >>> [len(page) for page in text_pages("a line\n" * 1000)]
    [4725, 2275]
    """
    pages: list[str] = []
    start = 0
    while start < len(text) or not pages:
        end = _end_of_page(text, start)
        pages.append(text[start:end])
        start = end
    return pages


def _end_of_page(text: str, start: int) -> int:
    """Where the page that begins at `start` ends: in JSON a newline takes two characters."""
    room, end = PAGE - _AROUND, start
    while end < len(text) and (room := room - _SHOWN_AS.get(text[end], 1)) >= 0:
        end += 1
    line = text.rfind("\n", start, end) + 1
    return line if end < len(text) and line > start else end


PATIENCE = 10.0
"""Seconds that a call waits for a place: less than `activities.capabilities.MARGIN` allows, so that
whoever gets one still has all of the tool's own time."""
AGAIN = 2.0
"""Seconds before the next try of a call that got none."""


class Places:
    """Tools without `at_once` have as many as they like.

    A call waits before anything is noted of it, so one that gets no place was never sent: it
    may be tried again, whatever the tool does.
    """

    def __init__(self, patience: float = PATIENCE) -> None:
        self._patience = patience
        self._free: dict[tuple[str, int], asyncio.Semaphore] = {}

    @asynccontextmanager
    async def taken(self, tool: Tool) -> AsyncIterator[None]:
        """A place while within.

        Raises:
            TransientToolError: none became free for so long as a call may wait.
        """
        most = tool.options.at_once
        if most is None:
            yield
            return
        pool = tool.options.pool or tool.name
        # Under the number too: a file that says another begins anew with that many.
        free = self._free.setdefault((pool, most), asyncio.Semaphore(most))
        try:
            await asyncio.wait_for(free.acquire(), self._patience)
        except TimeoutError:
            REFUSED.labels("tool").inc()
            raise self._crowded(tool, most) from None
        try:
            yield
        finally:
            free.release()

    def _crowded(self, tool: Tool, most: int) -> TransientToolError:
        seconds = f"{self._patience:g}"
        return TransientToolError(
            Localised(
                zh=f"“{tool.title.zh}”正忙：已有 {most} 个调用在进行，{seconds} 秒内没有空出来",
                en=f"{tool.name} is busy: {most} calls are under way, and none ended in "
                f"{seconds} s",
            ),
            retry_after=AGAIN,
        )


REMEMBERED = 2_000
"""Results that a worker keeps for calls that come again."""
_MINUTE = timedelta(minutes=1)
_DETAIL = 500
"""Characters of why a call was refused or failed."""

_log = logging.getLogger("router.tools")


class ToolCaller:
    """Calls tools for flows, models and people, or only checks the call, one try at a time."""

    def __init__(
        self,
        registry: Registry,
        dependencies: Dependencies,
        ledger: EffectsLedger,
        audit: ToolCallAudit,
        results: Results,
        telling: ProgressPublisher | None = None,
        places: Places | None = None,
    ) -> None:
        dependencies.require(registry.providers())
        self.registry = registry
        self._dependencies = dependencies
        self._ledger = ledger
        self._audit = audit
        self._results = results
        self._telling = telling
        self._remembered = Remembered()
        self._places = places or Places()

    async def call(self, call: ToolCall, confirmed: bool = False) -> JsonValue:
        """What one try comes to.

        Raises what the gate and `activities.tool_run.run_admitted` raise, and
        `TooManyRequests` where this person had the tool called too often in the last minute.
        """
        admitted: Admitted | None = None
        try:
            await self._check_rate(call)
            admitted = await let_through(self.registry, call, confirmed, self._dependencies)
            result, outcome = await self._answered(admitted, call)
        except RouterError as error:
            await self._note_failure(call, error, admitted=admitted is not None)
            raise
        except asyncio.CancelledError:
            if admitted is not None:
                await self._note_stop(call, admitted.tool)
            raise
        except Exception as error:
            # Around the tool, not in it: what becomes of the call is told and audited all the same.
            failure = self._unforeseen(call, error)
            await self._note_failure(call, failure, admitted=admitted is not None)
            raise failure from error
        await self._audit.note(call.caller.tenant, _record(call, "admitted", outcome, ""))
        return result

    async def check(self, call: ToolCall) -> Localised | None:
        """What the call is about, where nothing speaks against it but that it isn't confirmed.

        No rate counts it and no ledger notes it; the audit does, as `checked`. Raises what
        `router.tool.gate.screen` and `activities.tool_run.check_rules` raise.
        """
        try:
            screened = screen(self.registry, attempt_of(call, confirmed=False))
            about = await check_rules(screened, call, self._dependencies)
        except RouterError as error:
            await self._note_failure(call, error, admitted=False)
            raise
        await self._audit.note(call.caller.tenant, _record(call, "checked", "", ""))
        return about

    async def _answered(self, admitted: Admitted, call: ToolCall) -> tuple[JsonValue, str]:
        """The result, and whether it was `done` or `cached`."""
        tool = admitted.tool
        known = self._remembered.find(tool, call)
        if known is not None:
            return known[0], "cached"
        page = Paging(self._results, call) if _is_read_by_a_person(call) else None
        async with self._places.taken(tool):
            result = await run_admitted(
                admitted, call, self._ledger, self._dependencies, page, self._telling
            )
        self._remembered.keep(tool, call, result)
        return result, "done"

    async def _check_rate(self, call: ToolCall) -> None:
        if call.flow_run is not None or call.tool not in self.registry:
            return
        most = self.registry[call.tool].options.per_minute
        if most is None:
            return
        since = datetime.now(UTC) - _MINUTE
        made = await self._audit.calls(call.caller.tenant, call.caller.id, call.tool, since)
        if made >= most:
            title = self.registry[call.tool].title
            raise TooManyRequests(
                Localised(
                    zh=f"“{title.zh}”在过去一分钟里用了 {made} 次，最多 {most} 次，请过一分钟再试",
                    en=f"{call.tool} was called {made} times in the last minute, {most} are "
                    "allowed; wait a minute",
                ),
                retry_after=60,
            )

    async def _note_failure(self, call: ToolCall, error: RouterError, *, admitted: bool) -> None:
        outcome = "unknown" if isinstance(error, UnknownOutcome) else "failed"
        why = keepable_text(_why(error))[:_DETAIL]
        record = (
            _record(call, "admitted", outcome, why)
            if admitted
            else _record(call, "refused", "", why)
        )
        await self._audit.note(call.caller.tenant, record)

    def _unforeseen(self, call: ToolCall, error: Exception) -> RouterError:
        name = call.tool
        title = self.registry[name].title.zh if name in self.registry else name
        failure = unforeseen(error, name, title, _log)
        failure.__cause__ = error
        return failure

    async def _note_stop(self, call: ToolCall, tool: Tool) -> None:
        """A stopped read has found nothing; what a stopped write has done, nobody can tell."""
        outcome = "unknown" if tool.writes else "failed"
        record = _record(call, "admitted", outcome, "stopped while it ran")
        await self._audit.note(call.caller.tenant, record)


@dataclass(frozen=True)
class Paging:
    """Keeps what is too long for whoever had it called, and gives the first page of it."""

    results: Results
    call: ToolCall

    async def __call__(self, tool: Tool, text: str) -> JsonValue:
        """The first page, with the handle that `read_more` takes."""
        owner = self.call.caller
        handle = await self.results.keep(owner.tenant, owner.id, tool.name, text)
        first: JsonValue = page_of(text, 1, handle).model_dump(mode="json")
        return first


_Place = tuple[str, bool, Locale]
"""Which result it is: of which call, whole or by pages, in which language."""


class Remembered:
    """Results of reads that may be given again, the oldest forgotten first."""

    def __init__(self) -> None:
        self._kept: OrderedDict[_Place, tuple[float, JsonValue]] = OrderedDict()

    def find(self, tool: Tool, call: ToolCall) -> tuple[JsonValue] | None:
        """The result, in a tuple since it may be null; None where there is none that is fresh."""
        until, result = self._kept.get(_place(call), (0.0, None))
        return (result,) if tool.options.cache and monotonic() < until else None

    def keep(self, tool: Tool, call: ToolCall, result: JsonValue) -> None:
        """Keep it for as long as the tool allows."""
        if not tool.options.cache:
            return
        until = monotonic() + tool.options.cache.total_seconds()
        self._kept[_place(call)] = (until, result)
        self._kept.move_to_end(_place(call))
        while len(self._kept) > REMEMBERED:
            self._kept.popitem(last=False)


def _place(call: ToolCall) -> _Place:
    # A flow gets a long result whole or not at all, and a person its first page.
    return digest(call), _is_read_by_a_person(call), call.spoken


def _is_read_by_a_person(call: ToolCall) -> bool:
    """True where a page will do: nothing goes on to compute with what the call comes to."""
    return call.flow_run is None or call.form


def _why(error: BaseException) -> str:
    """The error, and at the bottom of it what nobody foresaw, which people aren't told."""
    bottom = error
    while bottom.__cause__ is not None:
        bottom = bottom.__cause__
    said = f"{type(error).__name__}: {error}"
    if isinstance(bottom, RouterError):
        return said
    return f"{said} ({type(bottom).__name__}: {bottom})"


def _record(call: ToolCall, decision: str, outcome: str, detail: str) -> AuditRecord:
    return AuditRecord.model_validate(
        {
            "at": datetime.now(UTC),
            "person": call.caller.id,
            "tool": call.tool[:80],
            "digest": digest(call),
            "decision": decision,
            "outcome": outcome,
            "detail": detail,
            "key": call.key,
            "flow_run": call.flow_run,
            "conversation": call.conversation,
        }
    )
