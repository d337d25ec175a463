"""Flow files into definitions: read once, checked whole, refused with everything at fault.

Flows that start others are checked with those; what is edited serves the next run.
"""

import logging
from collections.abc import AsyncIterator, Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from router.domain.errors import DefinitionError, Fault, Problem, nearest
from router.domain.sizes import measure_bytes
from router.flow import validation
from router.flow.catalog import Catalog
from router.flow.definition import FlowDefinition, State
from router.flow.validation.patterns import without_words
from router.formats.watcher import SECONDS, Watcher, changes
from router.formats.yaml_document import Place, Unreadable, YamlDocument, read_text, read_yaml

LARGEST_WITH_SUB_FLOWS = 200 * 1024
"""Bytes of JSON: a flow travels with all that it starts, as the input of its workflow."""

KnownFlows = Mapping[str, FlowDefinition]
Places = Sequence[Path]
Flows = Mapping[Path, FlowDefinition]


def sub_flow_faults(
    flow: FlowDefinition, known: KnownFlows, faulty: Collection[str] = ()
) -> Iterator[tuple[Place, Fault]]:
    """What is wrong with the flows that this one starts; of those that are `faulty` nothing."""
    for name, state in flow.states.items():
        started = known.get(state.starts or "")
        if state.starts is None or (started is None and state.starts in faulty):
            continue
        place = ("states", name)
        if started is None:
            remedy = nearest(state.starts, known) or "write its file, or name another"
            yield (*place, "flow"), Fault(f"there is no flow {state.starts}", remedy)
            continue
        yield from _slots(place, state, started)
        way = _way_back(flow.flow, state.starts, known)
        if way:
            what = f"flows would start each other for ever: {' ▸ '.join([flow.flow, *way])}"
            yield (*place, "flow"), Fault(what, "have one of them not start the next")
    size = measure_bytes(*_with_all(flow, known))
    most = LARGEST_WITH_SUB_FLOWS
    if size > most and _started(flow):
        what = f"with all that it starts {flow.flow} is {size} bytes; {most} are the most"
        yield ("flow",), Fault(what, "start fewer flows, or shorten them")


def _slots(place: Place, state: State, started: FlowDefinition) -> Iterator[tuple[Place, Fault]]:
    fillable = [name for name, slot in started.slots.items() if slot.is_fillable]
    for slot in state.gives:
        if slot not in fillable:
            remedy = nearest(slot, fillable) or f"there are {', '.join(fillable) or 'none'}"
            what = f"{started.flow} has no slot {slot} that can be filled in"
            yield (*place, "with", slot), Fault(what, remedy)


def _started(flow: FlowDefinition) -> set[str]:
    return {state.starts for state in flow.states.values() if state.starts}


def _way_back(to: str, start: str, known: KnownFlows) -> list[str]:
    ways, seen = [[start]], {start}
    while ways:
        way = ways.pop(0)
        if way[-1] == to:
            return way
        new = sorted(_started(known[way[-1]]) - seen) if way[-1] in known else []
        seen.update(new)
        ways += [[*way, name] for name in new]
    return []


def _with_all(flow: FlowDefinition, known: KnownFlows) -> list[FlowDefinition]:
    found = {flow.flow: flow}
    waiting = [flow]
    while waiting:
        named = sorted(_started(waiting.pop()) - found.keys())
        new = [known[name] for name in named if name in known]
        found.update({each.flow: each for each in new})
        waiting += new
    return list(found.values())


LARGEST = 128 * 1024
"""Bytes. The definition travels as a workflow's input, which 256 KiB bound as JSON."""

MOST_REMEMBERED = 256
"""Files whose flow is remembered, with the text that it was made of."""


Vocabulary = validation.Vocabulary
"""What flow files may name that stands elsewhere; without one, such names aren't checked."""


@dataclass(frozen=True)
class FlowFile:
    """A flow with the file it stands in: whoever looks further knows the lines."""

    path: Path
    definition: FlowDefinition
    """Its patterns plain RE2: the words they name are written out, where those are sound."""
    document: YamlDocument
    draft: validation.UncheckedFlow
    problems: tuple[Problem, ...] = ()
    """What is wrong with it; the definition then is what could be made out of the file."""
    has_sound_triggers: bool = True

    def problem(self, place: Place, what: str, remedy: str) -> Problem:
        """Something to be said of a place in the file."""
        return _problem(self.path, self.document.line(place), Fault(what, remedy), place)

    def remarks(self, roles: Collection[str] | None = None) -> list[Problem]:
        """What might be better about the flow, by lines; `roles` are those that somebody holds."""
        unheld = () if roles is None else validation.unheld_roles(self.draft, roles)
        said = [*validation.remarks(self.draft), *unheld]
        found = [self.problem(place, *fault) for place, fault in said]
        return sorted(found, key=lambda problem: problem.line)


@dataclass(frozen=True)
class UnmadeFlow:
    """A text of which no flow can be made: why, and what it says where it can be read."""

    problems: tuple[Problem, ...]
    document: YamlDocument | None = None


def load_flow(path: Path, known: Vocabulary | None = None) -> FlowDefinition:
    """The flow in a file. Raises as `read_flow`, which also gives the file's lines."""
    return read_flow(path, known).definition


def read_flow(path: Path, known: Vocabulary | None = None) -> FlowFile:
    """The flow in a file, with its lines; `DefinitionError` with every problem of the file.

    Unless the names are `known` that stand elsewhere, they aren't checked.
    """
    file = examine(path, known)
    if file.problems:
        raise DefinitionError(list(file.problems))
    return file


def examine(path: Path, known: Vocabulary | None = None) -> FlowFile:
    """The flow in a file with its problems; `DefinitionError` where no flow can be made of it."""
    try:
        text = read_text(path, LARGEST, "split the flow in two")
    except Unreadable as unreadable:
        raise DefinitionError([_problem(path, unreadable.line, unreadable.fault)]) from None
    return _made(_examined(path, text, known or Vocabulary()))


def examine_text(path: Path, text: str, known: Vocabulary | None = None) -> FlowFile:
    """The same of a flow that stands in no file: `path` is what its problems are said of.

    Its name without the suffix is the flow's.
    """
    return _made(looked_at(path, text, known))


def looked_at(path: Path, text: str, known: Vocabulary | None = None) -> FlowFile | UnmadeFlow:
    """The same for whoever wants to know what the text says although no flow can be made of it."""
    if len(text.encode()) > LARGEST:
        fault = Fault(f"it is over {LARGEST // 1024} KiB", "split the flow in two")
        return UnmadeFlow((_problem(path, 1, fault),))
    return _examined(path, text, known or Vocabulary())


def _made(found: FlowFile | UnmadeFlow) -> FlowFile:
    if isinstance(found, UnmadeFlow):
        raise DefinitionError(list(found.problems))
    return found


@lru_cache(maxsize=MOST_REMEMBERED)
def _examined(path: Path, text: str, known: Vocabulary) -> FlowFile | UnmadeFlow:
    """What is to be said of this text: it takes a tenth of a second, and is asked several times."""
    try:
        document = read_yaml(text)
    except Unreadable as unreadable:
        return UnmadeFlow((_problem(path, unreadable.line, unreadable.fault),))
    draft, complaints = _checked(document, path.stem, known)
    found = [_problem(path, line, fault, document.place(line)) for line, fault in document.faults]
    found += (_problem(path, document.line(at), fault, at) for at, fault in complaints)
    problems = tuple(sorted(dict.fromkeys(found), key=lambda problem: problem.line))
    if draft is None:
        return UnmadeFlow(problems, document)
    has_sound_triggers = all(place[:1] != ("triggers",) for place, _ in complaints)
    whole = without_words(draft.definition) if has_sound_triggers else draft.definition
    definition = _with_skippable(whole)
    return FlowFile(path, definition, document, draft, problems, has_sound_triggers)


def _with_skippable(definition: FlowDefinition) -> FlowDefinition:
    """The definition with those slots marked that may be left empty when asked."""
    collected = {name for state in definition.states.values() for name in state.collects}
    slots = dict(definition.slots)
    for name, slot in slots.items():
        asked = not slot.required and slot.ask is not None and slot.lookup is None
        slots[name] = slot.replace(skippable=name in collected and asked)
    return definition.replace(slots=slots)


def load_flows(folder: Path, known: Vocabulary | None = None) -> Catalog:
    """All `*.yaml` of a folder; `DefinitionError` with every problem of every file."""
    return load_all([folder], known)


def load_all(places: Sequence[Path], known: Vocabulary | None = None) -> Catalog:
    """All flows of several files and folders; raises as `read_all`."""
    return Catalog(file.definition for file in read_all(places, known))


def read_all(places: Sequence[Path], known: Vocabulary | None = None) -> list[FlowFile]:
    """The same with the files' lines; `DefinitionError` also where two flows share a name."""
    files, problems = examine_all(places, known)
    if problems:
        raise DefinitionError(problems)
    return files


def examine_all(
    places: Places, known: Vocabulary | None = None
) -> tuple[list[FlowFile], list[Problem]]:
    """Whatever flows can be made out, and every problem of every file and between them."""
    files: dict[Path, FlowFile] = {}
    problems: list[Problem] = []
    for path in dict.fromkeys(_files(places, problems)):
        try:
            files[path] = examine(path, known)
            problems += files[path].problems
        except DefinitionError as error:
            problems += error.problems
    sound = {path: file.definition for path, file in files.items() if not file.problems}
    problems += _duplicates(sound)
    problems += sub_flow_problems(sound, {Path(each.file).stem for each in problems})
    return list(files.values()), problems


def _files(places: Sequence[Path], problems: list[Problem]) -> Iterator[Path]:
    for place in places:
        if place.is_dir():
            yield from sorted(place.glob("*.yaml"))
            misnamed = sorted(place.glob("*.yml"))
            problems += [_problem(p, 1, Fault("it isn't read", "call it .yaml")) for p in misnamed]
        else:
            yield place


def _duplicates(flows: Flows) -> Iterator[Problem]:
    first: dict[str, Path] = {}
    for path, flow in flows.items():
        if (other := first.setdefault(flow.flow, path)) != path:
            what = f"there is a flow {flow.flow} in {other} already"
            yield _problem(path, 1, Fault(what, "rename one of the two"))


def sub_flow_problems(flows: Flows, faulty: Collection[str] = ()) -> Iterator[Problem]:
    """What is wrong with the flows that flows start, each in the file that starts it.

    A flow that wasn't asked for but stands beside the file is known too.
    """
    known = {flow.flow: flow for flow in flows.values()}
    waiting = list(flows.items())
    while waiting:
        path, flow = waiting.pop()
        for name in _started(flow) - known.keys():
            beside = path.with_name(f"{name}.yaml")
            if beside.is_file():
                with suppress(DefinitionError):
                    known[name] = load_flow(beside)
                    waiting.append((beside, known[name]))
    for path, flow in flows.items():
        faults = list(sub_flow_faults(flow, known, faulty))
        document = read_yaml(path.read_text()) if faults else None
        for place, fault in faults:
            yield _problem(path, document.line(place) if document else 1, fault, place)


def _checked(
    document: YamlDocument, name: str, known: Vocabulary
) -> tuple[validation.UncheckedFlow | None, list[validation.Complaint]]:
    data = document.data
    if not isinstance(data, dict):
        kind = "empty" if data is None else f"a {type(data).__name__}"
        fault = Fault(f"a flow file is a mapping, and this is {kind}", "begin with flow: <name>")
        return None, [validation.Complaint((), fault)]
    shape = validation.read_shape(data)
    if shape.definition is None:
        return None, shape.complaints
    draft = validation.UncheckedFlow(
        definition=shape.definition,
        name=name,
        states=_names(data.get("states")),
        slots=_names(data.get("slots")),
        mended=frozenset(place for place, _ in shape.complaints),
        known=known,
    )
    return draft, [*shape.complaints, *validation.complaints_about(draft)]


def _names(mapping: object) -> frozenset[str]:
    return frozenset(mapping) if isinstance(mapping, dict) else frozenset()


def _problem(path: Path, line: int, fault: Fault, place: Place = ()) -> Problem:
    return Problem(str(path), line, fault.what, fault.remedy, place)


_log = logging.getLogger("router.flows")


class WatchedFlows:
    """The flows of a folder, which looks for changes when asked to."""

    def __init__(self, place: Path, known: Callable[[], Vocabulary]) -> None:
        """`known` gives what flows may name at that moment."""
        self._place = place
        self._known = known
        self._watcher = Watcher(self._paths, lambda path: read_flow(path, known()), _complain)
        self.retry = self._watcher.retry
        self.forget = self._watcher.forget

    def load(self) -> Catalog:
        """Load them; raises `DefinitionError` with every problem of every file."""
        self._watcher.begin(lambda: {f.path: f for f in read_all([self._place], self._known())})
        return Catalog(file.definition for file in self._watcher.items)

    def reload(self) -> list[FlowFile] | None:
        """Those there are now, or None where nothing has changed, or the whole folder has gone."""
        return self._watcher.reload() if self._place.exists() else None

    @property
    def unfit(self) -> list[Path]:
        """The files that can't be used as they are now, which the log has said."""
        return self._watcher.unsound

    def changes(self, seconds: float = SECONDS) -> AsyncIterator[list[FlowFile]]:
        """What there is after each change, for ever; looks so often."""
        return changes(self.reload, seconds)

    def _paths(self) -> list[Path]:
        return sorted(self._place.glob("*.yaml")) if self._place.is_dir() else [self._place]


def _complain(path: Path, last: FlowFile | None, error: Exception) -> None:
    state = "stays as it was" if last else "isn't used"
    _log.error("the flow in %s %s: %s", path, state, error)
