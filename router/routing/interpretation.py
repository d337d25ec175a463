"""A model's answer as commands. Its output is untrusted: what can't be meant is never done.

Unknown names, arguments that don't fit and calls that make no sense now become problems,
each exact enough to be handed back to the model; nothing invented becomes a command.
"""

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from pydantic import JsonValue

from router.domain.commands import (
    Amend,
    CallTool,
    CancelFlow,
    Clarify,
    Command,
    FillSlots,
    Forget,
    HandOff,
    Remember,
    ReplyText,
    RunSkill,
    StartFlow,
)
from router.domain.messages import Option
from router.llm.types import ChatAnswer, FunctionCall
from router.routing import offer as offered
from router.routing.facts import squeezed
from router.routing.faithfulness import unmarked
from router.routing.offer import Offer
from router.routing.prompts import shown
from router.tool.tool import Tool

_SHOWN = 3


def known(tool: Tool, arguments: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
    """Those that the tool has; models like to add others, which mean nothing."""
    names = tool.argument_names
    return {name: value for name, value in arguments.items() if name in names}


def problem(tool: Tool, arguments: Mapping[str, JsonValue]) -> str | None:
    """What is wrong with them, for the model to mend; None where nothing is."""
    return "; ".join(tool.implementation.problems(arguments)[:_SHOWN]) or None


@dataclass
class Interpretation:
    """What an answer comes to. `search` is set where the model wants to see what else there is."""

    commands: list[Command] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    search: str | None = None

    @property
    def is_sound(self) -> bool:
        """True where there is something to do and nothing was wrong."""
        return bool(self.commands or self.search) and not self.problems


def interpret(answer: ChatAnswer, offer: Offer, *, last: bool = False) -> Interpretation:
    """The commands that an answer asks for, tidied, and what of it can't be used.

    A tool that lacks what it needs is its form, which asks for it; so is one whose arguments
    don't fit in the `last` answer that is waited for.

    What `offer` has may be called though the model wasn't told of it: by name it knows more.
    """
    told = [each.text for each in answer.problems if each.kind != "unoffered"]
    read = Interpretation(problems=told)
    for call in answer.calls:
        try:
            if call.name == offered.FIND and offer.may_search:
                read.search = _text(call, "query")
            else:
                read.commands.append(_command(call, offer, last=last))
        except _Unusable as unusable:
            read.problems.append(f"{call.name}: {unusable}")
    said = unmarked(shown(answer.text)) or shown(answer.refusal or "")
    if not answer.calls and said:
        read.commands.append(ReplyText(text=said))
    if answer.finish == "length":
        # What ran away, or ends in the middle of a word, is nothing to say.
        read.commands = [c for c in read.commands if not isinstance(c, ReplyText)]
    read.commands = _tidied(read.commands)
    if not read.commands and not read.search and not read.problems:
        read.problems.append("the answer called no function and said nothing")
    return read


class _Unusable(Exception):
    """A call that can't be carried out; says why."""


def _command(call: FunctionCall, offer: Offer, *, last: bool) -> Command:
    if call.name in offer.tools:
        tool = offer.tools[call.name]
        arguments = known(tool, call.arguments)
        if wrong := problem(tool, arguments):
            needed: Any = tool.parameters.get("required") or []
            missing = set(needed) - arguments.keys()
            if call.name in offer.askable and (missing or last):
                return StartFlow(flow=tool.name, slots=arguments)
            raise _Unusable(wrong)
        return CallTool(id=call.id, tool=call.name, arguments=arguments)
    if call.name not in _READERS:
        raise _Unusable("there is no such function; call one of those that are offered")
    return _READERS[call.name](call, offer)


def _start(call: FunctionCall, offer: Offer) -> Command:
    flow = offer.flows[_name(call, "flow", offer.flows)]
    return StartFlow(flow=flow.flow, slots=_slots(call, flow.slots))


def _name(call: FunctionCall, kind: str, there: Collection[str]) -> str:
    name = call.arguments.get(f"{kind}_name")
    if isinstance(name, str) and name in there:
        return name
    names = ", ".join(sorted(there)) or "none"
    raise _Unusable(f"there is no {kind} {str(name)[:60]!r}; there are: {names}")


def _skill(call: FunctionCall, offer: Offer) -> Command:
    name = _name(call, "skill", offer.skills)
    return RunSkill(skill=name, request=_text(call, "request"))


def _to_active(call: FunctionCall, offer: Offer) -> Command:
    if offer.active is None or not offer.active.asking:
        raise _Unusable("no flow is asking anything now")
    if call.name == offered.CANCEL:
        return CancelFlow()
    slots = _slots(call, offer.active.fillable)
    if not slots:
        raise _Unusable(f"name slots of these: {', '.join(offer.active.fillable)}")
    return FillSlots(slots=slots)


def _amendment(call: FunctionCall, offer: Offer) -> Command:
    waiting = {} if offer.active and offer.active.asking else {v.id: v for v in offer.handed_in}
    named = call.arguments.get("request")
    view = waiting.get(named) if isinstance(named, str) else None
    only = next(iter(waiting.values())) if len(waiting) == 1 else None
    if view is None and only is not None and named in (None, "", only.flow):
        view = only
    if view is None:
        raise _Unusable(f"no such request waits; there are: {', '.join(waiting) or 'none'}")
    slots = _slots(call, view.fillable)
    if not slots:
        raise _Unusable(f"name slots of these: {', '.join(view.fillable)}")
    return Amend(run=view.id, flow=view.flow, slots=slots)


def _slots(call: FunctionCall, slots: Iterable[str]) -> dict[str, JsonValue]:
    """The slots that the flow has, less what was left empty; others are dropped without a word."""
    given = call.arguments.get("slots") or {}
    if not isinstance(given, dict):
        raise _Unusable("slots has to be an object of slot names and values")
    names = set(slots)
    return {
        name: value
        for name, value in given.items()
        if name.split(".")[0] in names and value not in (None, "", [])
    }


def _question(call: FunctionCall, _: Offer) -> Command:
    given = call.arguments.get("options")
    listed = given if isinstance(given, list) else []
    said = (unmarked(shown(one)) for one in listed if isinstance(one, str))
    labels = dict.fromkeys(filter(None, said))
    options = [Option(label=one, value=one) for one in labels][: offered.MOST_OPTIONS]
    return Clarify(text=_text(call, "text"), options=options)


def _memory(call: FunctionCall, offer: Offer) -> Command:
    """Only what the person's own message asks for, and says: nobody else's words are kept."""
    if call.name not in offer.memory:
        raise _Unusable(
            "the message doesn't ask for that in its own words; nothing is kept unasked"
        )
    text = _text(call, "text")
    if squeezed(text) not in squeezed(offer.said):
        raise _Unusable("quote the words of the message that say it, and no others")
    return Remember(text=text) if call.name == offered.REMEMBER else Forget(text=text)


_READERS: dict[str, Callable[[FunctionCall, Offer], Command]] = {
    offered.FLOW: _start,
    offered.SKILL: _skill,
    offered.FILL: _to_active,
    offered.CANCEL: _to_active,
    offered.AMEND: _amendment,
    offered.RESPOND: lambda call, _: ReplyText(text=_text(call, "text")),
    offered.REMEMBER: _memory,
    offered.FORGET: _memory,
    offered.CLARIFY: _question,
    offered.HAND_OFF: lambda call, _: HandOff(reason=_text(call, "reason")),
}


def _text(call: FunctionCall, name: str) -> str:
    value = call.arguments.get(name)
    said = unmarked(shown(value)) if isinstance(value, str) else ""
    if not said:
        raise _Unusable(f"{name} has to be text")
    return said


def _tidied(commands: list[Command]) -> list[Command]:
    """Without what contradicts itself: a question beside a deed, a second cancel, a double."""
    deeds = [c for c in commands if not isinstance(c, Clarify | HandOff)]
    kept: list[Command] = []
    done: set[object] = set()
    for command in deeds or commands[:1]:
        once = command.flow if isinstance(command, StartFlow) else type(command)
        is_second = isinstance(command, StartFlow | CancelFlow | FillSlots) and once in done
        if command not in kept and not is_second:
            kept.append(command)
        done.add(once)
    return kept
