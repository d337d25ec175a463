"""The way of a call around the gate: rated, remembered, sent at most once, audited.

    rate ▸ gate ▸ cache ▸ a free slot ▸ ledger (writes) ▸ check ▸ circuit ▸ the tool ▸ page ▸ audit

A refusal is audited like a call. Flows call on the authority of what was approved: no rate
holds them up, and no page is made of what they save. A tool's form only shows what it gets.
"""

import asyncio
import hashlib
import json
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import (
    AbstractAsyncContextManager,
    AbstractContextManager,
    asynccontextmanager,
    nullcontext,
)
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import count
from math import ceil
from time import monotonic
from typing import Literal
from zoneinfo import ZoneInfo

from pydantic import JsonValue
from temporalio import activity

from activities.call_hook import HookCaller, hook_not_deployed
from activities.capabilities import MARGIN
from activities.execution import is_of_code, unforeseen
from activities.outages import outlast, record
from activities.progress import ProgressPublisher
from activities.tool_results import FileOpening, Keeping, MakePage, Paging, carried, kept
from router.contracts.activities import CallOutcome, CallProgress, ToolCall
from router.contracts.failures import RETRYABLE, from_json, to_json
from router.contracts.hook_calls import UNCHECKED, HookCall
from router.contracts.outages import carried as carried_progress
from router.domain.bounded_cache import BoundedCache
from router.domain.circuit import ANSWERED, FAILED, CallVerdict, CircuitBreaker, Clock
from router.domain.concurrency import ConcurrencyLimiter
from router.domain.errors import (
    AnswersNeeded,
    BackendUnavailable,
    BrokenHook,
    BrokenTool,
    OutOfReach,
    PermanentToolError,
    RouterError,
    ToolError,
    TooManyRequests,
    TransientToolError,
    UnknownOutcome,
)
from router.domain.hooks import ToolEvent
from router.domain.locale import Localised
from router.domain.records import AuditRecord, EffectRecord
from router.domain.sizes import measure_bytes
from router.domain.visible_text import legible
from router.formats.check_threads import check_off_loop
from router.store.audit import ToolCallAudit
from router.store.blobs import Results
from router.store.database import AWAY
from router.store.idempotency import EffectsLedger
from router.telemetry.metrics import REFUSED
from router.tool.context import Dependencies, ToolContext, needless
from router.tool.gate import Attempt, admit, lacks_confirmation, screen
from router.tool.hook import Hook
from router.tool.registry import Registry
from router.tool.tool import Tool

MAX_SLOT_WAIT_S = 10.0
"""How long a call waits for a slot: less than `activities.capabilities.MARGIN` allows, so that a
call that gets one still has all of the tool's own time."""
SLOT_RETRY_S = 2.0
"""Before the next try of a call that got no slot."""


class ToolLimiters:
    """The limiter of each tool, or pool of tools, that says how many calls may run `at_once`.

    Calls wait for a slot before anything is noted of them: one that gets none was never sent.
    """

    def __init__(self, max_wait_s: float = MAX_SLOT_WAIT_S) -> None:
        self._max_wait_s = max_wait_s
        self._limiters: dict[tuple[str, int], ConcurrencyLimiter] = {}

    def slot(self, tool: Tool) -> AbstractAsyncContextManager[float | None]:
        """Hold a slot within the block; raises `TransientToolError` if none is free in time."""
        limit = tool.options.at_once
        if limit is None:
            return nullcontext()
        # Under the limit too: a file that sets another one begins anew with that many.
        key = (tool.options.pool or tool.name, limit)
        limiter = self._limiters.setdefault(key, ConcurrencyLimiter(limit))
        return limiter.slot(self._max_wait_s, partial(self._refuse, tool, limit))

    def _refuse(self, tool: Tool, limit: int) -> TransientToolError:
        REFUSED.labels("tool").inc()
        seconds = f"{self._max_wait_s:g}"
        zh = f"“{tool.title.zh}”正忙：已有 {limit} 个调用在进行，{seconds} 秒内没有空出来"
        en = f"{tool.name} is busy: {limit} calls are under way, and none ended in {seconds} s"
        return TransientToolError(Localised(zh=zh, en=en), retry_after=SLOT_RETRY_S)


class CallNotRecorded(Exception):
    """The tool has answered, and the database is away: `outcome` is still to be written down.

    `error` is how the call fails once it is, if it does. It is no error of the router's, for
    nothing may take it for the call's own.
    """

    def __init__(self, outcome: CallOutcome, error: RouterError | None = None) -> None:
        super().__init__("the database is away, and the call's result isn't recorded yet")
        self.outcome = outcome
        self.error = error


class NotClaimed(BackendUnavailable):
    """The database is away, and it isn't known whether the call is noted in the ledger.

    If it is, then under one of the moments `claims`, and nothing was sent.
    """

    def __init__(self, claims: tuple[datetime, ...]) -> None:
        super().__init__("the database is away, and the call isn't begun", AWAY)
        self.claims = claims


FAILURES_IN_A_ROW = 6
"""Tries: more than the four of one call, which may fail for what it asks."""


class ToolCircuits:
    """A circuit breaker for each system that stands behind tools.

    Where one is open, reads fail at once and are told when it is tried again. Writes go through,
    as they have to come to something, and tell whether it is over.
    """

    def __init__(self, failures: int = FAILURES_IN_A_ROW, clock: Clock = monotonic) -> None:
        self._failures = failures
        self._clock = clock
        self._breakers: dict[str, CircuitBreaker] = {}

    @property
    def states(self) -> dict[str, str]:
        """Each system's breaker, of those that were called: `closed`, `open` or `half-open`."""
        return {system: breaker.state for system, breaker in self._breakers.items()}

    def through(self, tool: Tool) -> AbstractContextManager[None]:
        """Judge the block as a try of the tool; raises `OutOfReach` if none may be made."""
        breaker = self._breakers.setdefault(tool.system, self._breaker())
        if tool.writes and not breaker.admits:
            return breaker.trial()
        return breaker.call(partial(_out_of_reach, tool))

    def _breaker(self) -> CircuitBreaker:
        return CircuitBreaker(_judged, failures=self._failures, clock=self._clock)


def _out_of_reach(tool: Tool, wait: float) -> OutOfReach:
    seconds = ceil(wait)
    zh = f"“{tool.title.zh}”现在用不了：它接连出错，{seconds} 秒后再试"
    en = f"{tool.name} isn't working just now: it failed again and again"
    return OutOfReach(Localised(zh=zh, en=f"{en}, and is tried again in {seconds} s"))


def _judged(error: Exception) -> CallVerdict | None:
    if isinstance(error, BackendUnavailable):
        return None  # a tool that works on our own database: no other system is the worse for it
    if isinstance(error, (*RETRYABLE, UnknownOutcome)):
        return FAILED
    # What is refused for its own sake was answered; a fault of the tool's code says nothing.
    is_answer = isinstance(error, RouterError) and not isinstance(error, BrokenTool | OutOfReach)
    return ANSWERED if is_answer else None


def _cache_key(call: ToolCall) -> tuple[str, bool, str]:
    # A flow gets a long result whole or not at all, and a person its first page.
    return digest(call), _is_read_by_a_person(call), call.spoken


def _is_read_by_a_person(call: ToolCall) -> bool:
    """True where a page will do: nothing goes on to compute with what the call comes to."""
    return call.flow_run is None or call.form


MAX_CACHED_RESULTS = 2_000
"""Results of reads that a worker keeps for calls that come again."""
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
        limiters: ToolLimiters | None = None,
    ) -> None:
        dependencies.require(registry.providers())
        self.registry = registry
        self._dependencies = dependencies
        self._ledger = ledger
        self._audit = audit
        self._results = results
        self._telling = telling
        # In a tuple, since a result may be null.
        self._cache = BoundedCache[tuple[str, bool, str], tuple[JsonValue]](MAX_CACHED_RESULTS)
        self._limiters = limiters or ToolLimiters()
        self._hooks = HookCaller(registry.hooks, dependencies)
        self.circuits = ToolCircuits()

    async def call(self, call: ToolCall, confirmed: bool = False) -> JsonValue:
        """What one try comes to.

        Raises what the gate and `run_admitted` raise, and `TooManyRequests` for too many a minute;
        `BackendUnavailable` where the database was away before the tool was called, and
        `CallNotRecorded` where it was after that.
        """
        if call.progress is not None and call.progress.ended is not None:
            ended = call.progress.ended
            if ended.audit is None:
                failure = from_json(ended.failure) if ended.failure else None
                row = self._row(call, "admitted", *_ended_as(failure))
                ended = ended.replace(audit=row)
            await self._write_down(call, ended)
            if not _is_tried_again(ended):
                return await self._result_of(call, ended)
        admitted: Tool | None = None
        try:
            await self._check_rate(call)
            tool = await let_through(self._registry_of(call), call, confirmed, self._dependencies)
            await self._ask_hooks(tool, call)
            admitted = tool
            result, outcome = await self._answered(admitted, call)
        except BackendUnavailable:
            # No try of the tool, which a row would count.
            raise
        except CallNotRecorded as left:
            row = self._row(call, "admitted", *_ended_as(left.error))
            raise CallNotRecorded(left.outcome.replace(audit=row), left.error) from left
        except RouterError as error:
            await self._note_failure(call, error, admitted=admitted is not None)
            raise
        except asyncio.CancelledError:
            if admitted is not None:
                # A stopped read has found nothing; what a stopped write has done, nobody can tell.
                outcome = "unknown" if admitted.writes else "failed"
                await self._note(call, "admitted", outcome, "stopped while it ran")
            raise
        except Exception as error:
            # Around the tool, not in it: what becomes of the call is told and audited all the same.
            name = call.tool
            registry = self._registry_of(call)
            title = registry[name].title.zh if name in registry else name
            failure = unforeseen(error, name, title, _log)
            failure.__cause__ = error
            await self._note_failure(call, failure, admitted=admitted is not None)
            raise failure from error
        await self._note(call, "admitted", outcome, result=result)
        return result

    async def check(self, call: ToolCall) -> Localised | None:
        """What the call is about, where nothing speaks against it but that it isn't confirmed.

        No rate counts it, no ledger notes it; the audit does. Raises as `screen`, `check_rules`.
        """
        try:
            attempt = attempt_of(call, confirmed=False)
            tool = await check_off_loop(partial(screen, self._registry_of(call), attempt))
            await self._ask_hooks(tool, call)
            about = await check_rules(tool, call, self._dependencies)
        except BackendUnavailable:
            raise
        except RouterError as error:
            await self._note_failure(call, error, admitted=False)
            raise
        await self._note(call, "checked")
        return about

    async def _ask_hooks(self, tool: Tool, call: ToolCall) -> None:
        """Ask the hooks that no workflow has asked: the command line's calls, and new hooks.

        Raises `PermanentToolError` where one refuses, or had refused before, and `NotDeployed`
        where one that is required is gone.
        """
        if call.lacks_hook:
            raise hook_not_deployed(call.lacks_hook, "before_tool")
        if call.refused is not None:
            raise PermanentToolError(call.refused)
        before = [h for h in self._registry_of(call).hooks.around(tool.name) if not_yet(h, call)]
        # What was begun is on its way: it comes to what it comes to.
        begun = before and tool.writes and await _find(self._ledger, with_own_keys(call).key)
        for hook in before if not begun else ():
            try:
                answer = await self._hooks.call(hook.name, HookCall(event=_event(tool, call)))
            except BrokenHook as error:
                if hook.required:
                    raise PermanentToolError(UNCHECKED) from error
                continue
            if answer.refused is not None:
                raise PermanentToolError(answer.refused)

    async def _answered(self, tool: Tool, call: ToolCall) -> tuple[JsonValue, str]:
        key = _cache_key(call) if tool.options.cache else None
        if key is not None and (cached := self._cache.get(key)) is not None:
            return cached[0], "cached"
        page = Paging(self._results, call) if _is_read_by_a_person(call) else None
        async with self._limiters.slot(tool):
            result = await run_admitted(
                tool, call, self._ledger, self._dependencies, page, self._telling, self.circuits
            )
        if key is not None:
            self._cache.put(key, (result,), tool.options.cache.total_seconds())
        return result, "done"

    async def _check_rate(self, call: ToolCall) -> None:
        registry = self._registry_of(call)
        if call.flow_run is not None or call.tool not in registry:
            return
        tool = registry[call.tool]
        most = tool.options.per_minute
        if most is None:
            return
        since = datetime.now(UTC) - timedelta(minutes=1)
        asked = (call.caller.tenant, call.caller.id, call.tool, since)
        made = await outlast(lambda: self._audit.calls(*asked))
        if made >= most:
            zh = f"“{tool.title.zh}”在过去一分钟里用了 {made} 次，最多 {most} 次，请过一分钟再试"
            en = f"{call.tool} was called {made} times in the last minute, {most} are allowed"
            raise TooManyRequests(Localised(zh=zh, en=f"{en}; wait a minute"), retry_after=60)

    def _registry_of(self, call: ToolCall) -> Registry:
        return self.registry.of(call.caller.tenant)

    async def _note_failure(self, call: ToolCall, error: RouterError, *, admitted: bool) -> None:
        outcome, detail = _ended_as(error)
        decided = ("admitted", outcome) if admitted else ("refused", "")
        await self._note(call, *decided, detail, error=error)

    async def _note(
        self,
        call: ToolCall,
        decision: str,
        outcome: str = "",
        detail: str = "",
        *,
        result: JsonValue = None,
        error: RouterError | None = None,
    ) -> None:
        """Audit the call, which came to this; raises `CallNotRecorded` where that can't be done."""
        row, failure = self._row(call, decision, outcome, detail), to_json(error) if error else None
        await self._write_down(call, CallOutcome(result=result, failure=failure, audit=row), error)

    def _row(
        self, call: ToolCall, decision: str, outcome: str = "", detail: str = ""
    ) -> AuditRecord:
        row = {
            "at": datetime.now(UTC),
            "person": call.caller.id,
            "tool": call.tool[:80],
            "digest": digest(call),
            "decision": decision,
            "outcome": outcome,
            "detail": detail,
            **call.model_dump(include={"key", "flow_run", "conversation"}),
        }
        return AuditRecord.model_validate(row)

    async def _write_down(
        self, call: ToolCall, ended: CallOutcome, error: RouterError | None = None
    ) -> None:
        """Tell the ledger and the audit of it; what they know already stays as it is."""
        await end_in_ledger(self._ledger, with_own_keys(call).key, ended, error)
        row, tries = ended.audit, count()
        if row is None:
            return
        # An earlier attempt, or try, may have added the row without hearing of it.
        known = call.progress is not None

        async def note() -> None:
            await self._audit.note(call.caller.tenant, row, again=next(tries) > 0 or known)

        await _recorded(note, ended, error)

    async def _result_of(self, call: ToolCall, ended: CallOutcome) -> JsonValue:
        """What the call came to that is written down by now; raises what the tool raised."""
        if ended.failure is not None:
            raise from_json(ended.failure)
        registry = self._registry_of(call)
        if call.tool not in registry:
            return ended.result
        page = Paging(self._results, call) if _is_read_by_a_person(call) else None
        return await carried(registry[call.tool], ended.result, page, call.spoken)


def _ended_as(error: RouterError | None) -> tuple[str, str]:
    """The audit's outcome and detail of a call that failed so; of one that didn't, without."""
    if error is None:
        return "done", ""
    bottom: BaseException = error
    while bottom.__cause__ is not None:
        bottom = bottom.__cause__
    why = f"{type(error).__name__}: {error}"
    if not isinstance(bottom, RouterError):
        why += f" ({type(bottom).__name__}: {bottom})"
    outcome = "unknown" if isinstance(error, UnknownOutcome) else "failed"
    return outcome, legible(why)[:_DETAIL]


def _is_tried_again(ended: CallOutcome) -> bool:
    """Whether another try of the tool may help, as it does after failures of a passing kind."""
    return ended.failure is not None and isinstance(from_json(ended.failure), RETRYABLE)


async def let_through(
    registry: Registry, call: ToolCall, confirmed: bool, dependencies: Dependencies
) -> Tool:
    """The gate, with the tool's own rules before a confirmation is demanded; raises as both do."""
    attempt = attempt_of(call, confirmed)
    tool = await check_off_loop(partial(screen, registry, attempt))
    if lacks_confirmation(tool, attempt):
        await check_rules(tool, call, dependencies)
    return await check_off_loop(partial(admit, registry, attempt))


async def check_rules(tool: Tool, call: ToolCall, dependencies: Dependencies) -> Localised | None:
    """What the call is about, where the tool's own rules say so; raises what they raise."""
    if tool.check is None:
        return None
    own, check = with_own_keys(call), tool.check
    context = _context(own, None, tool, dependencies)

    async def ask() -> Localised | None:
        async with _foreseen(tool, context):
            return await check(call.arguments, context, dependencies)

    return await outlast(ask, reserve_s=reserve_s(tool), try_timeout_s=None)


def not_yet(hook: Hook, call: ToolCall) -> bool:
    """True where the hook has still to let the call pass."""
    return hook.point == "before_tool" and hook.name not in call.passed


def _event(tool: Tool, call: ToolCall) -> ToolEvent:
    about = ("caller", "conversation", "tool", "arguments", "checking", "flow_run", "message_id")
    return ToolEvent(
        **{name: getattr(call, name) for name in about},
        locale=call.spoken,
        now=call.now.astimezone(ZoneInfo(call.caller.timezone)),
        writes=tool.writes,
    )


def attempt_of(call: ToolCall, confirmed: bool) -> Attempt:
    """The call as the gate sees it."""
    return Attempt(
        tool=call.tool,
        arguments=call.arguments,
        caller=call.caller,
        key=call.key,
        flow_run=call.flow_run,
        confirmed=confirmed,
        undoes=call.undoes,
        approvals=call.approvals,
        slots_digest=call.slots_digest,
    )


async def run_admitted(
    tool: Tool,
    call: ToolCall,
    ledger: EffectsLedger,
    dependencies: Dependencies,
    page: MakePage | None = None,
    telling: ProgressPublisher | None = None,
    circuits: ToolCircuits | None = None,
) -> JsonValue:
    """One try of a call that the gate has let through; a person's key is theirs alone.

    Raises what `once` raises, and for the tool itself `BrokenTool`, `TransientToolError` (it took
    too long) or whatever error of the house it raised. What is over 64 KiB is what `page` makes of
    it; without, an `UnusableResult` for a read, and for a write a result that says that it is done.
    """
    own = with_own_keys(call)

    async def send() -> JsonValue:
        context = _context(own, telling, tool, dependencies)
        with circuits.through(tool) if circuits else nullcontext():
            async with _foreseen(tool, context):
                answering = tool.call(call.arguments, context, dependencies)
                return await kept(tool, answering, own.spoken)

    # What the check of a write that was begun before would find may be its own doing.
    if tool.check is not None and not (tool.writes and await _find(ledger, own.key)):
        await check_rules(tool, call, dependencies)
    if tool.writes:
        result = await once(ledger, tool, own, send)
    else:
        result = await outlast(send, reserve_s=reserve_s(tool), try_timeout_s=None)
    return await carried(tool, result, page, own.spoken)


async def _find(ledger: EffectsLedger, key: str) -> EffectRecord | None:
    return await outlast(lambda: ledger.find(key))


def reserve_s(tool: Tool) -> float:
    """The seconds of an attempt that are left for calling the tool, however long an outage is."""
    return (tool.timeout + MARGIN).total_seconds()


@asynccontextmanager
async def _foreseen(tool: Tool, context: ToolContext) -> AsyncIterator[None]:
    """Within the tool's time; what no tool says on purpose is what `unforeseen` makes of it."""
    seconds = tool.timeout.total_seconds()
    try:
        async with asyncio.timeout(seconds):
            yield
    except RouterError:
        raise
    except TimeoutError as error:
        zh = f"“{tool.title.zh}”在 {seconds:g} 秒内没有完成"
        en = f"{tool.name} took longer than {seconds:g} s"
        raise TransientToolError(Localised(zh=zh, en=en)) from error
    except Exception as error:
        may_pass, name = not is_of_code(error), tool.name
        failure = unforeseen(error, name, tool.title.zh, context.logger, may_pass=may_pass)
        raise failure from error


def with_own_keys(call: ToolCall) -> ToolCall:
    """Keys of a flow are unique as they are; those of a person are made so."""
    if call.flow_run is not None:
        return call
    owner = f"{call.caller.tenant}/{call.caller.id}"
    undoes = f"{owner}/{call.undoes}" if call.undoes else call.undoes
    return call.replace(key=f"{owner}/{call.key}", undoes=undoes)


def _context(
    call: ToolCall, telling: ProgressPublisher | None, tool: Tool, dependencies: Dependencies
) -> ToolContext:
    about = {"tool": call.tool, "caller": call.caller.id, "key": call.key}
    context = ToolContext(
        caller=call.caller,
        now=call.now.astimezone(ZoneInfo(call.caller.timezone)),
        logger=logging.LoggerAdapter(_log, about),
        spoken=call.locale,
        key=call.key,
        undoes=call.undoes,
        flow_run=call.flow_run,
        related_runs=call.related_runs,
        conversation=call.conversation,
        answers=call.answers,
        keep=Keeping(tool, call.caller, dependencies),
        opening=FileOpening(call.caller, dependencies),
        skill_files={file.path: file for file in call.skill_files},
        beat=activity.heartbeat if activity.in_activity() else needless,
    )
    tell = partial(telling.tool_progress, call) if telling else context.tell
    return replace(context, tell=tell)


async def once(
    ledger: EffectsLedger, tool: Tool, call: ToolCall, send: Callable[[], Awaitable[JsonValue]]
) -> JsonValue:
    """The result of a write that is sent by `send`, now or on an earlier try.

    begin ──▶ send ──▶ finish        the usual way
      │         ├────▶ fail          it came back refused, and had no effect
      │         └────▶ release       it asked something back first: as if it had never begun
      └ done before: its result, and nothing is sent
      └ begun before, and nobody knows how it ended (a crash, a timeout):
            the tool honours its key ▸ send again, with the same key
            it doesn't               ▸ `UnknownOutcome`, for ever

    Raises what `send` raises, at every later try with the same key as well where it was for
    good; `UnknownOutcome` where it may have happened and mustn't be repeated; `DuplicateKey`
    where the key was used for another call.
    """
    known = await _claimed(ledger, tool, call)
    if known is not None and known.status != "begun":
        return _remembered(known)
    if known is not None and not tool.idempotent:
        raise UnknownOutcome(_perhaps(tool, _LOST))
    try:
        result = await _sent(tool, send)
    except RouterError as error:
        failure, note = _ending(tool, error)
        ended = CallOutcome(failure=to_json(failure), ledger=note)
        await end_in_ledger(ledger, call.key, ended, failure)
        if failure is error:
            raise
        raise failure from error
    await end_in_ledger(ledger, call.key, CallOutcome(result=result, ledger="done"))
    return result


async def _claimed(ledger: EffectsLedger, tool: Tool, call: ToolCall) -> EffectRecord | None:
    """Note in the ledger that the call is about to be sent; what is known of it from before.

    A claim of which nobody heard that it was committed is this call's own, and nothing was sent.
    """
    claims, at = (call.progress.claims if call.progress else ()), datetime.now(UTC)
    about = (call.key, tool.name, digest(call))
    try:
        return await outlast(
            lambda: ledger.begin(*about, at=at, claims=claims), reserve_s=reserve_s(tool)
        )
    except BackendUnavailable as error:
        raise NotClaimed((*claims, at)) from error


async def _sent(tool: Tool, send: Callable[[], Awaitable[JsonValue]]) -> JsonValue:
    """Send it: again, where the tool works on the database that is away, and may be sent again."""
    if not tool.idempotent:
        return await send()
    return await outlast(send, try_timeout_s=None)


async def end_in_ledger(
    ledger: EffectsLedger, key: str, ended: CallOutcome, error: RouterError | None = None
) -> None:
    """Tell the ledger how the call ended; raises `CallNotRecorded` with it where that can't be."""
    match ended.ledger:
        case "done":
            await _recorded(lambda: ledger.finish(key, ended.result), ended)
        case "failed":
            await _recorded(lambda: ledger.fail(key, ended.failure or {}), ended, error)
        case "released":
            await _recorded(lambda: ledger.release(key), ended, error)


async def _recorded(
    write: Callable[[], Awaitable[None]], ended: CallOutcome, error: RouterError | None = None
) -> None:
    def in_hand() -> JsonValue:
        return carried_progress(CallProgress(ended=portable(ended)))

    try:
        await record(write, in_hand)
    except BackendUnavailable as away:
        raise CallNotRecorded(portable(ended), error) from away


MAX_CARRIED_BYTES = 256 * 1024
"""Of a call's outcome, as JSON: Temporal warns of twice as much, and refuses eight times."""


def portable(ended: CallOutcome) -> CallOutcome:
    """The outcome as failures and heartbeats can carry it: without a result that is too long."""
    if measure_bytes(ended) <= MAX_CARRIED_BYTES:
        return ended
    note = "it is done; its result was too long to be kept while the database was away"
    return ended.replace(result={"note": note})


def digest(call: ToolCall) -> str:
    """Sixteen hex digits that differ where the tool, its arguments, answers or the caller do."""
    what = [call.tool, call.arguments, call.caller.tenant, call.caller.id, call.undoes]
    if call.answers:
        what.append(call.answers)
    text = json.dumps(what, sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _ending(
    tool: Tool, error: RouterError
) -> tuple[RouterError, Literal["", "failed", "released"]]:
    """What a write has come to that failed so, and what the ledger is to be told of its key."""
    if isinstance(error, UnknownOutcome):
        return error, ""
    if isinstance(error, AnswersNeeded):
        return error, "released"
    if isinstance(error, BrokenTool):
        return UnknownOutcome(_perhaps(tool, error.said)), ""
    if not isinstance(error, RETRYABLE):
        return error if isinstance(error, ToolError) else PermanentToolError(error.said), "failed"
    return (error if tool.idempotent else UnknownOutcome(_perhaps(tool, error.said))), ""


def _remembered(known: EffectRecord) -> JsonValue:
    if known.status == "done":
        return known.result
    raise from_json(known.failure or {})


_LOST = Localised(zh="之前的一次尝试没有了下文", en="an earlier try was never heard of again")


def _perhaps(tool: Tool, why: Localised) -> Localised:
    return Localised(
        zh=f"“{tool.title.zh}”可能办成了，也可能没有（{why.zh}），不能放心重来，请到办理它的系统里查一下",
        en=f"{tool.name} may or may not have happened ({why.en}) and can't be repeated safely; "
        "look in the system it writes to",
    )
