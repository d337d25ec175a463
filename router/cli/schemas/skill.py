"""The schema of a skill's front matter, from the rules that it is read by."""

from typing import Any, get_args

from router.cli.schemas.words import JsonSchema
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

TEXT: dict[str, Any] = {"type": ["string", "number", "boolean"], "pattern": r"\S"}
OF_FIELDS: dict[str, tuple[str, Any]] = {
    "roles": ("Who may use it, with spaces between; otherwise everyone.", TEXT),
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
    "model": ("The model's name, where it isn't the usual one for skills.", TEXT),
    "mode": ("react: calls tools until there is an answer; plan: steps side by side.", None),
    "examples": ("What people say who mean it: a sentence a line, in both languages.", TEXT),
}


def skill_schema() -> JsonSchema:
    """What the head of a SKILL.md may hold: see docs/skills.md."""
    ours = {f"{OURS}{key}": _of_field(key) for key in FIELDS}
    for what in ("title", "description"):
        for locale, language in (("zh", "Chinese"), ("en", "English")):
            said = f"The {what} for people who are addressed in {language}."
            ours[f"{OURS}{what}-{locale}"] = {**TEXT, "description": said}
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
