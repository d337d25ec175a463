"""One try of a tool's call: through the gate and, where it writes, through the effects ledger."""

import asyncio
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from zoneinfo import ZoneInfo

from pydantic import JsonValue
from temporalio import activity

from activities.effects import once
from activities.failing import unforeseen
from activities.keeping import Keeping
from activities.outcome import Page, carried, kept
from activities.telling import Telling
from router.contracts.activities import ToolCall
from router.domain.errors import RouterError, TransientToolError
from router.domain.ports import EffectsLedger
from router.domain.texts import Localised
from router.tool.context import ToolContext, needless
from router.tool.dependencies import Dependencies
from router.tool.gate import Admitted, Attempt, admit, lacks_confirmation, screen
from router.tool.registry import Registry
from router.tool.tool import Tool

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
    telling: Telling | None = None,
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


def _context(call: ToolCall, telling: Telling | None, keeping: Keeping) -> ToolContext:
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
