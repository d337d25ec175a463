"""Calls of tools, hooks and lookups in tests, each in one line and without a server."""

import asyncio
import logging
from collections.abc import Callable, Collection, Coroutine, Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any, TypeVar
from zoneinfo import ZoneInfo

from pydantic import JsonValue, ValidationError

from router.directory.file import FileDirectory
from router.domain.errors import ArgumentsToolError, InvalidInput
from router.domain.hooks import EVENTS, Advice, Veto
from router.domain.locale import Locale, Localised
from router.domain.principals import DEFAULT_TENANT, FLOW_ROLE, Principal
from router.sdk import people_directory
from router.sdk.lookups import DECLARED_LOOKUPS
from router.story.entries import BEGINS
from router.tool.context import Dependencies, ToolContext
from router.tool.gate import Attempt, screen
from router.tool.hook import Hook
from router.tool.registry import Registry
from router.tool.results import ToolFile
from router.tool.tool import Tool

NOW = BEGINS
"""Wednesday, 2026-11-18 at 10:00 in Shanghai: when calls and stories happen unless told."""
FLOW_RUN = "flow/test"
T = TypeVar("T")
Overrides = Mapping[Any, Callable[..., Any]]
"""By what `Depends` names, the function, generator or class to call instead."""


def make_caller(  # noqa: PLR0913 - each is a field of a person that tests may name
    id: str = "alice",  # noqa: A002 - the field's name
    *,
    name: str = "",
    roles: Collection[str] = (),
    manager: str | None = None,
    department: str = "",
    locale: Locale = "en",
    timezone: str = "Asia/Shanghai",
    tenant: str = DEFAULT_TENANT,
) -> Principal:
    """Return a person who calls tools and talks to the desk.

    Args:
        id: Their user id.
        name: What they are called; their id, capitalised, if left out.
        roles: Their roles in addition to the one that everybody has.
        manager: The user id of their manager.
        department: Their department.
        locale: The language that they are addressed in.
        timezone: Their time zone, as in `Europe/Berlin`.
        tenant: Their tenant.

    Example:
        >>> make_caller("bob", roles=["hr"]).name
        'Bob'
    """
    about = {"id": id, "name": name or id.capitalize(), "tenant": tenant, "manager": manager}
    given = {"department": department, "locale": locale, "timezone": timezone}
    person = Principal.model_validate({**about, **{k: v for k, v in given.items() if v}})
    return person.replace(roles=person.roles | frozenset(roles))


def make_context(
    caller: Principal | str = "alice",
    *,
    now: datetime = NOW,
    key: str = "test",
    locale: Locale | None = None,
    answers: Mapping[str, JsonValue] | None = None,
    files: Mapping[str, ToolFile] | None = None,
    flow_run: str | None = None,
) -> ToolContext:
    """Return what a tool knows of a call.

    Args:
        caller: Who calls, or the user id of somebody of whom nothing else matters.
        now: The moment of the call.
        key: The idempotency key, which a write is given.
        locale: The language of the conversation; the caller's if left out.
        answers: What the caller said to questions that the tool asked back.
        files: The caller's files by id, for `await ctx.file(id)`.
        flow_run: The workflow id of the flow run that calls; `None` if a person does.
    """
    person = make_caller(caller) if isinstance(caller, str) else caller

    async def open_file(id_: str) -> ToolFile:
        if files is None or id_ not in files:
            raise ArgumentsToolError(Localised(zh=f"没有文件 {id_}", en=f"there is no file {id_}"))
        return files[id_]

    async def keep(kept: Mapping[str, ToolFile]) -> None:
        """Results may have files: nothing in a test reads them by their address."""

    return ToolContext(
        caller=person,
        now=now.astimezone(ZoneInfo(person.timezone)),
        logger=logging.LoggerAdapter(logging.getLogger("router.testing")),
        spoken=locale,
        key=key,
        flow_run=flow_run,
        answers=answers or {},
        keep=keep,
        opening=open_file,
    )


def call_tool(
    tool: Tool,
    arguments: Mapping[str, JsonValue] | None = None,
    /,
    *,
    context: ToolContext | None = None,
    overrides: Overrides | None = None,
) -> JsonValue:
    """Call a tool as a flow or a model does, and return its result as JSON.

    Its roles are checked, its arguments, and its own check. A tool for flows alone is called by
    one.

    Args:
        tool: The tool.
        arguments: Its arguments, as JSON.
        context: Who calls, and when; Alice on a Wednesday if left out.
        overrides: What to call in place of its dependencies, by what `Depends` names.

    Raises:
        ArgumentsToolError: The arguments don't fit; each is named.
        Forbidden: The caller has none of the tool's roles.

    Example:
        >>> from router.sdk import tool
        >>> @tool("Adds two numbers.", permission="read")
        ... def add(one: int, other: int) -> int:
        ...     return one + other
        >>> call_tool(add, {"one": 1, "other": 2})
        3
    """
    given, context = dict(arguments or {}), context or make_context()
    by_flow = context.flow_run or (FLOW_RUN if tool.roles == {FLOW_ROLE} else None)
    registry = Registry()
    registry.add(tool)
    screen(registry, Attempt(tool.name, given, context.caller, flow_run=by_flow))
    made = replace(context, flow_run=by_flow)

    async def call(dependencies: Dependencies) -> JsonValue:
        if tool.check is not None:
            await tool.check(given, made, dependencies)
        return await tool.call(given, made, dependencies)

    return _run(call, context.caller, overrides)


def call_hook(
    hook: Hook,
    /,
    *,
    caller: Principal | str = "alice",
    now: datetime = NOW,
    overrides: Overrides | None = None,
    **about: Any,
) -> Veto | Advice | None:
    """Call a hook with the event of its point, and return what it answers.

    Args:
        hook: The hook.
        caller: Whose turn or run it is.
        now: The moment of it.
        overrides: What to call in place of its dependencies, by what `Depends` names.
        about: Fields of the event, such as `text` of a `DecisionEvent`.

    Raises:
        InvalidInput: The event needs more fields, or has no such field.
    """
    person = make_caller(caller) if isinstance(caller, str) else caller
    usual = {"locale": person.locale, "message_id": "test"}
    kind = EVENTS[hook.point]
    given = {name: value for name, value in usual.items() if name in kind.model_fields}
    unknown = about.keys() - kind.model_fields.keys()
    if unknown:
        known = ", ".join(sorted(kind.model_fields))
        raise InvalidInput(f"{kind.__name__} has no {', '.join(unknown)}; it has {known}")
    try:
        moment = now.astimezone(ZoneInfo(person.timezone))
        event = kind.model_validate({"caller": person, "now": moment, **given, **about})
    except ValidationError as error:
        lacks = ", ".join(str(each["loc"][0]) for each in error.errors())
        raise InvalidInput(f"{kind.__name__} needs {lacks}: call_hook(…, {lacks}=…)") from None
    return _run(lambda dependencies: hook.call(event, dependencies), person, overrides)


def call_lookup(
    function: Callable[..., Any],
    /,
    *arguments: JsonValue,
    tenant: str = DEFAULT_TENANT,
    overrides: Overrides | None = None,
) -> JsonValue:
    """Call a lookup as an expression of a flow file does, and return what it answers.

    Args:
        function: The function that `@lookup` decorates.
        arguments: What the expression passes.
        tenant: Whose run it is.
        overrides: What to call in place of its dependencies, by what `Depends` names.
    """
    name = getattr(function, "__name__", repr(function))
    declared = DECLARED_LOOKUPS.get(name)
    if declared is None:
        raise InvalidInput(f"{name} is no lookup; decorate it with @lookup")

    async def call(dependencies: Dependencies) -> JsonValue:
        async with dependencies.call_scope(declared.function) as scope:
            return await declared.answer(tenant, [*arguments], scope)

    return _run(call, make_caller(tenant=tenant), overrides)


def _run(
    call: Callable[[Dependencies], Coroutine[Any, Any, T]],
    caller: Principal,
    overrides: Overrides | None,
) -> T:
    async def run() -> T:
        async with Dependencies() as dependencies:
            dependencies.provide(people_directory, FileDirectory([caller]))
            with dependencies.replace(overrides or {}):
                return await call(dependencies)

    if _is_loop_running():
        remedy = "write `def test_…`, or await the decorated function"
        raise InvalidInput(f"this runs an event loop of its own: {remedy}")
    return asyncio.run(run())


def _is_loop_running() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True
