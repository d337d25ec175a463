"""How a conversation stands, as the state that a front end shares, and what changes in it."""

from typing import Any

from ag_ui.core import StateDeltaEvent
from pydantic import JsonValue

from router.contracts.conversation import ConversationStatus
from router.domain.messages import FlowSummary
from router.domain.texts import Locale

State = dict[str, JsonValue]


def state_of(
    standing: ConversationStatus, locale: Locale, touched: FlowSummary | None = None
) -> State:
    """The state; a flow that the run `touched` is shown in it even if it ended by that."""
    flow = touched or standing.active_flow
    skill = standing.active_skill
    return {
        "flow": flow.model_dump(mode="json") if flow else None,
        "paused_flows": [paused.model_dump(mode="json") for paused in standing.paused_flows],
        "skill": {
            "name": skill.name,
            "title": skill.title.within(locale),
            "asking": skill.asking,
        }
        if skill
        else None,
    }


def delta(before: State, after: State) -> list[StateDeltaEvent]:
    """What became of it, as a JSON Patch; nothing where nothing did."""
    operations = patch(before, after)
    return [StateDeltaEvent.model_validate({"delta": operations})] if operations else []


def patch(before: Any, after: Any, path: str = "") -> list[dict[str, Any]]:
    """The RFC 6902 operations by which the one JSON value becomes the other.

    Objects are changed key by key, all else is replaced as a whole.

    >>> patch({"a": 1, "b/c": 2}, {"a": 1, "b/c": 3, "d": []})
    [{'op': 'replace', 'path': '/b~1c', 'value': 3}, {'op': 'add', 'path': '/d', 'value': []}]
    """
    if before == after and type(before) is type(after):
        return []
    if not (isinstance(before, dict) and isinstance(after, dict)):
        return [{"op": "replace", "path": path, "value": after}]
    operations: list[dict[str, Any]] = []
    for key in before.keys() | after.keys():
        place = f"{path}/{key.replace('~', '~0').replace('/', '~1')}"
        if key not in after:
            operations.append({"op": "remove", "path": place})
        elif key not in before:
            operations.append({"op": "add", "path": place, "value": after[key]})
        else:
            operations += patch(before[key], after[key], place)
    return sorted(operations, key=lambda operation: str(operation["path"]))
