"""Files of stories: read once, checked whole, refused with everything at fault.

What is plain is understood (a bare list of steps under its name is a story); the rest is told all
at once, each with its line and what would be right.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any

from pydantic_core import PydanticCustomError

from router.domain.errors import DefinitionError, Fault, Problem, nearest
from router.formats.validation import Complaint, FileWording, problems_in, validated
from router.formats.yaml_document import Place, Unreadable, YamlDocument, read_text, read_yaml
from router.story.entries import STEPS, ExpectStep, StoryEntry, StoryNames, one_of, quoted, written
from router.story.story import Story, StoryStep

SHAPE = "write - story: a name, and steps: a list"
_WORDING = FileWording(unknown="there is no key {key} here", known="there are {keys}")


@dataclass
class _Reading:
    """A document being read, and everything that was found wrong with it."""

    document: YamlDocument
    known: StoryNames
    file: str
    complaints: list[Complaint] = field(default_factory=list)

    def complain(self, place: Place, what: str, remedy: str) -> None:
        """Note a fault, and go on."""
        self.complaints.append(Complaint(place, Fault(what, remedy)))

    def stories(self) -> list[Story]:
        """Those that can be read; no two share a name."""
        first: dict[str, Story] = {}
        found = []
        for place, steps_at, given in self._listed():
            story = self._story(place, steps_at, given)
            if story is None:
                continue
            other = first.setdefault(story.name, story)
            if other is not story:
                what = f"there is a story {quoted(story.name)} on line {other.line} already"
                self.complain(place, what, "rename one of the two")
            found.append(story)
        return found

    def _listed(self) -> Iterator[tuple[Place, Place, dict[str, Any]]]:
        """Each story with where it and its steps stand."""
        data = self.document.data
        if isinstance(data, dict) and data:
            for name, steps in data.items():
                yield from self._named((name,), name, steps)
            return
        if not isinstance(data, list) or not data:
            what = f"and this is {'a text' if data else 'empty'}"
            self.complain((), f"a file of stories is a list of them, {what}", SHAPE)
            return
        for number, each in enumerate(data):
            place: Place = (number,)
            if not isinstance(each, dict):
                self.complain(place, f"{quoted(each)} is no story", SHAPE)
            elif len(each) == 1 and not each.keys() & StoryEntry.model_fields.keys():
                ((name, steps),) = each.items()
                yield from self._named((number, name), name, steps)
            else:
                yield place, (*place, "steps"), {"story": None, "steps": None, **each}

    def _named(
        self, place: Place, name: str, steps: Any
    ) -> Iterator[tuple[Place, Place, dict[str, Any]]]:
        if isinstance(steps, list):
            yield place, place, {"story": name, "steps": steps}
        elif name in StoryEntry.model_fields:
            self.complain(place, f"{name} stands outside a story", SHAPE)
        else:
            self.complain(place, f"the story {quoted(name)} is no list of steps", SHAPE)

    def _story(self, place: Place, steps_at: Place, given: dict[str, Any]) -> Story | None:
        reading = validated(StoryEntry, given, place, _WORDING, self.known)
        self.complaints += reading.complaints
        entry, steps = reading.value, given["steps"]
        if not isinstance(steps, list) or not steps:
            what = f"the story {quoted(given['story'])} has no steps"
            self.complain(steps_at, what, "write some")
            steps = []
        found = [self.step((*steps_at, number), each) for number, each in enumerate(steps)]
        if entry is None:
            return None
        return Story(
            name=entry.story,
            file=self.file,
            line=self.document.line(place),
            steps=tuple(step for step in found if step is not None),
            user=entry.user,
            locale=entry.locale,
            now=entry.now,
            failing=entry.tool_fails,
            answers=entry.tool_answers,
        )

    def step(self, place: Place, given: Any) -> StoryStep | None:
        """The step; None where it can't be used, which was said then."""
        if not isinstance(given, dict) or not given:
            self.complain(place, f"{quoted(given)} is no step", 'write one like user: "…"')
            return None
        sorts = [key for key in given if key in STEPS]
        if len(sorts) > 1:
            what = f"this is {' and '.join(sorts)} at once"
            self.complain(place, what, "make them steps of their own")
            return None
        if not sorts:
            fields = (field for each in STEPS.values() for field in each.model_fields.items())
            known = [*STEPS, *(info.alias or name for name, info in fields)]
            slip = next(filter(None, (nearest(key, known) for key in given)), "")
            remedy = slip or f"there are {', '.join(STEPS)}"
            self.complain(place, f"no step has {' and '.join(given)}", remedy)
            return None
        reading = validated(STEPS[sorts[0]], given, place, _WORDING, self.known)
        self.complaints += reading.complaints
        if isinstance(reading.value, ExpectStep):
            self._check_names((*place, "expect"), reading.value)
        if reading.value is None:
            return None
        # Of a scripted model's answers, which may be long, a person needs the line alone.
        told = {key: value for key, value in given.items() if key != "model"}
        return StoryStep(self.document.line(place), written(told), reading.value)

    def _check_names(self, at: Place, step: ExpectStep) -> None:
        name = step.expect.flow
        flow = self.known.flows.get(name) if isinstance(name, str) else None
        # Forms of tools are flows as well, which no file has.
        for place, named, known, what in step.expect.names(flow) if flow else ():
            try:
                one_of(named, known, what)
            except PydanticCustomError as error:
                said = error.context or {}
                self.complain((*at, *place), said["what"], said["remedy"])


def read_steps(
    given: Sequence[Any], known: StoryNames
) -> tuple[tuple[StoryStep, ...], list[Complaint]]:
    """Steps that stand in no file, and what is wrong with them, by their place in the list."""
    reading = _Reading(YamlDocument(), known, "")
    found = [reading.step((number,), each) for number, each in enumerate(given)]
    return tuple(step for step in found if step is not None), reading.complaints


def read_stories(
    document: YamlDocument, file: str, known: StoryNames
) -> tuple[list[Story], list[Problem]]:
    """The stories of a file, and what is wrong with it: then the stories aren't whole."""
    reading = _Reading(document, known, file)
    return reading.stories(), problems_in(file, document, reading.complaints)


def story_problems(file: str, text: str, known: StoryNames) -> list[Problem]:
    """What is wrong with a text that is to be a file of stories."""
    try:
        document = read_yaml(text)
    except Unreadable as bad:
        return [Problem(file, bad.line, *bad.fault)]
    return read_stories(document, file, known)[1]


def story_names(text: str) -> list[str]:
    """What the stories of a text are called, in their order; none where it can't be read."""
    try:
        document = read_yaml(text)
    except Unreadable:
        return []
    listed = _Reading(document, StoryNames((), (), {}), "")._listed()  # noqa: SLF001 - of here
    return [str(given["story"]) for _, _, given in listed]


LARGEST = 256 * 1024


def load_stories(places: Sequence[Path], known: StoryNames) -> list[Story]:
    """The stories of files and folders (their `*.yaml`), in the order of the files.

    Raises `DefinitionError` with every problem of every file, or that there is no story.
    """
    stories: list[Story] = []
    folders = [place for place in places if place.is_dir()]
    misnamed = sorted(path for folder in folders for path in folder.glob("*.yml"))
    problems = [Problem(str(path), 1, "it isn't read", "call it .yaml") for path in misnamed]
    files = (sorted(p.glob("*.yaml")) if p in folders else [p] for p in places)
    for path in dict.fromkeys(chain.from_iterable(files)):
        try:
            document = read_yaml(read_text(path, LARGEST, "split it"))
        except Unreadable as bad:
            problems.append(Problem(str(path), bad.line, *bad.fault))
            continue
        found, wrong = read_stories(document, str(path), known)
        stories += found
        problems += wrong
    if not stories and not problems:
        where = ", ".join(str(place) for place in places)
        problems.append(Problem(where, 1, "there is no story", "write one"))
    if problems:
        raise DefinitionError(problems)
    return stories
