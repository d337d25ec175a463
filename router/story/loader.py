"""Files of stories: read once, checked whole, refused with everything at fault.

Reading the pieces of a step: each gives the value, or complains and gives None.

Reading one step of a story: which sort it is, and what it says.

Stories out of a document: lenient where it is plain what is meant, strict elsewhere.

Everything that is wrong is found at once, each with its line and what would be right.

DefinitionError: flows/tests/leave_request.yaml:12: 'bbo' is no user of the directory; did you
mean bob?
"""

import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, get_args

import re2
from pydantic import TypeAdapter, ValidationError

from router.documents.document import Document, Place, Unreadable, read_document, read_text
from router.domain.errors import DefinitionError, Fault, Problem, nearest
from router.domain.locale import Locale
from router.domain.messages import FlowStatus, Message
from router.flow.engine.run import Verdict
from router.story.story import (
    BEGINS,
    AnyStep,
    ApproverDecides,
    BotSays,
    EventHappens,
    Failing,
    RunStands,
    Story,
    StoryNames,
    TimePasses,
    ToolCalled,
    ToolsFail,
    UserActs,
    UserNudges,
    UserWithdraws,
    compiled,
    is_expression,
)

LONGEST_TEXT = 8_000
"""Characters, as many as a message may have."""
MOST_TIME = timedelta(days=3660)
YEARS = range(2000, 2100)

_DURATION: TypeAdapter[timedelta] = TypeAdapter(timedelta)


@dataclass
class StoryReading:
    """A document being read, and everything that was found wrong with it."""

    document: Document
    faults: list[tuple[int, Fault]] = field(default_factory=list)

    def line(self, place: Place) -> int:
        """Where in the file it stands."""
        return self.document.line(place)

    def complain(self, place: Place, what: str, remedy: str) -> None:
        """Note a fault, and go on."""
        self.faults.append((self.line(place), Fault(what, remedy)))

    def keys(self, place: Place, given: Mapping[str, Any], known: Collection[str]) -> None:
        """Complain of every key that isn't known."""
        for key in given:
            if key not in known:
                remedy = nearest(key, known) or f"there are {', '.join(sorted(known))}"
                self.complain((*place, key), f"there is no key {key} here", remedy)

    def one_of(self, place: Place, value: Any, known: Iterable[str], what: str) -> str | None:
        """A name that has to be among those known."""
        names = sorted(known)
        if isinstance(value, str) and value in names:
            return value
        remedy = nearest(str(value), names) or f"there are {', '.join(names) or 'none'}"
        self.complain(place, f"{quoted(value)} is no {what}", remedy)
        return None

    def text(self, place: Place, value: Any, what: str) -> str | None:
        """A text with something in it."""
        if isinstance(value, str) and value.strip() and len(value) <= LONGEST_TEXT:
            return value
        if isinstance(value, str) and value.strip():
            self.complain(place, f"{what} is over {LONGEST_TEXT:,} characters", "shorten it")
        else:
            self.complain(place, f"{what} is {quoted(value)}", "write a text, in quotes")
        return None

    def mapping(self, place: Place, value: Any, example: str) -> dict[str, Any] | None:
        """Keys and values."""
        if isinstance(value, dict):
            return value
        self.complain(place, f"{quoted(value)} are no keys and values", f"write {example}")
        return None

    def duration(self, place: Place, value: Any) -> timedelta | None:
        """ISO 8601, of some length."""
        found = _duration(value)
        if found is not None and timedelta() < found <= MOST_TIME:
            return found
        remedy = "write it like PT24H or P3D, ten years at most"
        self.complain(place, f"{quoted(value)} is no time that can pass", remedy)
        return None

    def moment(self, place: Place, value: Any) -> datetime | None:
        """ISO 8601, with a time zone or in the user's."""
        try:
            found = datetime.fromisoformat(value)
        except (TypeError, ValueError):
            found = None
        if found is not None and found.year in YEARS:
            return found
        remedy = "write it like 2026-11-18T10:00+08:00"
        self.complain(place, f"{quoted(value)} is no date and time of this century", remedy)
        return None

    def count(self, place: Place, value: Any) -> int | None:
        """A number of times."""
        if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
            return value
        self.complain(place, f"{quoted(value)} is no number of times", "write 0, 1, 2, …")
        return None

    def is_true(self, place: Place, value: Any) -> bool:
        """`true`, which is all that such a key can say."""
        if value is not True:
            self.complain(place, f"it is {quoted(value)}", "write true, or leave the step out")
        return value is True

    def patterns(self, place: Place, value: Any) -> tuple[str, ...]:
        """What is to be said: one, or several in order."""
        if isinstance(value, list) and value:
            return tuple(
                found
                for number, each in enumerate(value)
                for found in self._pattern((*place, number), each)
            )
        return tuple(self._pattern(place, value))

    def _pattern(self, place: Place, value: Any) -> Iterator[str]:
        found = self.text(place, value, "what the bot says")
        if found is None:
            return
        if is_expression(found):
            try:
                compiled(found)
            except re2.error as error:
                why = error.args[0] if error.args else error
                said = why.decode(errors="replace") if isinstance(why, bytes) else str(why)
                self.complain(place, f"{found} is no RE2 expression: {said}", "mend it")
                return
        yield found


def _duration(value: Any) -> timedelta | None:
    """What ISO 8601 says; None for anything else, such as a number, which has no unit."""
    if not isinstance(value, str) or not value.startswith("P"):
        return None
    try:
        return _DURATION.validate_python(value)
    except ValidationError:
        return None


def quoted(value: Any) -> str:
    """A value as a complaint names it, however long it is."""
    if value is None:
        return "empty"
    said = repr(value) if isinstance(value, str) else str(value)
    return said if len(said) <= 60 else f"{said[:57]}…"  # noqa: PLR2004


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

    def __init__(self, reading: StoryReading, known: StoryNames) -> None:
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


OF_STORY = ("story", "user", "locale", "now", "tool_fails", "steps")
SHAPE = "write - story: a name, and steps: a list"


def read_stories(
    document: Document, file: str, known: StoryNames
) -> tuple[list[Story], list[tuple[int, Fault]]]:
    """The stories of a file, and what is wrong with it: then the stories aren't whole."""
    reading = StoryReading(document, list(document.faults))
    stories = [_story(reading, file, known, *each) for each in _listed(reading)]
    first: dict[str, Story] = {}
    for story in stories:
        other = first.setdefault(story.name, story)
        if other is not story:
            what = f"there is a story {quoted(story.name)} on line {other.line} already"
            reading.faults.append((story.line, Fault(what, "rename one of the two")))
    return stories, sorted(dict.fromkeys(reading.faults), key=lambda each: each[0])


def _listed(reading: StoryReading) -> Iterator[tuple[Place, dict[str, Any]]]:
    """Each story with where it stands; a bare list of steps under its name is one, too."""
    data = reading.document.data
    if isinstance(data, dict) and data:
        for name, steps in data.items():
            yield from _named(reading, (name,), name, steps)
        return
    if not isinstance(data, list) or not data:
        what = "a file of stories is a list of them, and this is"
        reading.complain((), f"{what} {'empty' if not data else 'a text'}", SHAPE)
        return
    for number, each in enumerate(data):
        place: Place = (number,)
        if not isinstance(each, dict):
            reading.complain(place, f"{quoted(each)} is no story", SHAPE)
        elif len(each) == 1 and not each.keys() & set(OF_STORY):
            ((name, steps),) = each.items()
            yield from _named(reading, (number, name), name, steps)
        else:
            yield place, each


def _named(
    reading: StoryReading, place: Place, name: str, steps: Any
) -> Iterator[tuple[Place, dict[str, Any]]]:
    if isinstance(steps, list):
        yield place, {"story": name, "steps": steps, "": "bare"}
    elif name in OF_STORY:
        reading.complain(place, f"{name} stands outside a story", SHAPE)
    else:
        reading.complain(place, f"the story {quoted(name)} is no list of steps", SHAPE)


def _story(
    reading: StoryReading, file: str, known: StoryNames, place: Place, given: dict[str, Any]
) -> Story:
    bare = given.pop("", None) is not None
    reading.keys(place, given, OF_STORY)
    steps_at = place if bare else (*place, "steps")
    reader = StepReader(reading, known)
    more: dict[str, Any] = dict(_options(reading, reader, known, place, given))
    name = reading.text((*place, "story"), given.get("story"), "the story's name") or ""
    steps = given.get("steps")
    if not isinstance(steps, list) or not steps:
        reading.complain(steps_at, f"the story {quoted(name)} has no steps", "write some")
        steps = []
    read = (reader.step((*steps_at, number), each) for number, each in enumerate(steps))
    return Story(
        name=name,
        file=file,
        line=reading.line(place),
        steps=tuple(step for step in read if step is not None),
        **more,
    )


def _options(
    reading: StoryReading,
    reader: StepReader,
    known: StoryNames,
    place: Place,
    given: Mapping[str, Any],
) -> Iterator[tuple[str, Any]]:
    if "user" in given:
        at = (*place, "user")
        yield "user", reading.one_of(at, given["user"], known.users, "user of the directory")
    if "locale" in given:
        at = (*place, "locale")
        yield "locale", reading.one_of(at, given["locale"], get_args(Locale), "language")
    if "now" in given:
        yield "now", reading.moment((*place, "now"), given["now"]) or BEGINS
    if "tool_fails" in given:
        yield "failing", reader.failing((*place, "tool_fails"), given["tool_fails"])


LARGEST = 256 * 1024
"""Bytes."""


def load_stories(places: Sequence[Path], known: StoryNames) -> list[Story]:
    """The stories of files and folders (their `*.yaml`), in the order of the files.

    Raises:
        DefinitionError: with every problem of every file, or that there is no story.
    """
    problems: list[Problem] = []
    stories: list[Story] = []
    for path in dict.fromkeys(_files(places, problems)):
        found, wrong = _read(path, known)
        stories += found
        problems += wrong
    if not stories and not problems:
        where = ", ".join(str(place) for place in places)
        problems.append(_problem(Path(where), 1, Fault("there is no story", "write one")))
    if problems:
        raise DefinitionError(problems)
    return stories


def _files(places: Sequence[Path], problems: list[Problem]) -> Iterator[Path]:
    for place in places:
        if place.is_dir():
            yield from sorted(place.glob("*.yaml"))
            misnamed = sorted(place.glob("*.yml"))
            problems += [_problem(p, 1, Fault("it isn't read", "call it .yaml")) for p in misnamed]
        else:
            yield place


def _read(path: Path, known: StoryNames) -> tuple[list[Story], list[Problem]]:
    try:
        document = read_document(read_text(path, LARGEST, "split it"))
    except Unreadable as unreadable:
        return [], [_problem(path, unreadable.line, unreadable.fault)]
    stories, faults = read_stories(document, str(path), known)
    return stories, [_problem(path, line, fault) for line, fault in faults]


def _problem(path: Path, line: int, fault: Fault) -> Problem:
    return Problem(str(path), line, fault.what, fault.remedy)
