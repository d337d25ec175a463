"""JSON Schemas of the files that people write, from the models and tables they are read by.

What is said of a model's fields where they are declared: the texts below them, for an editor.

The schema of a flow file, from the model that flows are read into.

The schemas of directory and MCP files, from the models that they are read into.

The schema of a skill's front matter, from the rules that it is read by.

The schema of a file of stories, from the tables that stories are read by.

The schema of a file of declared tools, from the rules that it is read by.

Building every schema from the models and tables that the files are read by.

`python -m router.cli.schemas` writes the schemas anew, after a change of what files may hold.
"""

import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any, get_args

from pydantic import BaseModel, TypeAdapter

from router.cli.schema import FOLDER, NAMES
from router.directory.file import PersonEntry
from router.documents.attribute_docs import attribute_docs
from router.domain.locale import LOCALES
from router.domain.messages import FlowStatus
from router.flow.definition import FILE_MODELS, SKIPPABLE, STATE_KINDS, FlowDefinition
from router.flow.engine.run import Verdict
from router.flow.validation.patterns import NAME as WORD
from router.flow.validation.references import NAME
from router.flow.validation.slots import PARTS
from router.skill.front_matter import (
    FIELDS,
    LONGEST_COMPATIBILITY,
    LONGEST_DESCRIPTION,
    LONGEST_NAME,
    MOST_TOKENS,
    MOST_TURNS,
    OURS,
)
from router.skill.skill import MAX_TURNS, TOKEN_BUDGET, Mode
from router.story.loader import BESIDE, EXPECTED, FAILINGS, NAMES_SOMEONE, OF_STORY
from router.tool.http.declaration import HttpToolEntry, SelectionEntry
from router.tool.mcp.file import LONGEST_SERVER, SERVER, ServerEntry, ToolEntry

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
    schema = described(FlowDefinition.model_json_schema(by_alias=True), FILE_MODELS)
    schema["title"] = "A flow of intent-router"
    named, parts = {"propertyNames": {"pattern": f"^{NAME.pattern[:-2]}$"}}, schema["$defs"]
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


def mcp_schema() -> JsonSchema:
    """What a file of MCP servers may hold: see docs/tools.md."""
    servers = TypeAdapter(dict[str, ServerEntry]).json_schema(by_alias=True)
    definitions = described(servers, [ServerEntry, ToolEntry]).pop("$defs")
    one_way = [{"required": [key], "properties": {key: {"type": "string"}}} for key in _WAYS]
    definitions["ServerEntry"] |= {"oneOf": one_way}
    by_name = {
        "type": "object",
        "properties": {"$schema": {"type": "string"}},
        "propertyNames": {
            "anyOf": [
                {"const": "$schema"},
                {"pattern": f"^{SERVER.pattern}$", "maxLength": LONGEST_SERVER},
            ]
        },
        "additionalProperties": {"$ref": "#/$defs/ServerEntry"},
    }
    wrapped = {
        "type": "object",
        "properties": {"$schema": {"type": "string"}, "mcpServers": by_name},
        "additionalProperties": False,
    }
    return {
        "title": "MCP servers of intent-router",
        "type": "object",
        "if": {"required": ["mcpServers"]},
        "then": wrapped,
        "else": by_name,
        "$defs": definitions,
    }


_WAYS = ("command", "url")


HEAD_TEXT: dict[str, Any] = {"type": ["string", "number", "boolean"], "pattern": r"\S"}
OF_FIELDS: dict[str, tuple[str, Any]] = {
    "roles": ("Who may use it, with spaces between; otherwise everyone.", HEAD_TEXT),
    "max-turns": (
        f"Model calls at most, 1 to {MOST_TURNS}; otherwise {MAX_TURNS}.",
        {"type": ["string", "integer"], "minimum": 1, "maximum": MOST_TURNS, "pattern": "^[0-9]+$"},
    ),
    "token-budget": (
        f"Tokens of all calls together, up to {MOST_TOKENS}; otherwise {TOKEN_BUDGET}.",
        {
            "type": ["string", "integer"],
            "minimum": 1,
            "maximum": MOST_TOKENS,
            "pattern": "^[0-9]+$",
        },
    ),
    "model": ("The model's name, where it isn't the usual one for skills.", HEAD_TEXT),
    "mode": ("react: calls tools until there is an answer; plan: steps side by side.", None),
    "examples": ("What people say who mean it: a sentence a line, in both languages.", HEAD_TEXT),
}


def skill_schema() -> JsonSchema:
    """What the head of a SKILL.md may hold: see docs/skills.md."""
    ours = {f"{OURS}{key}": _of_field(key) for key in FIELDS}
    for what in ("title", "description"):
        for locale, language in (("zh", "Chinese"), ("en", "English")):
            said = f"The {what} for people who are addressed in {language}."
            ours[f"{OURS}{what}-{locale}"] = {**HEAD_TEXT, "description": said}
    return {
        "title": "Front matter of a skill",
        "description": "The head of a SKILL.md in the Agent Skills format.",
        "type": "object",
        "required": ["name", "description"],
        "properties": {
            "name": {
                "type": "string",
                "description": "The folder's name, in kebab-case.",
                "maxLength": LONGEST_NAME,
                "pattern": "^[^\\sA-Z_-]+(-[^\\sA-Z_-]+)*$",
                "examples": ["policy-advisor"],
            },
            "description": {
                "type": "string",
                "description": "What it does, when to use it, and what it doesn't do.",
                "maxLength": LONGEST_DESCRIPTION,
                "pattern": r"\S",
            },
            "license": {"description": "Such as Apache-2.0."},
            "compatibility": {"type": ["string", "null"], "maxLength": LONGEST_COMPATIBILITY},
            "allowed-tools": {"description": "A ceiling: names with spaces between; else any."},
            "metadata": {
                "type": ["object", "null"],
                "properties": ours,
                "patternProperties": {f"^(?!{OURS.replace('.', '[.]')})": True},
                "additionalProperties": False,
            },
        },
    }


def _of_field(key: str) -> JsonSchema:
    said, value = OF_FIELDS[key]
    return {**(value or {"enum": list(get_args(Mode))}), "description": said}


def tools_schema() -> JsonSchema:
    """What a file of declared tools may hold: see docs/tools.md."""
    schema = TypeAdapter(HttpToolEntry | SelectionEntry).json_schema()
    definitions = schema["$defs"]
    for each in ("HttpToolEntry", "SelectionEntry"):
        definitions[each]["properties"] |= EDITORS_KEY
    definitions["entry"] = {
        "if": {"required": ["openapi"]},
        "then": {"$ref": "#/$defs/SelectionEntry"},
        "else": {"$ref": "#/$defs/HttpToolEntry"},
    }
    return {
        "title": "Tools that intent-router calls over HTTP",
        "if": {"type": "array"},
        "then": {"type": "array", "items": {"$ref": "#/$defs/entry"}},
        "else": {"$ref": "#/$defs/entry"},
        "$defs": definitions,
    }


EDITORS_KEY = {"$schema": {"type": "string"}}


STORY_TEXT = {"type": "string", "pattern": r"\S"}
VERDICT = {"enum": list(get_args(Verdict))}
FAILS = {"type": "object", "additionalProperties": {"enum": [*FAILINGS, False]}}
SAYS = {"anyOf": [STORY_TEXT, {"type": "array", "minItems": 1, "items": STORY_TEXT}]}
STANDS = {
    "flow": STORY_TEXT,
    "status": {"enum": list(get_args(FlowStatus))},
    "state": STORY_TEXT,
    "slots": {"type": "object"},
    "awaiting": {"type": ["array", "string"]},
    "approvers": {"type": ["array", "string"]},
}
SORTS: dict[str, tuple[str, Any]] = {
    "user": (
        "What the user says, or does instead: {confirm: true}, {choose: …}, {form: {…}}.",
        {"anyOf": [STORY_TEXT, {"type": "object", "minProperties": 1}]},
    ),
    "bot": ("What was said since the last act; /…/ is RE2; of a list all, in order.", SAYS),
    "expect": (
        "How the newest run stands, or that of the flow named.",
        {
            "type": "object",
            "minProperties": 1,
            "additionalProperties": False,
            "properties": {key: STANDS[key] for key in EXPECTED},
        },
    ),
    "approver": (
        "Who decides on what waits for them, and how: {bob: approve}.",
        {
            "anyOf": [
                STORY_TEXT,
                {
                    "type": "object",
                    "minProperties": 1,
                    "maxProperties": 1,
                    "additionalProperties": VERDICT,
                },
            ]
        },
    ),
    "after": ("So much time passes, with all that is due in it.", DURATION),
    "tool": ("A tool that was called in this story.", STORY_TEXT),
    "tool_fails": ("Tools that fail from here on, and how.", FAILS),
    "withdraw": ("The requester takes it back, outside the conversation.", {"const": True}),
    "nudge": ("The requester reminds the approvers.", {"const": True}),
    "event": (
        "Something happens outside; the rest are its fields.",
        {
            "anyOf": [
                STORY_TEXT,
                {"type": "object", "required": ["name"], "properties": {"name": STORY_TEXT}},
            ]
        },
    ),
}
BESIDES: dict[str, Any] = {
    "decides": VERDICT,
    "comment": STORY_TEXT,
    "to": {**STORY_TEXT, "description": f"Whom {' and '.join(sorted(NAMES_SOMEONE))} name."},
    "with": {"type": "object", "description": "At least these arguments."},
    "times": {"type": "integer", "minimum": 0, "description": "How often; 0 is never."},
}


def story_schema() -> JsonSchema:
    """What a file of stories may hold: see docs/flows.md."""
    story = {
        "type": "object",
        "additionalProperties": False,
        "required": ["story", "steps"],
        "properties": {key: _OF_STORY[key] for key in OF_STORY},
    }
    bare = {"type": "object", "minProperties": 1, "additionalProperties": {"$ref": "#/$defs/steps"}}
    once = {**bare, "maxProperties": 1, "propertyNames": {"not": {"enum": list(OF_STORY)}}}
    stories = {"type": "array", "minItems": 1, "items": {"anyOf": [story, once]}}
    return {
        "title": "Stories of intent-router",
        "description": "Dialogues with flows, run by `intent-router flows test`.",
        "anyOf": [stories, bare],
        "$defs": {
            "steps": {"type": "array", "minItems": 1, "items": {"$ref": "#/$defs/step"}},
            "step": {"oneOf": [_step(sort) for sort in BESIDE]},
        },
    }


def _step(sort: str) -> JsonSchema:
    said, value = SORTS[sort]
    beside = {key: BESIDES[key] for key in BESIDE[sort]}
    return {
        "type": "object",
        "description": said,
        "additionalProperties": False,
        "required": [sort],
        "properties": {sort: {**value, "description": said}, **beside},
    }


_OF_STORY: dict[str, Any] = {
    "story": {**STORY_TEXT, "description": "Its name."},
    "user": {**STORY_TEXT, "description": "A user of the directory; alice where it is left out."},
    "locale": {"enum": list(LOCALES), "description": "What is spoken; else the user's language."},
    "now": {
        "type": "string",
        "description": "When it begins; otherwise Wednesday, 2026-11-18T10:00+08:00.",
        "examples": ["2026-11-18T10:00+08:00"],
    },
    "tool_fails": {**FAILS, "description": "Tools that fail from the beginning, and how."},
    "steps": {"$ref": "#/$defs/steps"},
}


DIALECT = "https://json-schema.org/draft/2020-12/schema"
BUILDERS: Mapping[str, Callable[[], JsonSchema]] = {
    "flow": flow_schema,
    "story": story_schema,
    "skill": skill_schema,
    "tools": tools_schema,
    "mcp": mcp_schema,
    "directory": directory_schema,
}


def built(name: str) -> str:
    """The schema of this name as it should ship."""
    schema = {"$schema": DIALECT, **_worded(BUILDERS[name]())}
    return json.dumps(schema, ensure_ascii=False, indent=2) + "\n"


def _worded(found: Any, *, named: bool = False) -> Any:
    """A schema for people: descriptions on one line, and no titles that pydantic makes of names.

    Below what is `named`, keys are those of files.
    """
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
            kept[key] = _worded(value, named=not named and key in _NAMED)
    return kept


_NAMED = ("properties", "$defs", "patternProperties")


def build() -> None:
    """Write every schema to where it ships from."""
    FOLDER.mkdir(exist_ok=True)
    for name, file in NAMES.items():
        (FOLDER / file).write_text(built(name), encoding="utf-8")


build()
