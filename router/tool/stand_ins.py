"""Tools in stories that stand in for tools of other systems, to which stories don't connect.

A stand-in answers what the story says, and takes any arguments: only the other system knows which
ones the tool has.
"""

from dataclasses import dataclass
from datetime import timedelta

from pydantic import JsonValue

from router.domain.errors import PermanentToolError
from router.domain.locale import Localised
from router.domain.source_lines import SourceLine
from router.tool.context import Dependencies, ToolContext
from router.tool.implementation import Arguments, ArgumentSchema, SchemaImplementation
from router.tool.tool import Tool, ToolOptions, titled

_ANY_ARGUMENTS: dict[str, JsonValue] = {"type": "object", "additionalProperties": True}
_TIMEOUT = timedelta(seconds=20)


@dataclass(frozen=True)
class StandInImplementation(SchemaImplementation):
    """Refuses the call: a call that the story answers doesn't come here."""

    name: str
    kind: str

    async def call(self, _: Arguments, __: ToolContext, ___: Dependencies) -> JsonValue:
        """Raise `PermanentToolError`, which says what to write in the story."""
        raise PermanentToolError(
            Localised(
                zh=f"故事里不连接其他系统，请写明结果：tool_answers: {{{self.name}: …}}",
                en="stories connect to no other system: say what it answers, as in "
                f"tool_answers: {{{self.name}: …}}",
            )
        )


def make_stand_in(name: str, kind: str, source: SourceLine | None = None) -> Tool:
    """Return a tool that stands in for the one of this name, of which nothing else is known.

    It may write, so that only people who have confirmed it, and flows, have it called.
    """
    return Tool(
        name=name,
        title=titled(name),
        description=name,
        examples=(),
        permission="write",
        roles=frozenset(),
        confirm=False,
        idempotent=False,
        timeout=_TIMEOUT,
        retries=3,
        implementation=StandInImplementation(ArgumentSchema(_ANY_ARGUMENTS), name, kind),
        source=source or SourceLine(kind, 1),
        options=ToolOptions(per_minute=None),
    )
