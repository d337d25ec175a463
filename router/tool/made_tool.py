"""Tools whose arguments a JSON Schema describes and that a function calls by name.

Sources of tools make them, for what another system lists.
"""

import inspect
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Literal

from pydantic import JsonValue

from router.domain.errors import DefinitionError, Problem
from router.domain.source_lines import calling_line
from router.tool.context import Dependencies, ToolContext
from router.tool.implementation import Arguments, ArgumentSchema, SchemaImplementation
from router.tool.results import as_json
from router.tool.tool import Permission, Tool, option_faults, seconds_of, titled, word_faults

CallFunction = Callable[[Mapping[str, JsonValue], ToolContext], Awaitable[object]]


@dataclass(frozen=True)
class MadeImplementation(SchemaImplementation):
    """Checks arguments by a schema, and gives them to a function."""

    function: CallFunction
    kind: str

    async def call(self, arguments: Arguments, context: ToolContext, _: Dependencies) -> JsonValue:
        """Call the function; its result as JSON, with its files kept."""
        result = await self.function(self.schema.given(arguments), context)
        return await as_json(result, context.keep)


def make_tool(  # noqa: PLR0913 - each is an option of its own that an author may name
    name: str,
    description: str,
    parameters: Mapping[str, JsonValue],
    call: CallFunction,
    *,
    permission: Permission,
    title: Mapping[Literal["zh", "en"], str] | None = None,
    description_zh: str = "",
    examples: Sequence[str] = (),
    roles: Sequence[str] = (),
    confirm: bool = False,
    idempotent: bool = False,
    timeout: str = "10s",
    retries: int | None = 3,
    kind: str = "extension",
) -> Tool:
    """Make a tool of a JSON Schema and a function.

    People and models call it through the same checks as any other tool. Its results are marked as
    text of strangers.

    Args:
        name: What it is called, such as `catalog__order_badge`.
        description: What it does, as people and models read it.
        parameters: The JSON Schema of its arguments, an object.
        call: An asynchronous function that takes the arguments and the `ToolContext`, which says
            who calls, and returns a result that is JSON. It raises as the function of a `@tool`.
        permission: `read`, `write` or `admin`, as for `@tool`.
        title: Its name for people; made from `name` if left out.
        description_zh: The description in Chinese.
        examples: Sentences of people who mean it, zh and en.
        roles: Who may call it; everyone if empty.
        confirm: Ask the caller before a `read` too.
        idempotent: Whether a write honours `ctx.key`. One that doesn't is never called twice.
        timeout: How long one try may take: "500ms", "10s", "2m".
        retries: How often a call is tried again that failed for the moment; None: until it works.
        kind: What lists of tools call its kind.

    Returns:
        The tool, for `ToolSource.publish`.

    Raises:
        DefinitionError: It can't be a tool; says why, and what would be right.

    Example:
        >>> async def order(arguments, context):
        ...     return {"ordered": arguments["badge"], "for": context.caller.id}
        >>> badge = {"type": "object", "properties": {"badge": {"type": "string"}}}
        >>> make_tool("catalog__order", "Orders a badge.", badge, order, permission="write").writes
        True
    """
    faults = [
        *option_faults(name, permission, timeout, retries, roles),
        *word_faults(title, roles=roles, examples=examples),
    ]
    if not (inspect.iscoroutinefunction(call) or inspect.iscoroutinefunction(type(call).__call__)):
        faults.append((f"is called by {call!r:.80}, which isn't asynchronous", "write `async def`"))
    if kind == "code" or not isinstance(kind, str):
        faults.append((f"has the kind {kind!r:.80}", "name where it comes from"))
    try:
        schema = ArgumentSchema(parameters)
    except (ValueError, TypeError, AttributeError) as error:
        faults.append(
            (f"has parameters that can't be used: {error}", "write a schema of an object")
        )
    source = calling_line()
    if faults:
        said = f"the tool {str(name)[:80]}"
        raise DefinitionError([Problem(*source, f"{said} {what}", so) for what, so in faults])
    return Tool(
        name=name,
        title=titled(name, title),
        description=description,
        examples=tuple(examples),
        permission=permission,
        roles=frozenset(roles),
        confirm=confirm,
        idempotent=idempotent,
        timeout=timedelta(seconds=seconds_of(timeout)),
        retries=retries,
        implementation=MadeImplementation(schema, call, kind),
        source=source,
        description_zh=description_zh,
    )
