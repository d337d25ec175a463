"""Is what was decided what the label says?"""

from collections.abc import Sequence

from pydantic import JsonValue

from router.domain.commands import CallTool, Command, FillSlots, RunSkill, StartFlow
from tests.llm.labelled import Labelled

_NAMES = {
    "reply": "reply",
    "clarify": "clarify",
    "hand_off": "handoff",
    "fill_slots": "fill",
    "cancel_flow": "cancel",
}


def name(command: Command) -> str:
    """What a label calls the command."""
    if isinstance(command, CallTool):
        return command.tool
    if isinstance(command, StartFlow):
        return command.flow
    if isinstance(command, RunSkill):
        return command.skill
    return _NAMES.get(command.type, command.type)


def is_right(commands: Sequence[Command], label: Labelled) -> bool:
    """True where these are the commands of one of the labels, in its order."""
    return [name(command) for command in commands] in label.labels


def values_right(commands: Sequence[Command], label: Labelled) -> list[bool]:
    """For every value that the message states, whether some command has it."""
    given = [_given(command) for command in commands]
    return [
        any(_has(values, one, wanted) for values in given for one in path.split("|"))
        for path, wanted in label.values.items()
    ]


def forbidden(commands: Sequence[Command], label: Labelled) -> list[str]:
    """What of the commands the label forbids."""
    return [name(command) for command in commands if name(command) in label.forbidden]


def _given(command: Command) -> JsonValue:
    if isinstance(command, CallTool):
        return dict(command.arguments)
    if isinstance(command, RunSkill):
        return {"request": command.request}
    return dict(command.slots) if isinstance(command, StartFlow | FillSlots) else {}


def at(values: JsonValue, path: str) -> JsonValue:
    """The value at a path such as `items.0.amount`, or under the path as a name of its own."""
    if isinstance(values, dict) and path in values:
        return values[path]
    for part in path.split("."):
        if isinstance(values, dict):
            values = values.get(part)
        elif isinstance(values, list) and part.isdigit() and int(part) < len(values):
            values = values[int(part)]
        else:
            return None
    return values


def _has(values: JsonValue, path: str, wanted: JsonValue) -> bool:
    if path.endswith("~"):
        return str(wanted).casefold() in str(at(values, path[:-1])).casefold()
    value = at(values, path)
    return value is not None if wanted is None else value == wanted
