"""Looking at flow files as a whole: each in itself, then all beside each other."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from router.definitions import flow_folder, load_registry
from router.directory.sources import people_of
from router.domain.errors import DefinitionError, Problem, RouterError
from router.flow.loader import FlowFile, examine_all, read_all
from router.settings import Settings
from router.understanding.rivalry import Rivalry, rivalries


@dataclass(frozen=True)
class Validated:
    """Sound flow files, all that is wrong with any and between them, and what might be better."""

    files: list[FlowFile]
    errors: list[Problem]
    warnings: list[Problem]
    between: list[Problem]
    """Of both, what concerns sentences that two flows want."""


def validated(settings: Settings, paths: list[Path] | None) -> Validated:
    """The files at these paths, beside the flows in use; without paths, the flows in use.

    What is wrong in a file hides nothing of what is wrong between it and others, unless it is in
    its triggers.

    Raises:
        DefinitionError: the declared tools can't be loaded.
    """
    known = load_registry(settings).parameters()
    files, errors = examine_all(paths or [flow_folder(settings)], known)
    sound = [file for file in files if not file.problems]
    neighbours, trouble = ([], []) if paths is None else _neighbours(settings, files, known)
    roles, nobody = _roles(settings)
    remarks = (remark for file in sound for remark in file.remarks(roles))
    warnings = [*trouble, *nobody, *remarks]
    between = list(_between([f for f in files if f.has_sound_triggers], neighbours))
    for is_error, problem in between:
        (errors if is_error else warnings).append(problem)
    return Validated(sound, errors, warnings, [problem for _, problem in between])


def _roles(settings: Settings) -> tuple[frozenset[str] | None, list[Problem]]:
    """The roles that somebody in the directory holds; what keeps it from being read."""
    try:
        return people_of(settings).roles, []
    except DefinitionError as error:
        return None, error.problems
    except RouterError as error:
        unread = Problem(str(settings.directory), 1, str(error), "roles were not looked at")
        return None, [unread]


def _neighbours(
    settings: Settings, files: list[FlowFile], known: dict[str, frozenset[str]]
) -> tuple[list[FlowFile], list[Problem]]:
    """The flows in use that aren't among the files; what keeps them from being looked at."""
    names = {file.definition.flow for file in files}
    try:
        in_use = read_all([flow_folder(settings)], known)
    except DefinitionError as error:
        return [], error.problems
    return [file for file in in_use if file.definition.flow not in names], []


def _between(files: list[FlowFile], neighbours: list[FlowFile]) -> Iterator[tuple[bool, Problem]]:
    """What concerns one of the files at least; True where a sentence goes astray."""
    by_name = {file.definition.flow: file for file in [*files, *neighbours]}
    asked = {file.definition.flow for file in files}
    for rivalry in rivalries(file.definition for file in by_name.values()):
        if asked & {rivalry.flow, rivalry.by}:
            yield rivalry.kind == "taken", _problem(by_name[rivalry.flow], rivalry)


def _problem(file: FlowFile, rivalry: Rivalry) -> Problem:
    place = ("triggers", "examples", rivalry.example)
    example = file.definition.triggers.examples[rivalry.example]
    if rivalry.kind == "blocked":
        return file.problem(
            place,
            f"the example {example!r} doesn't start {rivalry.flow}: {rivalry.by!r} speaks against "
            f"its pattern {rivalry.pattern!r}",
            "say it otherwise, narrow unless, or switch the guard off with without",
        )
    does = "starts" if rivalry.kind == "taken" else "also starts"
    return file.problem(
        place,
        f"the example {example!r} {does} {rivalry.by}, by its pattern {rivalry.pattern!r}",
        f"narrow that pattern, add an unless to {rivalry.by}, or take the example out",
    )
