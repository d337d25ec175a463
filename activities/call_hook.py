"""The activity behind every hook: what it answers, or why that isn't heard."""

import asyncio
import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from time import monotonic

from pydantic import ValidationError
from temporalio import activity
from temporalio.common import RawValue

from activities.execution import temporal_failures, unforeseen
from router.contracts.hook_calls import NO_ANSWER, PREFIX, HookAnswer, HookCall
from router.domain.errors import BrokenHook, InvalidInput, NotDeployed, RouterError
from router.domain.hooks import Advice, HookPoint, Veto
from router.domain.locale import Localised
from router.telemetry import tracing
from router.telemetry.logs import about
from router.telemetry.metrics import HOOKS
from router.tool.context import Dependencies
from router.tool.hook import Hook, Hooks

_log = logging.getLogger("router.hooks")


class HookCaller:
    """Calls hooks, within their time and for what they may answer alone."""

    def __init__(self, hooks: Hooks, dependencies: Dependencies) -> None:
        self._hooks = hooks
        self._dependencies = dependencies

    async def call(self, name: str, call: HookCall) -> HookAnswer:
        """What the hook answers.

        Raises `NotDeployed` where there is none of that name at that point any more, `BrokenHook`
        where it fails, takes too long, or answers what it may not.
        """
        if name not in self._hooks or self._hooks[name].point != call.event.point:
            raise hook_not_deployed(name, call.event.point)
        hook = self._hooks[name]
        with _measured(hook):
            return await self._answered(hook, call)

    async def _answered(self, hook: Hook, call: HookCall) -> HookAnswer:
        seconds = hook.timeout.total_seconds()
        try:
            async with asyncio.timeout(seconds) as limit:
                answer = await hook.call(call.event, self._dependencies)
        except TimeoutError as error:
            took = f"took longer than {seconds:g} s"
            why = took if limit.expired() else "failed: what it waited for took too long"
            raise _broken(hook, why) from error
        except RouterError as error:
            raise _broken(hook, f"failed: {error}") from error
        except Exception as error:
            # Its own words may hold anything: they go to the log alone.
            told = unforeseen(error, f"the hook {hook.name}", hook.name, _log)
            raise BrokenHook(told.said) from error
        match answer:
            case Veto(say=words):
                return HookAnswer(refused=words, refused_by=hook.name)
            case Advice(say=words, context=context, hide=hide):
                said = () if words is None else (words,)
                return HookAnswer(say=said, context=context, hide=hide)
        return NO_ANSWER


def hook_not_deployed(name: str, point: HookPoint) -> NotDeployed:
    """Return the error for a hook that a run began with and this deployment doesn't have."""
    zh = f"现在的部署里没有 {point} 处的钩子“{name}”，请管理员把它部署回来"
    en = f"this deployment has no hook named {name!r} at {point}; deploy it again"
    return NotDeployed(Localised(zh=zh, en=en))


def _broken(hook: Hook, what: str) -> BrokenHook:
    _log.error("the hook %s %s", hook.name, what)
    zh = f"钩子 {hook.name} 没有给出可用的回答（{what}）"
    return BrokenHook(Localised(zh=zh, en=f"the hook {hook.name} {what}"))


@contextmanager
def _measured(hook: Hook) -> Iterator[None]:
    began, outcome = monotonic(), "done"
    try:
        with tracing.span(f"hook {hook.name}", attributes={"router.hook.point": hook.point}):
            yield
    except BaseException as error:
        outcome = type(error).__name__
        raise
    finally:
        HOOKS.labels(hook.name, hook.point, outcome).observe(monotonic() - began)


def is_of_hook(name: str) -> bool:
    """True where an activity of this name is a hook's."""
    return name.startswith(PREFIX)


class HookActivity:
    """What the activity of a hook's name does."""

    def __init__(self, caller: HookCaller) -> None:
        self._caller = caller

    async def call_hook(self, arguments: Sequence[RawValue]) -> HookAnswer:
        """Call the hook that the activity is named after, with a `HookCall` as its input."""
        name = activity.info().activity_type
        with temporal_failures():
            try:
                (raw,) = arguments
                call = activity.payload_converter().from_payload(raw.payload, HookCall)
            except (ValueError, ValidationError, RuntimeError) as error:
                raise InvalidInput(f"{name} was sent no call of a hook: {error}") from error
            place = getattr(call.event, "message_id", "")
            with about(call.event.conversation, place):
                return await self._caller.call(name.removeprefix(PREFIX), call)
