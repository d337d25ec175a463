"""Files of stories: read once, checked whole, refused with everything at fault.

DefinitionError: flows/tests/leave_request.yaml:12: 'bbo' is no user of the directory; did you
mean bob?
"""

from collections.abc import Iterator, Sequence
from pathlib import Path

from router.documents.faults import Fault
from router.documents.text_file import read_text
from router.documents.yaml_document import Unreadable, read_document
from router.domain.errors import DefinitionError, Problem
from router.story.known import Known
from router.story.reading import read_stories
from router.story.steps import Story

LARGEST = 256 * 1024
"""Bytes."""


def load_stories(places: Sequence[Path], known: Known) -> list[Story]:
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


def _read(path: Path, known: Known) -> tuple[list[Story], list[Problem]]:
    try:
        document = read_document(read_text(path, LARGEST, "split it"))
    except Unreadable as unreadable:
        return [], [_problem(path, unreadable.line, unreadable.fault)]
    stories, faults = read_stories(document, str(path), known)
    return stories, [_problem(path, line, fault) for line, fault in faults]


def _problem(path: Path, line: int, fault: Fault) -> Problem:
    return Problem(str(path), line, fault.what, fault.remedy)
