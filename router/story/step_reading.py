"""Reading one step of a story: which sort it is, and what it says."""

import json
from collections.abc import Callable, Mapping
from typing import Any, get_args

from pydantic import ValidationError

from router.documents.faults import nearest
from router.documents.yaml_document import Place
from router.domain.messages import FlowStatus, Message
from router.flow.run import Verdict
from router.story.fields import Reading, quoted
from router.story.known import Known
from router.story.steps import (
    AnyStep,
    ApproverDecides,
    BotSays,
    EventHappens,
    Failing,
    RunStands,
    TimePasses,
    ToolCalled,
    ToolsFail,
    UserActs,
    UserNudges,
    UserWithdraws,
)

BESIDE: Mapping[str, tuple[str, ...]] = {
    "user": (),
    "bot": (),
    "expect": (),
    "approver": ("decides", "comment", "to"),
    "after": (),
    "tool": ("with", "times"),
    "tool_fails": (),
    "withdraw": ("comment",),
    "nudge": (),
    "event": (),
}
"""The sorts of steps by the key that tells them, and what may stand beside that key."""

PRESSED = {"confirm": "value", "choose": "value", "form": "values", "start": "flow"}
"""What can be done instead of saying something, and what REST calls its content."""

EXPECTED = ("flow", "status", "state", "slots", "awaiting", "approvers")
NAMES_SOMEONE: frozenset[Verdict] = frozenset({"delegate", "add"})
FAILINGS: tuple[Failing, ...] = get_args(Failing)


class StepReader:
    """Reads steps, and complains of what is wrong with them."""

    def __init__(self, reading: Reading, known: Known) -> None:
        self._reading = reading
        self._known = known
        self._readers: dict[str, Callable[[Place, dict[str, Any]], AnyStep | None]] = {
            "user": self._user,
            "bot": self._bot,
            "expect": self._expect,
            "approver": self._approver,
            "after": self._after,
            "tool": self._tool,
            "tool_fails": self._tool_fails,
            "withdraw": self._withdraw,
            "nudge": self._nudge,
            "event": self._event,
        }

    def step(self, place: Place, given: Any) -> AnyStep | None:
        """The step; None where it can't be used, which was said then."""
        reading = self._reading
        if not isinstance(given, dict) or not given:
            reading.complain(place, f"{quoted(given)} is no step", 'write one like user: "…"')
            return None
        sorts = [key for key in given if key in BESIDE]
        if len(sorts) != 1:
            self._not_one(place, given, sorts)
            return None
        (sort,) = sorts
        reading.keys(place, given, (sort, *BESIDE[sort]))
        return self._readers[sort](place, given)

    def failing(self, place: Place, given: Any) -> dict[str, Failing]:
        """The tools that fail, and how."""
        reading = self._reading
        tools = reading.mapping(place, given, "{record_leave: permanent}") or {}
        found: dict[str, Failing] = {}
        for name, how in tools.items():
            reading.one_of((*place, name), name, self._known.tools, "tool")
            # YAML's `no` is a text since 1.2, and many hands still write `false`.
            written = "no" if how is False else how
            if written in FAILINGS:
                found[name] = written
            else:
                reading.one_of((*place, name), written, FAILINGS, "way to fail")
        return found

    def _not_one(self, place: Place, given: Mapping[str, Any], sorts: list[str]) -> None:
        if sorts:
            what, remedy = f"this is {' and '.join(sorts)} at once", "make them steps of their own"
        else:
            known = [*BESIDE, *(key for keys in BESIDE.values() for key in keys)]
            slip = next(filter(None, (nearest(key, known) for key in given)), "")
            what = f"no step has {' and '.join(given)}"
            remedy = slip or f"there are {', '.join(BESIDE)}"
        self._reading.complain(place, what, remedy)

    def _about(self, place: Place, given: Mapping[str, Any]) -> dict[str, Any]:
        return {"line": self._reading.line(place), "written": written(given)}

    def _user(self, place: Place, given: dict[str, Any]) -> AnyStep | None:
        said = given["user"]
        at = (*place, "user")
        message = self._pressed(at, said) if isinstance(said, dict) else self._words(at, said)
        return UserActs(**self._about(place, given), message=message) if message else None

    def _words(self, at: Place, said: Any) -> Message | None:
        text = self._reading.text(at, said, "what the user says")
        return Message(text=text) if text else None

    def _pressed(self, at: Place, said: dict[str, Any]) -> Message | None:
        """What was done instead of saying something, in short or as REST writes it."""
        action = dict(said)
        if len(said) == 1 and (kind := next(iter(said))) in PRESSED:
            action = {"type": kind, PRESSED[kind]: said[kind]}
        try:
            return Message.model_validate({"action": action})
        except ValidationError:
            remedy = "write {confirm: true}, {choose: …}, {form: {…}} or {start: <flow>}"
            self._reading.complain(at, f"{quoted(written(said))} is nothing to press", remedy)
            return None

    def _bot(self, place: Place, given: dict[str, Any]) -> AnyStep | None:
        patterns = self._reading.patterns((*place, "bot"), given["bot"])
        return BotSays(**self._about(place, given), patterns=patterns) if patterns else None

    def _expect(self, place: Place, given: dict[str, Any]) -> AnyStep | None:
        at = (*place, "expect")
        wanted = self._reading.mapping(at, given["expect"], "{status: completed}")
        if not wanted:
            if wanted is not None:
                self._reading.complain(at, "nothing is expected", f"say {', '.join(EXPECTED)}")
            return None
        self._reading.keys(at, wanted, EXPECTED)
        self._names(at, wanted)
        return RunStands(**self._about(place, given), wanted=wanted)

    def _names(self, at: Place, wanted: Mapping[str, Any]) -> None:
        """Complain of flows, states, slots and people that there aren't."""
        reading, flows = self._reading, self._known.flows
        if "status" in wanted:
            reading.one_of((*at, "status"), wanted["status"], get_args(FlowStatus), "status")
        if "approvers" in wanted:
            people = wanted["approvers"]
            for number, one in enumerate(people if isinstance(people, list) else [people]):
                where = (*at, "approvers", number)
                reading.one_of(where, one, self._known.users, "user of the directory")
        slots = reading.mapping((*at, "slots"), wanted.get("slots", {}), "{days: 3}") or {}
        if "flow" not in wanted or wanted["flow"] not in flows:
            # Forms of tools are flows as well, which no file has.
            return
        flow = flows[wanted["flow"]]
        if "state" in wanted:
            reading.one_of((*at, "state"), wanted["state"], flow.states, f"state of {flow.flow}")
        for slot in slots:
            reading.one_of((*at, "slots", slot), slot, flow.slots, f"slot of {flow.flow}")

    def _approver(self, place: Place, given: dict[str, Any]) -> AnyStep | None:
        reading, at = self._reading, (*place, "approver")
        person, verdict = given["approver"], given.get("decides")
        if isinstance(person, dict) and len(person) == 1 and verdict is None:
            ((person, verdict),) = person.items()
        name = reading.one_of(at, person, self._known.users, "user of the directory")
        decided = reading.one_of((*place, "decides"), verdict, get_args(Verdict), "decision")
        to, comment = given.get("to"), given.get("comment")
        if comment is not None:
            reading.text((*place, "comment"), comment, "the comment")
        if (decided in NAMES_SOMEONE) != (to is not None) and decided:
            remedy = "add to: <user>" if to is None else "take it out"
            what = f"who {decided}s names {'nobody' if to is None else 'someone'} in to"
            reading.complain(place, what, remedy)
        if to is not None:
            reading.one_of((*place, "to"), to, self._known.users, "user of the directory")
        if name is None or decided is None:
            return None
        about = {**self._about(place, given), "approver": name, "comment": comment, "to": to}
        return ApproverDecides(**about, verdict=decided)  # type: ignore[arg-type]

    def _after(self, place: Place, given: dict[str, Any]) -> AnyStep | None:
        duration = self._reading.duration((*place, "after"), given["after"])
        return TimePasses(**self._about(place, given), duration=duration) if duration else None

    def _tool(self, place: Place, given: dict[str, Any]) -> AnyStep | None:
        reading = self._reading
        tool = reading.one_of((*place, "tool"), given["tool"], self._known.tools, "tool")
        arguments = reading.mapping((*place, "with"), given.get("with", {}), "{days: 3}")
        times = reading.count((*place, "times"), given["times"]) if "times" in given else None
        if tool is None or arguments is None:
            return None
        about = self._about(place, given)
        return ToolCalled(**about, tool=tool, arguments=arguments, times=times)

    def _tool_fails(self, place: Place, given: dict[str, Any]) -> AnyStep | None:
        failing = self.failing((*place, "tool_fails"), given["tool_fails"])
        return ToolsFail(**self._about(place, given), failing=failing) if failing else None

    def _withdraw(self, place: Place, given: dict[str, Any]) -> AnyStep | None:
        if not self._reading.is_true((*place, "withdraw"), given["withdraw"]):
            return None
        comment = given.get("comment")
        if comment is not None:
            self._reading.text((*place, "comment"), comment, "the comment")
        return UserWithdraws(**self._about(place, given), comment=comment)

    def _nudge(self, place: Place, given: dict[str, Any]) -> AnyStep | None:
        meant = self._reading.is_true((*place, "nudge"), given["nudge"])
        return UserNudges(**self._about(place, given)) if meant else None

    def _event(self, place: Place, given: dict[str, Any]) -> AnyStep | None:
        at = (*place, "event")
        event = self._reading.mapping(at, given["event"], "{name: paid, …}")
        if event is None:
            return None
        name = self._reading.text((*at, "name"), event.get("name"), "the event's name")
        payload = {key: value for key, value in event.items() if key != "name"}
        about = self._about(place, given)
        return EventHappens(**about, name=name, payload=payload) if name else None


def written(given: Mapping[str, Any]) -> str:
    """A step on one line, much as it stands in its file."""
    return ", ".join(f"{key}: {_value(value)}" for key, value in given.items())


def _value(value: Any) -> str:
    if isinstance(value, dict):
        return f"{{{written(value)}}}"
    if isinstance(value, str):
        return value.replace("\n", "⏎")
    return json.dumps(value, ensure_ascii=False, default=str)
