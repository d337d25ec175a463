"""One try of a tool's call: through the gate and, where it writes, through the effects ledger.

Keeping the files that tools make, for whoever had them called.

What a call came to, made such that everything on its way can take it.

    the tool ▸ kept ▸ ledger (writes) ▸ carried ▸ workflow, event log, models

A write that has answered is done, whatever it answered, and is never sent again for that: where
the answer can't be kept or carried, the result says so in its place. A read has failed then.
"""

import asyncio
import json
import logging
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from zoneinfo import ZoneInfo

from pydantic import JsonValue
from temporalio import activity

from activities import provided
from activities.effects import once
from activities.execution import unforeseen
from activities.progress import ProgressPublisher
from router.contracts.activities import ToolCall
from router.domain.errors import RouterError, TransientToolError, UnusableResult
from router.domain.files import MOST_BYTES
from router.domain.locale import Locale, Localised
from router.domain.principals import Principal
from router.domain.records import FileRecord
from router.store.idempotency import EffectsLedger
from router.tool.context import Dependencies, ToolContext, needless
from router.tool.gate import Admitted, Attempt, admit, lacks_confirmation, screen
from router.tool.registry import Registry
from router.tool.results import ToolFile, keepable
from router.tool.tool import Tool


@dataclass(frozen=True)
class Keeping:
    """`router.tool.results.Keep`: files are their caller's, as if they had handed them in.

    In a flow that is the requester. A try that fails afterwards leaves files that nobody knows
    the ids of; the next one keeps its own.
    """

    tool: Tool
    owner: Principal
    dependencies: Dependencies

    async def __call__(self, files: Mapping[str, ToolFile]) -> None:
        """Keep them.

        Raises:
            UnusableResult: one is larger than 10 MiB.
            MisconfiguredError: nothing provides a store of files.
        """
        for file in files.values():
            self._check(file)
        store = await self.dependencies.resolve(provided.files)
        for id_, file in files.items():
            record = FileRecord.of(
                id_, self.owner, file.name, file.content, datetime.now(UTC), file.type
            )
            await store.keep(record, file.content)

    def _check(self, file: ToolFile) -> None:
        if len(file.content) > MOST_BYTES:
            name, size = file.name[:80], len(file.content)
            raise UnusableResult(
                Localised(
                    zh=f"“{self.tool.title.zh}”给出的文件“{name}”有 {size} 字节，"
                    f"超过了 {MOST_BYTES}，请一次少要一些",
                    en=f"{self.tool.name} gave the file {name!r} of {size} bytes, "
                    f"more than {MOST_BYTES}; ask it for less at a time",
                )
            )


RESULT_BYTES = 64 * 1024
"""The longest result, as JSON: workflows carry it in their history, and models read it."""

Page = Callable[[Tool, str], Awaitable[JsonValue]]
"""What becomes of a result that is too long, given as JSON."""


async def kept(tool: Tool, answering: Awaitable[JsonValue], locale: Locale) -> JsonValue:
    """The answer as ledger, history and log can keep it; raises `UnusableResult` for a read."""
    try:
        result: JsonValue = keepable(await answering)
    except UnusableResult as error:
        return _instead(tool, error, locale)
    return result


async def carried(tool: Tool, result: JsonValue, page: Page | None, locale: Locale) -> JsonValue:
    """The result if it is short enough, else what `page` makes of it.

    Raises `UnusableResult` for a read that is too long where there is no `page`.
    """
    text = json.dumps(result, ensure_ascii=False, allow_nan=False)
    size = len(text.encode())
    if size <= RESULT_BYTES:
        return result
    if page is not None:
        return await page(tool, text)
    too_long = Localised(
        zh=f"“{tool.title.zh}”给出的结果有 {size} 字节，超过了 {RESULT_BYTES}，请一次少查一些",
        en=f"{tool.name} gave {size} bytes, more than {RESULT_BYTES}; ask it for less at a time",
    )
    return _instead(tool, UnusableResult(too_long), locale)


def _instead(tool: Tool, error: UnusableResult, locale: Locale) -> JsonValue:
    """What a write gives whose own result nobody can be given."""
    if not tool.writes:
        raise error
    note = Localised(
        zh=f"已经办成了，只是结果给不出来：{error.said.zh}",
        en=f"it is done, only its result can't be given: {error}",
    )
    return {"note": note.within(locale)}


_log = logging.getLogger("router.tools")


async def let_through(
    registry: Registry, call: ToolCall, confirmed: bool, dependencies: Dependencies
) -> Admitted:
    """The gate, with the tool's own rules where they belong: before a confirmation is demanded.

    Nobody is asked to confirm what would then be refused. Raises what `router.tool.gate.admit`
    and `check_rules` raise.
    """
    attempt = attempt_of(call, confirmed)
    screened = screen(registry, attempt)
    if lacks_confirmation(screened.tool, attempt):
        await check_rules(screened, call, dependencies)
    return admit(registry, attempt)


async def check_rules(
    admitted: Admitted, call: ToolCall, dependencies: Dependencies
) -> Localised | None:
    """What the call is about, where the tool's own rules say so and have nothing against it.

    Nothing is changed.

    Raises what the tool's check raises, and `TransientToolError` where it failed in a way
    nobody foresaw, or took longer than a call may.
    """
    check, tool = admitted.tool.check, admitted.tool
    if check is None:
        return None
    own = with_own_keys(call)
    context = _context(own, None, Keeping(tool, own.caller, dependencies))
    with _foreseen(tool, context):
        async with asyncio.timeout(tool.timeout.total_seconds()):
            return await check(admitted.arguments, context, dependencies)


def attempt_of(call: ToolCall, confirmed: bool) -> Attempt:
    """The call as the gate sees it."""
    return Attempt(
        call.tool, call.arguments, call.caller, call.key, call.flow_run, confirmed, call.undoes
    )


async def run_admitted(
    admitted: Admitted,
    call: ToolCall,
    ledger: EffectsLedger,
    dependencies: Dependencies,
    page: Page | None = None,
    telling: ProgressPublisher | None = None,
) -> JsonValue:
    """One try of a call that the gate has let through.

    A person's key is theirs alone: two people may use the same.

    Raises what `activities.effects.once` raises, and for the tool itself `TransientToolError`
    (it failed in a way nobody foresaw, or took too long: trying again may help) or whatever
    error of the house it raised. What is longer than 64 KiB is what `page` makes of it; without one
    it is an `UnusableResult` for a read, and for a write a result that says that it is done.
    """
    own, tool = with_own_keys(call), admitted.tool

    async def send() -> JsonValue:
        context = _context(own, telling, Keeping(tool, own.caller, dependencies))
        with _foreseen(tool, context):
            async with asyncio.timeout(tool.timeout.total_seconds()):
                answering = tool.call(admitted.arguments, context, dependencies)
                return await kept(tool, answering, own.spoken)

    if tool.check is not None and not await _is_known(ledger, tool, own):
        await check_rules(admitted, call, dependencies)
    result = await (once(ledger, tool, own, send) if tool.writes else send())
    return await carried(tool, result, page, own.spoken)


async def _is_known(ledger: EffectsLedger, tool: Tool, call: ToolCall) -> bool:
    """True for a write that was begun before.

    What its check would find by now may be the doing of the call itself: a request that is
    over since the first try took it back.
    """
    return tool.writes and await ledger.find(call.key) is not None


@contextmanager
def _foreseen(tool: Tool, context: ToolContext) -> Iterator[None]:
    """Turn what no tool says on purpose into `TransientToolError`: trying again may help."""
    try:
        yield
    except RouterError:
        raise
    except TimeoutError as error:
        seconds = tool.timeout.total_seconds()
        raise TransientToolError(
            Localised(
                zh=f"“{tool.title.zh}”在 {seconds:g} 秒内没有完成",
                en=f"{tool.name} took longer than {seconds:g} s",
            )
        ) from error
    except Exception as error:
        failure = unforeseen(error, tool.name, tool.title.zh, context.logger)
        raise failure from error


def with_own_keys(call: ToolCall) -> ToolCall:
    """Keys of a flow are unique as they are; those of a person are made so."""
    if call.flow_run is not None:
        return call
    owner = f"{call.caller.tenant}/{call.caller.id}"
    keys = {name: getattr(call, name) for name in ("key", "undoes")}
    return call.model_copy(update={name: f"{owner}/{key}" for name, key in keys.items() if key})


def _context(call: ToolCall, telling: ProgressPublisher | None, keeping: Keeping) -> ToolContext:
    about = {"tool": call.tool, "caller": call.caller.id, "key": call.key}
    context = ToolContext(
        caller=call.caller,
        now=call.now.astimezone(ZoneInfo(call.caller.timezone)),
        logger=logging.LoggerAdapter(_log, about),
        spoken=call.locale,
        key=call.key,
        undoes=call.undoes,
        flow_run=call.flow_run,
        conversation=call.conversation,
        answers=call.answers,
        keep=keeping,
        skill_files={file.path: file for file in call.skill_files},
        beat=activity.heartbeat if activity.in_activity() else needless,
    )
    tell = partial(telling.tool_progress, call) if telling else context.tell
    return replace(context, tell=tell)
