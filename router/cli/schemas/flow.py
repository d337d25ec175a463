"""The schema of a flow file, from the model that flows are read into."""

from typing import Any

from router.cli.schemas.words import JsonSchema, described
from router.flow.model import FILE_MODELS, SKIPPABLE, STATE_KINDS, FlowDefinition
from router.flow.rules import RULES
from router.flow.validation.references import NAME
from router.flow.validation.slots import PARTS
from router.flow.validation.words import NAME as WORD

DURATION = {"type": "string", "pattern": "^[+-]?P", "examples": ["PT24H", "P14D"]}


def flow_schema() -> JsonSchema:
    """What a flow file may hold: see docs/flows.md."""
    schema = described(FlowDefinition.model_json_schema(by_alias=True), FILE_MODELS)
    schema["title"] = "A flow of intent-router"
    named, parts = {"propertyNames": {"pattern": f"^{NAME.pattern[:-2]}$"}}, schema["$defs"]
    schema["properties"].pop(RULES)
    schema["properties"]["version"]["minimum"] = 1
    schema["properties"]["flow"] |= {"pattern": named["propertyNames"]["pattern"]}
    for key in ("slots", "states"):
        schema["properties"][key] |= named
    parts["Slot"]["properties"].pop(SKIPPABLE)
    parts["Slot"]["properties"]["fields"] |= named
    parts["Slot"]["properties"] |= _limits(parts["Slot"]["properties"])
    parts["Slot"]["allOf"] = [_part(kind, part) for kind, part in PARTS.items()]
    word = {"pattern": f"^{WORD.pattern[:-2]}$"}
    parts["Triggers"]["properties"]["words"]["propertyNames"] = word
    parts["State"]["oneOf"] = _kinds()
    found: JsonSchema = _with_durations(schema)
    return found


def _limits(properties: JsonSchema) -> JsonSchema:
    least = {"min": 0, "max": 1, "max_length": 1}
    return {key: {**properties[key], "minimum": least[key]} for key in least}


def _part(kind: str, part: str) -> JsonSchema:
    """A slot has the part that its type is made of, and no other type's."""
    return {
        "if": {"properties": {"type": {"const": kind}}, "required": ["type"]},
        "then": {"required": [part]},
        "else": {"not": {"required": [part]}},
    }


def _kinds() -> list[JsonSchema]:
    """A state does one thing, or merely ends."""
    kinds: list[JsonSchema] = [{"required": [kind]} for kind in STATE_KINDS]
    return [*kinds, {"required": ["end"], "not": {"anyOf": kinds}}]


def _with_durations(found: Any) -> Any:
    """Durations as files write them: pydantic's format alone would allow more."""
    if isinstance(found, list):
        return [_with_durations(each) for each in found]
    if not isinstance(found, dict):
        return found
    extra = DURATION if found.get("format") == "duration" else {}
    return {key: _with_durations(each) for key, each in found.items() if key != "format"} | extra
