"""Calling one tool from the command line, through the same gate and ledger as flows do."""

import re
from contextlib import AbstractAsyncContextManager, nullcontext
from datetime import UTC, datetime
from uuid import uuid4

from pydantic import JsonValue

from router.assembly import Parts, assembled
from router.cli.people import person
from router.contracts.activities import ToolCall
from router.dev.data_folder import made
from router.domain.errors import Forbidden, UnusableResult
from router.settings import Settings
from router.upkeep import served


async def call(
    settings: Settings,
    name: str,
    arguments: dict[str, JsonValue],
    *,
    user: str,
    confirmed: bool,
) -> JsonValue:
    """The tool's result; each call of a write has a key of its own, so that two are two.

    Raises:
        RouterError: what refused the call, or what the tool came to.
    """
    caller = person(settings, user)
    made(settings.data)
    async with assembled(settings) as parts, _reached(parts, name):
        tool = parts.offered.registry[name]
        given = ToolCall(
            tool=name,
            arguments=arguments,
            caller=caller,
            key=f"command-line/{uuid4().hex}" if tool.writes else "",
            now=datetime.now(UTC),
        )
        if tool.asks_first and not confirmed:
            await parts.caller.check(given)
            raise Forbidden(f"{name} asks before it is called: look at {arguments}, then add --yes")
        try:
            return await parts.caller.call(given, confirmed)
        except UnusableResult as error:
            raise UnusableResult(f"{name}: {error}; {_remedy(error)}") from error


def _reached(parts: Parts, name: str) -> AbstractAsyncContextManager[object]:
    """The MCP servers, where the tool isn't one of ours: starting them takes a while."""
    return nullcontext() if name in parts.offered.registry else served(parts)


def _remedy(error: UnusableResult) -> str:
    """What whoever wrote the tool does about its result."""
    expected = re.search(r"Expected `([^`]+)`", str(error.__cause__))
    declared = f" ({expected[1]} was expected)" if expected else ""
    return f"mend what it returns, or the type that it declares{declared}"
