"""Arguments that a model gives to a tool, before anybody believes them."""

from collections.abc import Mapping

from pydantic import JsonValue

from router.tool.tool import Tool

_SHOWN = 3


def known(tool: Tool, arguments: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
    """Those that the tool has; models like to add others, which mean nothing."""
    names = tool.argument_names
    return {name: value for name, value in arguments.items() if name in names}


def problem(tool: Tool, arguments: Mapping[str, JsonValue]) -> str | None:
    """What is wrong with them, for the model to mend; None where nothing is."""
    return "; ".join(tool.implementation.problems(arguments)[:_SHOWN]) or None
