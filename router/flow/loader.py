"""Flow files into definitions: read once, checked whole, refused with everything at fault.

DefinitionError: flows/leave_request.yaml:12: slots.end.ask: the English text is missing;
add en: "…"
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from router.documents.faults import Fault
from router.documents.text_file import read_text
from router.documents.yaml_document import Document, Place, Unreadable, read_document
from router.domain.errors import DefinitionError, Problem
from router.flow.catalog import Catalog
from router.flow.model import DEFAULT_IDLE, FlowDefinition, Slot
from router.flow.rules import NEWEST_RULES
from router.flow.sub_flows import sub_flow_faults
from router.flow.validation import (
    Complaint,
    Draft,
    complaints_about,
    read_shape,
    remarks,
    unheld_roles,
)
from router.flow.validation.words import without_words

LARGEST = 128 * 1024
"""Bytes. The definition travels as a workflow's input, which 256 KiB bound as JSON."""

MOST_REMEMBERED = 256
"""Files whose flow is remembered, with the text that it was made of."""

Tools = Mapping[str, frozenset[str]]
"""The parameters of every tool that flows may call, by the tool's name."""


@dataclass(frozen=True)
class FlowFile:
    """A flow with the file it stands in: whoever looks further knows the lines."""

    path: Path
    definition: FlowDefinition
    """Its patterns plain RE2: the words they name are written out, where those are sound."""
    document: Document
    draft: Draft
    problems: tuple[Problem, ...] = ()
    """What is wrong with it; the definition then is what could be made out of the file."""
    has_sound_triggers: bool = True

    def problem(self, place: Place, what: str, remedy: str) -> Problem:
        """Something to be said of a place in the file."""
        return _problem(self.path, self.document.line(place), Fault(what, remedy))

    def remarks(self, roles: Collection[str] | None = None) -> list[Problem]:
        """What might be better about the flow, in the order of its lines; it may still be used.

        `roles` are those that somebody holds, where that is known.
        """
        unheld = () if roles is None else unheld_roles(self.draft, roles)
        found = [self.problem(place, *fault) for place, fault in [*remarks(self.draft), *unheld]]
        return sorted(found, key=lambda problem: problem.line)


def load_flow(path: Path, tools: Tools | None = None) -> FlowDefinition:
    """The flow in a file. Raises as `read_flow`, which also gives the file's lines."""
    return read_flow(path, tools).definition


def read_flow(path: Path, tools: Tools | None = None) -> FlowFile:
    """The flow in a file, with its lines.

    Raises `DefinitionError` with every problem of the file, in the order of its lines. Without
    `tools` calls aren't checked.
    """
    file = examine(path, tools)
    if file.problems:
        raise DefinitionError(list(file.problems))
    return file


def examine(path: Path, tools: Tools | None = None) -> FlowFile:
    """The flow in a file as far as it can be made out, with its problems.

    Raises `DefinitionError` where no flow can be made of the file at all.
    """
    try:
        text = read_text(path, LARGEST, "split the flow in two")
    except Unreadable as unreadable:
        raise DefinitionError([_problem(path, unreadable.line, unreadable.fault)]) from None
    return _examined(path, text, None if tools is None else frozenset(tools.items()))


@lru_cache(maxsize=MOST_REMEMBERED)
def _examined(
    path: Path, text: str, known: frozenset[tuple[str, frozenset[str]]] | None
) -> FlowFile:
    """What is to be said of this text: the same every time, a tenth of a second of CPU the first.

    One process asks for its flows in several places, and `eval` for each split of a file.
    """
    tools = None if known is None else dict(known)
    try:
        document = read_document(text)
    except Unreadable as unreadable:
        raise DefinitionError([_problem(path, unreadable.line, unreadable.fault)]) from None
    draft, complaints = _checked(document, path.stem, tools)
    found = [*document.faults, *((document.line(place), fault) for place, fault in complaints)]
    ordered = sorted(dict.fromkeys(found), key=lambda each: each[0])
    problems = tuple(_problem(path, line, fault) for line, fault in ordered)
    if draft is None:
        raise DefinitionError(list(problems))
    has_sound_triggers = all(place[:1] != ("triggers",) for place, _ in complaints)
    whole = without_words(draft.definition) if has_sound_triggers else draft.definition
    definition = _with_skippable(whole.model_copy(update={"idle": whole.idle or DEFAULT_IDLE}))
    return FlowFile(path, definition, document, draft, problems, has_sound_triggers)


def _with_skippable(definition: FlowDefinition) -> FlowDefinition:
    """The definition under the newest rules, and slots marked that may be left empty when asked."""
    collected = {name for state in definition.states.values() for name in state.collect or ()}
    slots = {
        name: slot.model_copy(update={"skippable": name in collected and _is_offered(slot)})
        for name, slot in definition.slots.items()
    }
    return definition.model_copy(update={"slots": slots, "rules": NEWEST_RULES})


def _is_offered(slot: Slot) -> bool:
    return not slot.required and slot.ask is not None and slot.lookup is None


def load_flows(folder: Path, tools: Tools | None = None) -> Catalog:
    """All flows of a folder: its `*.yaml`, not those of the folders in it (`tests/`).

    Raises `DefinitionError` with every problem of every file.
    """
    return load_all([folder], tools)


def load_all(places: Sequence[Path], tools: Tools | None = None) -> Catalog:
    """All flows of several files and folders; raises as `read_all`."""
    return Catalog(file.definition for file in read_all(places, tools))


def read_all(places: Sequence[Path], tools: Tools | None = None) -> list[FlowFile]:
    """The same with the files' lines; `DefinitionError` also where two flows share a name."""
    files, problems = examine_all(places, tools)
    if problems:
        raise DefinitionError(problems)
    return files


def examine_all(
    places: Sequence[Path], tools: Tools | None = None
) -> tuple[list[FlowFile], list[Problem]]:
    """Whatever flows can be made out, and every problem of every file and between them."""
    files: dict[Path, FlowFile] = {}
    problems: list[Problem] = []
    for path in dict.fromkeys(_files(places, problems)):
        try:
            files[path] = examine(path, tools)
            problems += files[path].problems
        except DefinitionError as error:
            problems += error.problems
    sound = {path: file.definition for path, file in files.items() if not file.problems}
    problems += _duplicates(sound)
    problems += sub_flow_problems(sound, {Path(each.file).stem for each in problems})
    return list(files.values()), problems


def _files(places: Iterable[Path], problems: list[Problem]) -> Iterator[Path]:
    for place in places:
        if place.is_dir():
            yield from sorted(place.glob("*.yaml"))
            misnamed = sorted(place.glob("*.yml"))
            problems += [_problem(p, 1, Fault("it isn't read", "call it .yaml")) for p in misnamed]
        else:
            yield place


def _duplicates(flows: Mapping[Path, FlowDefinition]) -> Iterator[Problem]:
    first: dict[str, Path] = {}
    for path, flow in flows.items():
        other = first.setdefault(flow.flow, path)
        if other != path:
            what = f"there is a flow {flow.flow} in {other} already"
            yield _problem(path, 1, Fault(what, "rename one of the two"))


def sub_flow_problems(
    flows: Mapping[Path, FlowDefinition], faulty: Collection[str] = ()
) -> Iterator[Problem]:
    """What is wrong with the flows that flows start, each in the file that starts it.

    A flow that wasn't asked for but stands beside the file is known too; of the `faulty` enough
    has been said.
    """
    known = {flow.flow: flow for flow in flows.values()}
    waiting = list(flows.items())
    while waiting:
        path, flow = waiting.pop()
        for name in {state.flow for state in flow.states.values() if state.flow} - known.keys():
            beside = path.with_name(f"{name}.yaml")
            if beside.is_file():
                with suppress(DefinitionError):
                    known[name] = load_flow(beside)
                    waiting.append((beside, known[name]))
    for path, flow in flows.items():
        faults = list(sub_flow_faults(flow, known, faulty))
        document = read_document(path.read_text()) if faults else None
        for place, fault in faults:
            yield _problem(path, document.line(place) if document else 1, fault)


def _checked(
    document: Document, name: str, tools: Tools | None
) -> tuple[Draft | None, list[Complaint]]:
    data = document.data
    if not isinstance(data, dict):
        kind = "empty" if data is None else f"a {type(data).__name__}"
        fault = Fault(f"a flow file is a mapping, and this is {kind}", "begin with flow: <name>")
        return None, [Complaint((), fault)]
    shape = read_shape(data)
    if shape.definition is None:
        return None, shape.complaints
    draft = Draft(
        definition=shape.definition,
        name=name,
        states=_names(data.get("states")),
        slots=_names(data.get("slots")),
        mended=frozenset(place for place, _ in shape.complaints),
        tools=tools,
    )
    return draft, [*shape.complaints, *complaints_about(draft)]


def _names(mapping: object) -> frozenset[str]:
    return frozenset(mapping) if isinstance(mapping, dict) else frozenset()


def _problem(path: Path, line: int, fault: Fault) -> Problem:
    return Problem(str(path), line, fault.what, fault.remedy)
