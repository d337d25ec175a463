"""Any tool as a form: a flow that asks for its arguments, calls it and says what it found.

So every tool can be used with no model at all, through the same machine as any flow: what
it needs is asked, checked and confirmed there, and the call is an activity of the tool's name.
"""

from collections.abc import Collection
from typing import Any

from router.deciding.schema_slot import Askable, askable, plain
from router.flow.model import DEFAULT_IDLE, FlowDefinition, RangePart, Slot, State
from router.flow.triggers import Triggers
from router.tool.tool import Tool

UNKNOWN = 'results.error.kind == "unknown"'
"""Holds where a call may have had its effect, and may not."""

AMENDABLE = 'results.error.kind == "arguments"'
"""Holds where other arguments might do."""

_ABOUT = "{{% if results.about %}}{}{{{{ results.about.{} }}}}{{% endif %}}"
"""What the check says that the call is about, behind what the tool is called."""

_FIRST = ("details", "check", "review", "call")
"""The states that a form may begin with, in their order."""

_TOLD: dict[str, Any] = {
    "tell": {
        "say": {"zh": "{{ results.found | told }}", "en": "{{ results.found | told }}"},
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
_STOPPED = {
    "say": {"zh": "好的，没有执行。", "en": "All right, nothing was done."},
    "end": "cancelled",
}


def form_of(tool: Tool) -> FlowDefinition | None:
    """The flow that stands for the tool; None where `obstacle` says why there is none."""
    found = askable(tool.parameters)
    if _obstacle(tool, found) is not None:
        return None
    slots = _as_range(found.slots)
    states = _states(tool, slots, _given(found))
    return FlowDefinition(
        flow=tool.name,
        title=tool.title,
        description=tool.about,
        triggers=Triggers(roles=tool.roles),
        idle=DEFAULT_IDLE,
        slots=slots,
        start=_first(states),
        states=states,
    )


def obstacle(tool: Tool) -> str | None:
    """Why the tool has no form: its arguments can't be asked for. None where it has one."""
    return _obstacle(tool, askable(tool.parameters))


def _obstacle(tool: Tool, found: Askable) -> str | None:
    if tool.options.client:
        return "only a front end can call it"
    required: Any = tool.parameters.get("required") or []
    unasked = [f"{name} ({why})" for name, why in found.unaskable.items() if name in required]
    return f"no form field fits {', '.join(unasked)}" if unasked else None


def _given(found: Askable) -> dict[str, str]:
    """What the tool is given, by its own names: an expression for each argument."""
    empty = {name: "{}" if _may_be_empty(slot) else "null" for name, slot in found.slots.items()}
    return {
        argument: f"has(slots.{name}) ? slots.{name} : {empty[name]}"
        for name, argument in found.arguments.items()
    }


def _may_be_empty(slot: Slot) -> bool:
    """True for an object that is needed, and nothing in it."""
    needed = any(field.required for field in slot.fields.values())
    return slot.type == "object" and slot.required and not needed


def _states(tool: Tool, slots: dict[str, Slot], given: dict[str, str]) -> dict[str, State]:
    """Collect, check and confirm where the tool wants that, call, tell."""
    states = _call(tool, given)
    if tool.asks_first:
        states |= _confirmation(tool)
    if tool.asks_first and tool.check:
        states["check"] = _check(tool, given, amendable=bool(slots))
    if slots:
        states["details"] = {"collect": list(slots), "next": _first(states)}
    return {name: State.model_validate(state) for name, state in states.items()}


def _first(states: Collection[str]) -> str:
    return next(name for name in _FIRST if name in states)


def _call(tool: Tool, given: dict[str, str]) -> dict[str, Any]:
    """The call, and what is said of how it went."""
    call = {"call": tool.name, "with": given, "save": "found", "next": "tell"}
    if not tool.writes:
        return {"call": {**call, "on_error": "sorry"}, **_TOLD}
    on_error = [{"if": UNKNOWN, "to": "unsure"}, {"to": "sorry"}]
    unsure = {"say": _unsure(tool), "end": "failed"}
    return {"call": {**call, "on_error": on_error}, **_TOLD, "unsure": unsure}


def _check(tool: Tool, given: dict[str, str], *, amendable: bool) -> dict[str, Any]:
    on_error = [{"if": AMENDABLE, "to": "details"}, {"to": "sorry"}] if amendable else "sorry"
    return {
        "check": tool.name,
        "with": given,
        "save": "about",
        "next": "review",
        "on_error": on_error,
    }


def _confirmation(tool: Tool) -> dict[str, Any]:
    zh, en = plain(tool.title.zh), plain(tool.title.en)
    ask = {
        "zh": zh + _ABOUT.format("：", "zh") + "，要执行吗？",
        "en": en + _ABOUT.format(", ", "en") + ": shall I go ahead?",
    }
    return {"review": {"confirm": ask, "confirmed": "call", "declined": "stop"}, "stop": _STOPPED}


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
