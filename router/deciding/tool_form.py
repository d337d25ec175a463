"""Any tool as a form: a flow that asks for its arguments, calls it and says what it found.

So every tool can be used with no model at all, through the same machine as any flow: what
it needs is asked, checked and confirmed there, and the call is an activity of the tool's name.
"""

import re
from typing import Any

from router.domain.texts import Localised
from router.flow.model import Choice, FlowDefinition, RangePart, Slot, State, Triggers
from router.flow.wording import named
from router.tool.labels import choice_in, label_in
from router.tool.tool import Tool

PLAIN: dict[str, str] = {
    "string": "text",
    "number": "number",
    "integer": "integer",
    "boolean": "boolean",
}

_TEMPLATE = re.compile(r"\{(?=[{%#])")

UNKNOWN = 'results.error.kind == "unknown"'
"""Holds where a call may have had its effect, and may not."""

AMENDABLE = 'results.error.kind == "arguments"'
"""Holds where other arguments might do."""

NAMEABLE = re.compile(r"(?!(?:in|true|false|null)\Z)[A-Za-z_][A-Za-z0-9_]{0,63}")
"""Names of arguments are somebody else's, and stand in the form's expressions as they are."""


def form_of(tool: Tool) -> FlowDefinition | None:
    """The flow that stands for the tool; None where `obstacle` says why there is none."""
    if obstacle(tool) is not None:
        return None
    slots = _slots(tool)
    usable = _as_range({name: slot for name, slot in slots.items() if slot is not None})
    states = _states(tool, usable)
    return FlowDefinition(
        flow=tool.name,
        title=tool.title,
        description=tool.about,
        triggers=Triggers(roles=tool.roles),
        slots=usable,
        start="details" if "details" in states else "call",
        states=states,
    )


def obstacle(tool: Tool) -> str | None:
    """Why the tool has no form: its arguments can't be asked one by one. None where it has one."""
    if tool.options.client:
        return "only a front end can call it"
    required: Any = tool.parameters.get("required") or []
    unasked = [name for name, slot in _slots(tool).items() if slot is None and name in required]
    return f"no form field fits {', '.join(unasked)}" if unasked else None


def _slots(tool: Tool) -> dict[str, Slot | None]:
    properties: Any = tool.parameters.get("properties") or {}
    required: Any = tool.parameters.get("required") or []
    return {
        name: slot_of(name, schema, required=name in required)
        for name, schema in properties.items()
    }


def _states(tool: Tool, slots: dict[str, Slot]) -> dict[str, State]:
    """Collect, check and confirm where the tool wants that, call, tell."""
    title = Localised(zh=plain(tool.title.zh), en=plain(tool.title.en))
    given = {name: f"has(slots.{name}) ? slots.{name} : null" for name in slots}
    states: dict[str, Any] = {
        "call": {
            "call": tool.name,
            "with": given,
            "save": "found",
            "next": "tell",
            "on_error": "sorry",
        },
        "tell": {
            "say": {"zh": "{{ results.found | readable }}", "en": "{{ results.found | readable }}"},
            "end": "completed",
        },
        "sorry": {
            "say": {
                "zh": "没办成：{{ results.error.message }}",
                "en": "That didn't work: {{ results.error.message }}",
            },
            "end": "failed",
        },
    }
    if tool.writes:
        states["call"]["on_error"] = [{"if": UNKNOWN, "to": "unsure"}, {"to": "sorry"}]
        states["unsure"] = {"say": _unsure(tool), "end": "failed"}
    then = "call"
    if tool.asks_first:
        then = "check" if tool.check else "review"
        ask = {"zh": f"{title.zh}，要执行吗？", "en": f"{title.en}: shall I go ahead?"}
        states["review"] = {"confirm": ask, "confirmed": "call", "declined": "stop"}
        states["stop"] = {
            "say": {"zh": "好的，没有执行。", "en": "All right, nothing was done."},
            "end": "cancelled",
        }
    if tool.asks_first and tool.check:
        states["check"] = {
            "check": tool.name,
            "with": given,
            "next": "review",
            "on_error": [{"if": AMENDABLE, "to": "details"}, {"to": "sorry"}] if slots else "sorry",
        }
    if slots:
        states["details"] = {"collect": list(slots), "next": then}
    elif tool.asks_first:
        states["details"] = {"say": {"zh": title.zh, "en": title.en}, "next": then}
    return {name: State.model_validate(state) for name, state in states.items()}


def _unsure(tool: Tool) -> dict[str, str]:
    """What is said where nobody can tell whether it was done: never that it failed."""
    zh, en = plain(tool.title.zh), plain(tool.title.en)
    return {
        "zh": f"没法确认“{zh}”办成了没有：可能已经生效，也可能没有。我不会自己再试。"
        "请先到实际办理的系统里查一下，确认没有生效再重新办。（{{ results.error.message }}）",
        "en": f"{en}: it may or may not have been done, and I can't tell which. I won't try it "
        "again by myself. Please look in the system where it takes effect, and ask for it anew "
        "only if it isn't there. ({{ results.error.message }})",
    }


def plain(words: str) -> str:
    """Words that a form's texts may have in them: whoever wrote them, they are no template.

    >>> plain("Reads {{ slots.salary }}")
    'Reads { { slots.salary }}'
    """
    return _TEMPLATE.sub("{ ", words)


_RANGE: dict[str, RangePart] = {
    **dict.fromkeys(("start", "start_date", "first", "since", "from_date"), "start"),
    **dict.fromkeys(("end", "end_date", "last", "until", "to_date"), "end"),
}


def _as_range(slots: dict[str, Slot]) -> dict[str, Slot]:
    """The slots, where two dates are the ends of one range by their names: said in one breath."""
    parts = {name: _RANGE[name] for name, s in slots.items() if s.type == "date" and name in _RANGE}
    if sorted(parts.values()) != ["end", "start"]:
        return slots
    return {
        name: slot.model_copy(update={"part_of_range": parts[name]}) if name in parts else slot
        for name, slot in slots.items()
    }


def slot_of(name: str, schema: Any, *, required: bool) -> Slot | None:
    """A property as a slot; None where no form field fits it.

    >>> slot_of("days", {"type": "integer"}, required=True).type
    'integer'
    """
    if not NAMEABLE.fullmatch(name):
        return None  # an expression couldn't name it, or would say something else
    schema = _without_null(schema)
    words = plain(str(schema.get("description") or name.replace("_", " ")))
    label = Localised(zh=plain(label_in(schema) or words), en=words)
    ask = Localised(zh=f"{label.zh}？", en=f"{words[:1].upper()}{words[1:]}?")
    about: dict[str, Any] = {"label": label, "ask": ask, "required": required}
    if "enum" in schema:
        choices = {str(v): Choice(label=_choice(name, schema, str(v))) for v in schema["enum"]}
        return Slot(type="choice", choices=choices, **about)
    if schema.get("format") in ("date", "date-time"):
        return Slot(type="date" if schema["format"] == "date" else "datetime", **about)
    kind = PLAIN.get(str(schema.get("type")))
    return Slot.model_validate({"type": kind, **about}) if kind else None


def _choice(name: str, schema: dict[str, Any], value: str) -> Localised:
    words = choice_in(schema, value) or named(name, value, "zh")
    return Localised(zh=plain(words), en=value)


def _without_null(schema: Any) -> dict[str, Any]:
    """The schema of the value itself, where it may also be left out."""
    if not isinstance(schema, dict):
        return {}
    options = [
        o for o in schema.get("anyOf", []) if isinstance(o, dict) and o.get("type") != "null"
    ]
    return (
        {**options[0], **{k: v for k, v in schema.items() if k != "anyOf"}}
        if len(options) == 1
        else schema
    )
