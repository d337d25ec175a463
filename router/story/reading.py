"""Stories out of a document: lenient where it is plain what is meant, strict elsewhere.

Everything that is wrong is found at once, each with its line and what would be right.
"""

from collections.abc import Iterator, Mapping
from typing import Any, get_args

from router.documents.faults import Fault
from router.documents.yaml_document import Document, Place
from router.domain.texts import Locale
from router.story.fields import Reading, quoted
from router.story.known import Known
from router.story.step_reading import StepReader
from router.story.steps import BEGINS, Story

OF_STORY = ("story", "user", "locale", "now", "tool_fails", "steps")
SHAPE = "write - story: a name, and steps: a list"


def read_stories(
    document: Document, file: str, known: Known
) -> tuple[list[Story], list[tuple[int, Fault]]]:
    """The stories of a file, and what is wrong with it: then the stories aren't whole."""
    reading = Reading(document, list(document.faults))
    stories = [_story(reading, file, known, *each) for each in _listed(reading)]
    first: dict[str, Story] = {}
    for story in stories:
        other = first.setdefault(story.name, story)
        if other is not story:
            what = f"there is a story {quoted(story.name)} on line {other.line} already"
            reading.faults.append((story.line, Fault(what, "rename one of the two")))
    return stories, sorted(dict.fromkeys(reading.faults), key=lambda each: each[0])


def _listed(reading: Reading) -> Iterator[tuple[Place, dict[str, Any]]]:
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
    reading: Reading, place: Place, name: str, steps: Any
) -> Iterator[tuple[Place, dict[str, Any]]]:
    if isinstance(steps, list):
        yield place, {"story": name, "steps": steps, "": "bare"}
    elif name in OF_STORY:
        reading.complain(place, f"{name} stands outside a story", SHAPE)
    else:
        reading.complain(place, f"the story {quoted(name)} is no list of steps", SHAPE)


def _story(reading: Reading, file: str, known: Known, place: Place, given: dict[str, Any]) -> Story:
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
    reading: Reading, reader: StepReader, known: Known, place: Place, given: Mapping[str, Any]
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
