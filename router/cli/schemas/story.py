"""The schema of a file of stories, from the tables that stories are read by."""

from typing import Any, get_args

from router.cli.schemas.flow import DURATION
from router.cli.schemas.words import JsonSchema
from router.domain.messages import FlowStatus
from router.domain.texts import LOCALES
from router.flow.run import Verdict
from router.story.reading import OF_STORY
from router.story.step_reading import BESIDE, EXPECTED, FAILINGS, NAMES_SOMEONE

TEXT = {"type": "string", "pattern": r"\S"}
VERDICT = {"enum": list(get_args(Verdict))}
FAILS = {"type": "object", "additionalProperties": {"enum": [*FAILINGS, False]}}
SAYS = {"anyOf": [TEXT, {"type": "array", "minItems": 1, "items": TEXT}]}
STANDS = {
    "flow": TEXT,
    "status": {"enum": list(get_args(FlowStatus))},
    "state": TEXT,
    "slots": {"type": "object"},
    "awaiting": {"type": ["array", "string"]},
    "approvers": {"type": ["array", "string"]},
}
SORTS: dict[str, tuple[str, Any]] = {
    "user": (
        "What the user says, or does instead: {confirm: true}, {choose: …}, {form: {…}}.",
        {"anyOf": [TEXT, {"type": "object", "minProperties": 1}]},
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
                TEXT,
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
    "tool": ("A tool that was called in this story.", TEXT),
    "tool_fails": ("Tools that fail from here on, and how.", FAILS),
    "withdraw": ("The requester takes it back, outside the conversation.", {"const": True}),
    "nudge": ("The requester reminds the approvers.", {"const": True}),
    "event": (
        "Something happens outside; the rest are its fields.",
        {"anyOf": [TEXT, {"type": "object", "required": ["name"], "properties": {"name": TEXT}}]},
    ),
}
BESIDES: dict[str, Any] = {
    "decides": VERDICT,
    "comment": TEXT,
    "to": {**TEXT, "description": f"Whom {' and '.join(sorted(NAMES_SOMEONE))} name."},
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
    "story": {**TEXT, "description": "Its name."},
    "user": {**TEXT, "description": "A user of the directory; alice where it is left out."},
    "locale": {"enum": list(LOCALES), "description": "What is spoken; else the user's language."},
    "now": {
        "type": "string",
        "description": "When it begins; otherwise Wednesday, 2026-11-18T10:00+08:00.",
        "examples": ["2026-11-18T10:00+08:00"],
    },
    "tool_fails": {**FAILS, "description": "Tools that fail from the beginning, and how."},
    "steps": {"$ref": "#/$defs/steps"},
}
