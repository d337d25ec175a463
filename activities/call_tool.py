"""Calls of tools. Each is an activity under the tool's own name, so that it shows as that."""

import asyncio
import json
import logging
from collections.abc import Sequence
from time import monotonic
from zoneinfo import ZoneInfo

from pydantic import JsonValue, ValidationError
from temporalio import activity
from temporalio.common import RawValue

from activities.effects import once
from activities.failing import temporal_failures
from activities.telling import Telling
from router.contracts.activities import Answer, ToolCall
from router.contracts.failures import RETRYABLE
from router.domain.errors import (
    InvalidInput,
    PermanentToolError,
    RouterError,
    TransientToolError,
    UnknownOutcome,
)
from router.domain.ports import EffectsLedger
from router.domain.progress import ToolStatus
from router.tool.context import ToolContext
from router.tool.dependencies import Dependencies
from router.tool.gate import Admitted, Attempt, admit
from router.tool.registry import Registry
from router.tool.tool import Tool

RESULT_BYTES = 64 * 1024
"""The longest result, as JSON: workflows carry it in their history, and models read it."""

_log = logging.getLogger("router.tools")


class CallTool:
    """The activity behind every tool's name.

    It is a dynamic one: it takes every activity that no other on the worker is named like.
    Raises `MisconfiguredError` where `dependencies` lack something that a tool needs.
    """

    def __init__(
        self,
        registry: Registry,
        ledger: EffectsLedger,
        dependencies: Dependencies,
        telling: Telling,
    ) -> None:
        dependencies.require(registry.providers())
        self._registry = registry
        self._ledger = ledger
        self._dependencies = dependencies
        self._telling = telling

    @activity.defn(dynamic=True)
    async def call_tool(self, arguments: Sequence[RawValue]) -> Answer:
        """Call the tool that the activity is named after, with a `ToolCall` as its input."""
        with temporal_failures():
            return Answer(value=await self._watched(_decoded(arguments)))

    async def _watched(self, call: ToolCall) -> JsonValue:
        """The call's result; who watches sees it start once and end once, over all its tries."""
        if activity.info().attempt == 1:
            await self._telling.tool_started(call)
        began = monotonic()
        try:
            result = await self._tried(call)
        except RETRYABLE:
            raise
        except RouterError as error:
            status: ToolStatus = "unknown" if isinstance(error, UnknownOutcome) else "failed"
            await self._telling.tool_finished(call, status, monotonic() - began)
            raise
        await self._telling.tool_finished(call, "done", monotonic() - began)
        return result

    async def _tried(self, call: ToolCall) -> JsonValue:
        """What one try comes to, which is the last where the tool was tried often enough."""
        try:
            return await run_tool(self._registry, self._ledger, self._dependencies, call)
        except RETRYABLE as error:
            tool, attempt = self._registry[call.tool], activity.info().attempt
            if tool.retries is None or attempt <= tool.retries:
                raise
            raise _given_up(tool, error, attempt) from error


async def run_tool(
    registry: Registry,
    ledger: EffectsLedger,
    dependencies: Dependencies,
    call: ToolCall,
    confirmed: bool = False,
) -> JsonValue:
    """One try of a call: through the gate and, where it writes, through the effects ledger.

    A person's key is theirs alone: two people may use the same. `confirmed` says that the
    caller has seen these arguments and agreed.

    Raises what `router.tool.gate.admit` and `activities.effects.once` raise, and for the tool
    itself `TransientToolError` (it failed in a way nobody foresaw, or took too long: trying
    again may help) or whatever error of the house it raised. A result of more than 64 KiB is
    a `PermanentToolError`.
    """
    call = _with_own_keys(call)
    admitted = admit(
        registry,
        Attempt(call.tool, call.arguments, call.caller, call.key, call.flow_run, confirmed),
    )
    tool = admitted.tool

    async def send() -> JsonValue:
        return await _sent(admitted, call, dependencies)

    result = await (once(ledger, tool, call, send) if tool.writes else send())
    return _bounded(tool, result)


async def _sent(admitted: Admitted, call: ToolCall, dependencies: Dependencies) -> JsonValue:
    tool, context = admitted.tool, _context(call)
    try:
        async with asyncio.timeout(tool.timeout.total_seconds()):
            return await tool.call(admitted.arguments, context, dependencies)
    except RouterError:
        raise
    except TimeoutError as error:
        seconds = tool.timeout.total_seconds()
        raise TransientToolError(f"{tool.name} took longer than {seconds:g} s") from error
    except Exception as error:
        context.logger.exception("%s failed unexpectedly", tool.name)
        raise TransientToolError(
            f"{tool.name} failed unexpectedly: {type(error).__name__}: {error}"
        ) from error


def _decoded(arguments: Sequence[RawValue]) -> ToolCall:
    name = activity.info().activity_type
    try:
        (raw,) = arguments
        call: ToolCall = activity.payload_converter().from_payload(raw.payload, ToolCall)
    except (ValueError, ValidationError, RuntimeError) as error:
        raise InvalidInput(
            f"{name} is no activity of this worker, and was sent no call of a tool: {error}"
        ) from error
    if call.tool != name:
        raise InvalidInput(f"the activity {name} was sent a call of the tool {call.tool}")
    return call


def _given_up(tool: Tool, error: RouterError, attempt: int) -> RouterError:
    """What an error that would pass comes to once it has been waited for long enough."""
    last = f"it failed {attempt} times, the last time because {error}"
    if tool.writes:
        return UnknownOutcome(f"{tool.name} may or may not have happened: {last}")
    return PermanentToolError(f"{tool.name} isn't working: {last}")


def _with_own_keys(call: ToolCall) -> ToolCall:
    """Keys of a flow are unique as they are; those of a person are made so."""
    if call.flow_run is not None:
        return call
    owner = f"{call.caller.tenant}/{call.caller.id}"
    keys = {name: getattr(call, name) for name in ("key", "undoes")}
    return call.model_copy(update={name: f"{owner}/{key}" for name, key in keys.items() if key})


def _context(call: ToolCall) -> ToolContext:
    about = {"tool": call.tool, "caller": call.caller.id, "key": call.key}
    return ToolContext(
        caller=call.caller,
        now=call.now.astimezone(ZoneInfo(call.caller.timezone)),
        logger=logging.LoggerAdapter(_log, about),
        key=call.key,
        undoes=call.undoes,
        flow_run=call.flow_run,
        conversation=call.conversation,
    )


def _bounded(tool: Tool, result: JsonValue) -> JsonValue:
    done = "; it has done what it was called for" if tool.writes else ""
    try:
        size = len(json.dumps(result, ensure_ascii=False, allow_nan=False).encode())
    except ValueError as error:
        raise PermanentToolError(f"{tool.name} gave no JSON: {error}{done}") from error
    if size > RESULT_BYTES:
        raise PermanentToolError(
            f"{tool.name} gave {size} bytes, more than {RESULT_BYTES}; "
            f"ask it for less at a time{done}"
        )
    return result
