"""JSON Schemas of the files that people write, from the models they are read by.

`python -m router.cli.schemas` writes the schemas anew, after a change of what files may hold.
"""

import ast
import inspect
import json
import textwrap
from collections.abc import Callable, Iterable, Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any

from pydantic import BaseModel, TypeAdapter

from router.directory.file import PersonEntry
from router.directory.persona import Persona
from router.directory.tenants import SelectionOfNames, TenantEntry
from router.flow.definition import FlowDefinition
from router.flow.registration import find_added_kinds
from router.flow.slot_types.slot import SLOT_TYPES
from router.flow.states import FILE_MODELS
from router.flow.validation.patterns import NAME as WORD
from router.flow.validation.references import NAME
from router.settings import RoleModel
from router.skill.front_matter import LONGEST_COMPATIBILITY, OURS, FrontMatter
from router.story.entries import STEPS, StoryEntry

_OTHERS = frozenset({"builtins", "abc", "typing", "pydantic", "pydantic_settings"})
"""Whose classes say nothing about our keys."""


def attribute_docs(model: type) -> dict[str, str]:
    """The meaning of each attribute that has one, by its name, as one line.

    Inherited attributes are described where they are declared; the source has to be at hand.

    >>> attribute_docs(Retry)["attempts"]  # doctest: +SKIP
    'Calls in all.'
    """
    found: dict[str, str] = {}
    for each in reversed(model.__mro__):
        if each.__module__.partition(".")[0] not in _OTHERS:
            found |= _declared(each)
    return found


def _declared(model: type) -> dict[str, str]:
    module = ast.parse(textwrap.dedent(inspect.getsource(model)))
    return {
        attribute.target.id: " ".join(below.value.value.split())
        for declared in module.body
        if isinstance(declared, ast.ClassDef)
        for attribute, below in pairwise(declared.body)
        if isinstance(attribute, ast.AnnAssign)
        and isinstance(attribute.target, ast.Name)
        and isinstance(below, ast.Expr)
        and isinstance(below.value, ast.Constant)
        and isinstance(below.value.value, str)
    }


JsonSchema = dict[str, Any]


def described(schema: JsonSchema, models: Iterable[type[BaseModel]]) -> JsonSchema:
    """The schema with the words below these models' fields at them, for an editor."""
    definitions = {**schema.get("$defs", {}), schema.get("title", ""): schema}
    for model in models:
        properties = definitions.get(model.__name__, {}).get("properties", {})
        for name, said in attribute_docs(model).items():
            key = (model.model_fields[name].alias or name) if name in model.model_fields else ""
            if key in properties:
                properties[key]["description"] = said
    return schema


DURATION = {"type": "string", "pattern": "^[+-]?P", "examples": ["PT24H", "P14D"]}


def flow_schema() -> JsonSchema:
    """What a flow file may hold: see docs/flows.md."""
    models = (*FILE_MODELS, *find_added_kinds())
    schema = described(FlowDefinition.model_json_schema(by_alias=True), models)
    schema["title"] = "A flow of intent-router"
    named, parts = {"propertyNames": {"pattern": f"^{NAME.pattern[:-2]}$"}}, schema["$defs"]
    schema["properties"]["version"]["minimum"] = 1
    schema["properties"]["flow"] |= {"pattern": named["propertyNames"]["pattern"]}
    for key in ("slots", "states"):
        schema["properties"][key] |= named
    for part in parts.values():
        for key in [key for key in part.get("properties", {}) if key.startswith("=")]:
            del part["properties"][key]
    parts["Slot"]["properties"]["fields"] |= named
    for key, least in {"min": 0, "max": 1, "max_length": 1}.items():
        parts["Slot"]["properties"][key]["minimum"] = least
    # A slot has the part that its type is made of, and no other type's.
    parts["Slot"]["allOf"] = [
        {
            "if": {"properties": {"type": {"const": kind.name}}, "required": ["type"]},
            "then": {"required": [kind.made_of]},
            "else": {"not": {"required": [kind.made_of]}},
        }
        for kind in SLOT_TYPES.values()
        if kind.made_of
    ]
    word = {"pattern": f"^{WORD.pattern[:-2]}$"}
    parts["Triggers"]["properties"]["words"]["propertyNames"] = word
    parts["SayState"]["anyOf"] = [{"required": ["say"]}, {"required": ["end"]}]
    found: JsonSchema = _with_durations(schema)
    return found


def _with_durations(found: Any) -> Any:
    """Durations as files write them: pydantic's format alone would allow more."""
    if isinstance(found, list):
        return [_with_durations(each) for each in found]
    if not isinstance(found, dict):
        return found
    extra = DURATION if found.get("format") == "duration" else {}
    return {key: _with_durations(each) for key, each in found.items() if key != "format"} | extra


def directory_schema() -> JsonSchema:
    """What a directory file may hold: people, by a list."""
    person = described(PersonEntry.model_json_schema(by_alias=True), [PersonEntry])
    definitions = person.pop("$defs", {})
    return {
        "title": "The people of intent-router",
        "type": "object",
        "required": ["users"],
        "properties": {
            "users": {"type": "array", "minItems": 1, "items": {"$ref": "#/$defs/PersonEntry"}}
        },
        "$defs": {**definitions, "PersonEntry": person},
    }


def persona_schema() -> JsonSchema:
    """What a persona's file may hold: see docs/persona.md."""
    return {**Persona.model_json_schema(), "title": "Who the desk of intent-router is"}


def tenants_schema() -> JsonSchema:
    """What a file of tenants may hold: see docs/persona.md."""
    entries = TypeAdapter(dict[str, TenantEntry | None]).json_schema(by_alias=True)
    described({"$defs": entries["$defs"]}, [TenantEntry, SelectionOfNames, RoleModel])
    return {**entries, "title": "The tenants of intent-router", "minProperties": 1}


def skill_schema() -> JsonSchema:
    """What the head of a SKILL.md may hold: see docs/skills.md."""
    schema = FrontMatter.model_json_schema()
    schema |= {"title": "Front matter of a skill", "additionalProperties": True}
    schema["properties"] |= {
        "compatibility": {"type": ["string", "null"], "maxLength": LONGEST_COMPATIBILITY},
        "allowed-tools": {"description": "A ceiling: names with spaces between; else any."},
    }
    ours = schema["$defs"].pop("SkillMetadata") | {
        "type": ["object", "null"],
        "patternProperties": {f"^(?!{OURS.replace('.', '[.]')})": True},
    }
    schema["properties"]["metadata"] = ours
    return schema


def story_schema() -> JsonSchema:
    """What a file of stories may hold: see docs/flows.md."""
    definitions = {"story": StoryEntry.model_json_schema()}
    definitions |= {sort: step.model_json_schema() for sort, step in STEPS.items()}
    inner = [each.pop("$defs", {}) for each in definitions.values()]
    definitions["story"]["properties"]["steps"] = {"$ref": "#/$defs/steps"}
    bare = {"type": "object", "minProperties": 1, "additionalProperties": {"$ref": "#/$defs/steps"}}
    names = {"propertyNames": {"not": {"enum": list(StoryEntry.model_fields)}}}
    once = {**bare, **names, "maxProperties": 1}
    each = {"anyOf": [{"$ref": "#/$defs/story"}, once]}
    steps = {"oneOf": [{"$ref": f"#/$defs/{sort}"} for sort in STEPS]}
    return {
        "title": "Stories of intent-router",
        "description": "Dialogues with flows, run by `intent-router flows test`.",
        "anyOf": [{"type": "array", "minItems": 1, "items": each}, bare],
        "$defs": {
            **{name: one for found in inner for name, one in found.items()},
            **definitions,
            "steps": {"type": "array", "minItems": 1, "items": steps},
        },
    }


DIALECT = "https://json-schema.org/draft/2020-12/schema"
BUILDERS: Mapping[str, Callable[[], JsonSchema]] = {
    "flow": flow_schema,
    "story": story_schema,
    "skill": skill_schema,
    "directory": directory_schema,
    "persona": persona_schema,
    "tenants": tenants_schema,
}


def built(name: str) -> str:
    """The schema of this name as it should ship."""
    return written(BUILDERS[name]())


def written(schema: JsonSchema) -> str:
    """Return a schema as it ships, as JSON."""
    whole = {"$schema": DIALECT, **_worded(schema)}
    return json.dumps(whole, ensure_ascii=False, indent=2) + "\n"


NAMING = ("properties", "$defs", "patternProperties")


def _worded(found: Any, *, named: bool = False) -> Any:
    """One-line descriptions, no titles that pydantic makes; below `named`, keys are of files."""
    if isinstance(found, list):
        return [_worded(each) for each in found]
    if not isinstance(found, dict):
        return found
    kept = {}
    for key, value in found.items():
        if not named and key == "description":
            first = value.partition("\n\n")[0]
            kept[key] = " ".join(first.replace("`", "").split())
        elif named or ((key != "title" or "$defs" in found) and (key, value) != ("default", None)):
            kept[key] = _worded(value, named=not named and key in NAMING)
    return kept


def build() -> None:
    """Write every schema to where it ships from."""
    folder = Path(__file__).parents[1] / "schemas"
    folder.mkdir(exist_ok=True)
    for name in BUILDERS:
        (folder / f"{name}.json").write_text(built(name), encoding="utf-8")


if __name__ == "__main__":
    build()
