"""How much a run may carry, and what happens when it has no room for more.

A run is carried whole into each new workflow run, and Temporal refuses one above 2 MiB. So a run is
measured before it calls anything, as a whole and by its parts: results that nothing can read any
more are dropped first, and a run that is still too large waits for an operator. Nothing is called
whose result could not be kept.
"""

import json
import re
from collections.abc import Iterator

from pydantic import JsonValue

from router.domain.locale import Localised
from router.domain.name_lists import say_names
from router.domain.run_history import HistoryEntry
from router.domain.sizes import measure_bytes
from router.flow.definition import FlowDefinition, SlotValues
from router.flow.engine import incidents
from router.flow.engine.context import StepContext
from router.flow.engine.run import MAX_HISTORY_LINES, History, Run
from router.flow.engine.run_parts.approvals import Approvals
from router.flow.engine.run_parts.draftable import Draftable
from router.flow.engine.run_parts.form import MAX_SLOTS_BYTES, Form
from router.flow.engine.run_parts.question import Question
from router.flow.engine.run_parts.recovery import MAX_DONE, Recovery
from router.flow.engine.run_parts.work import Work

LEFT_OUT = "left out"
"""The history line that stands for those between the first and the last ones."""

CALLING_STATES = frozenset({"call", "check", "flow", "parallel"})
_FIRST_LINES = 100
_GAP = r"\s{0,9}"
_NAMED_AS_TEXT = rf"{_GAP}\[{_GAP}\\?['\"]([^'\"\\]{{1,200}})\\?['\"]{_GAP}\]"
_RESULT = re.compile(rf"\bresults\b(?:{_GAP}\.{_GAP}([A-Za-z_]\w{{0,200}})|{_NAMED_AS_TEXT})?")
_OF_ALL = frozenset(dir(dict))
"""What a text can ask of all results at once: `results.items()`."""
_EXPLAINED_BYTES = 1_000
"""A part of this size is worth naming to an operator."""


def lacks_room(context: StepContext) -> bool:
    """Hold a run that is about to call something and has no room for a result; True if it waits.

    An operator who has it retried is asked again, unless the run has become smaller.
    """
    run = context.run
    if context.state.kind not in CALLING_STATES or run.work.tasks or run.work.batch is not None:
        return False
    if run.recovery.held is None and find_excess(run) is not None:
        drop_unread_results(context.definition, run)
        if (excess := find_excess(run)) is not None:
            incidents.hold_over_limit(context, excess)
    if run.recovery.held is None:
        return False
    run.status = "waiting"
    return True


def find_excess(run: Run) -> str | None:
    """Return which bound keeps the run from calling anything, for operators; None if none does."""
    if (calls := len(run.recovery.done)) >= MAX_DONE:
        return (
            f"the run has made {calls:,} calls that can be taken back, and {MAX_DONE:,} are the "
            "most. Have its flow end earlier, and terminate this run"
        )
    size = measure_bytes(run)
    if size > run.max_bytes:
        return explain(run, run.max_bytes)
    if size > _SMALLEST_BOUND:
        for name, part in run.parts.items():
            if measure_bytes(part) > part.max_bytes:
                return f"in its {name}, {explain(part, part.max_bytes)}"
    return None


_SMALLEST_BOUND = min(kind.max_bytes for kind in (Form, Question, Approvals, Work, Recovery))


def explain(run: Draftable, max_bytes: int) -> str:
    """Return which fields of a run, or of a part of it, are large, for operators."""
    sizes: dict[str, int] = {}
    for field, value in _fields_of(run):
        if field == "results" and isinstance(value, dict):
            sizes |= {f"results.{name}": _bytes_of(inner) for name, inner in value.items()}
        else:
            sizes[field] = _bytes_of(value)
    largest = sorted(sizes.items(), key=lambda each: -each[1])
    named = say_names(
        [f"{name} ({size:,} bytes)" for name, size in largest if size > _EXPLAINED_BYTES]
    )
    return (
        f"the run carries {measure_bytes(run):,} bytes, and {max_bytes:,} are the most: "
        f"{named.en}. Save less in its flow, and terminate this run"
    )


def _fields_of(run: Draftable) -> Iterator[tuple[str, JsonValue]]:
    """Yield each field of a run, or of a part of it, as JSON; those of parts by themselves."""
    parts = run.parts if isinstance(run, Run) else {}
    yield from run.model_dump(mode="json", exclude=set(parts)).items()
    for part in parts.values():
        yield from _fields_of(part)


def _bytes_of(value: JsonValue) -> int:
    return len(json.dumps(value, ensure_ascii=False).encode())


def drop_unread_results(definition: FlowDefinition, run: Run) -> None:
    """Drop the results that no state which the run can still come to reads.

    A part of another run keeps all of them: that one may read them.
    """
    if run.parent is not None:
        return
    read = read_results(definition, {run.state, *(visit.state for visit in run.recovery.trail)})
    if read is not None:
        run.work.results = {name: value for name, value in run.work.results.items() if name in read}


def read_results(definition: FlowDefinition, states: set[str]) -> set[str] | None:
    """Return the results named from these states on, or None if any may be read.

    `error` and `decision` are always among them.
    """
    names = {"error", "decision"}
    for text in _texts(definition, states):
        for found in _RESULT.finditer(text):
            name = found[1] or found[2]
            if name is None or name in _OF_ALL:
                return None
            names.add(name)
    return names


def _texts(definition: FlowDefinition, states: set[str]) -> Iterator[str]:
    yield definition.model_dump_json(exclude={"states", "triggers"}, by_alias=True)
    reached, waiting = set(states), list(states)
    while waiting:
        state = definition.states.get(waiting.pop())
        if state is None:
            continue
        yield state.model_dump_json(by_alias=True)
        exits = {branch.to for branches in state.exits().values() for branch in branches}
        exits |= set(state.batch.branches) if state.batch else set()
        waiting += exits - reached
        reached |= exits


def bound_lists(run: Run) -> None:
    """Keep the lists of a run within their bounds: what is left out changes no decision."""
    run.trim()
    if len(run.history) > MAX_HISTORY_LINES:
        shorten_history(run, MAX_HISTORY_LINES - _FIRST_LINES)


def shorten_history(run: Run, last: int) -> None:
    """Keep the first hundred entries, one that says how many are left out, and the last ones."""
    first, rest = run.history[:_FIRST_LINES], run.history[_FIRST_LINES:]
    left, kept = rest[:-last], rest[-last:]
    if not left:
        return
    run.left_out_entries += sum(entry.event != LEFT_OUT for entry in left)
    entry = HistoryEntry(
        at=left[-1].at,
        state=left[-1].state,
        event=LEFT_OUT,
        comment=f"{run.left_out_entries} lines",
    )
    run.history = History([*first, entry, *kept])


def shrink_run(definition: FlowDefinition, run: Run) -> Run:
    """Return the run without what it can do without, for one that can't be carried whole."""
    smaller = run.draft()
    drop_unread_results(definition, smaller)
    smaller.approvals.before_last = []
    # They are looked up again when they are needed.
    smaller.work.lookup_answers = {}
    shorten_history(smaller, _FIRST_LINES)
    return smaller


TOO_MUCH = Localised(
    zh="这件事填的内容已经太多了，刚才这部分放不下，请写短一点。",
    en="That is more than one request can hold; please make it shorter.",
)


def is_too_much(form: Form, offered: SlotValues) -> bool:
    """Return whether the slots would be too large with what is offered for them."""
    return _bytes_of({**form.slots, **offered}) > MAX_SLOTS_BYTES
