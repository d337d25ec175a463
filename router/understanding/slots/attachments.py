"""Files that came with a message, and the slots of the open flow that they fill.

What is asked for is filled first, then what is empty, in the order of the flow's file. Which of
them are the requester's own is the flow's to judge, as of every file.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial

from pydantic import JsonValue

from router.domain import commands
from router.flow.definition import FlowDefinition
from router.flow.engine.slots import at, placed, root
from router.flow.paused import Situation
from router.flow.slot_types.slot import Slot, Values, slot_at
from router.flow.view import FormView
from router.understanding import actions
from router.understanding import route_reasons as why
from router.understanding.actions import PolicyDecision

SlotValues = dict[str, JsonValue]


def takes_files(slot: Slot) -> bool:
    """True for a slot of files, or of things that have some."""
    inner = [*slot.fields.values(), *([slot.of] if slot.of else [])]
    return slot.kind.is_file or any(map(takes_files, inner))


def papers_of(slots: Iterable[Slot]) -> set[str]:
    """The types of documents that these slots, or parts of them, are for."""
    found: set[str] = set()
    for slot in slots:
        inner = [*slot.fields.values(), *([slot.of] if slot.of else [])]
        found |= {*slot.documents, *papers_of(inner)}
    return found


def filled_by_files(
    view: FormView, files: Sequence[str], given: Values | None = None, *, replacing: bool = True
) -> SlotValues:
    """The slots that these files fill, by path; `given` is what the same message says in words.

    A file that the run has already fills nothing. Where everything is filled, and there is but one
    place for one file, the first new file takes it, if they may be `replacing` anything.
    """
    known = _with(view.slots, given or {})
    had = set(texts_in(known))
    new = [file for file in dict.fromkeys(files) if file not in had]
    places = list(dict.fromkeys(_places(view.fillable, view.awaiting, known)))
    filled: SlotValues = dict(zip(places, new, strict=False))
    if new and not places and replacing:
        only = _only_place(view.fillable)
        return {only: new[0]} if only and only not in (given or {}) else {}
    return filled


def files_for(
    slots: Mapping[str, Slot], files: Sequence[str], given: Values | None = None
) -> SlotValues:
    """The slots of a flow that is begun that these files fill, by path."""
    places = dict.fromkeys(_places(slots, (), _with({}, given or {})))
    return dict(zip(places, files, strict=False))


def texts_in(value: JsonValue) -> Iterator[str]:
    """Every text within the value: whatever files a run has are named by one."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, list | dict):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from texts_in(inner)


def with_files(
    given: Sequence[commands.Command], view: FormView, files: Sequence[str], *, replacing: bool
) -> list[commands.Command]:
    """The commands of a message, of which one hands its files to the flow that asks.

    A yes to what was shown without them becomes none: it is shown once more, with them. Words that
    answer nothing are only passed over where a file does.
    """
    filled = partial(filled_by_files, view, files, replacing=replacing)
    told: list[commands.Command] = list(given)
    for place, command in enumerate(told):
        match command:
            case commands.FillSlots(question=None, slots=slots):
                more = filled(slots)
                told[place] = command.replace(slots={**slots, **more})
            case commands.Confirm(value=False, slots=slots):
                more = filled(slots)
                told[place] = command.replace(slots={**slots, **more})
            case commands.Confirm() | commands.Misunderstood() | commands.Repeat():
                more = filled()
                told[place] = commands.FillSlots(slots=more) if more else command
            case _:
                continue
        break
    return told


def files_alone(
    situation: Situation,
    flows: Mapping[str, FlowDefinition],
    files: Sequence[str],
    kinds: Collection[str],
) -> PolicyDecision:
    """Files without a word: for the flow or skill that asks, or the only flow for such papers.

    Else it is said what could be done with files.
    """
    locale, view = situation.locale, actions.asking(situation)
    if view is not None:
        return why.ATTACHED.of(view, locale), commands.Repeat()
    if skill := situation.skill:
        answered = why.SKILL_ANSWERED.route(locale, skill, skill=skill)
        return answered, commands.RunSkill(skill=skill, request="")
    if situation.offered:
        return why.FILES_ALONE.route(locale), commands.Repeat()
    usable = [flow for flow in flows.values() if actions.may_start(flow, situation)]
    meant = [f for f in usable if all(k in papers_of(f.slots.values()) for k in kinds)]
    if len(meant) == 1:
        begun = commands.StartFlow(flow=meant[0].flow, slots=files_for(meant[0].slots, files))
        return why.PAPERS.of(meant[0], locale), begun
    taking = [flow.title for flow in usable if any(map(takes_files, flow.slots.values()))]
    text = why.what_takes_files(taking).within(locale)
    return why.FILES_ALONE.route(locale), commands.ReplyText(text=text)


def begun_with_files(
    given: Sequence[commands.Command], flows: Mapping[str, FlowDefinition], files: Sequence[str]
) -> list[commands.Command]:
    """The commands, the only one of which that begins a flow hands it the message's files."""
    begins = [command for command in given if isinstance(command, commands.StartFlow)]
    if not files or len(begins) != 1 or begins[0].flow not in flows:
        return [*given]
    fillable = {n: slot for n, slot in flows[begins[0].flow].slots.items() if slot.is_fillable}
    more = files_for(fillable, files, begins[0].slots)
    handed = begins[0].replace(slots={**begins[0].slots, **more})
    return [handed if command is begins[0] else command for command in given]


def _with(slots: Values, given: Values) -> SlotValues:
    after = dict(slots)
    for path, value in given.items():
        if not path.endswith(".more"):
            after[root(path)] = placed(after.get(root(path)), path.split(".")[1:], value)
    return after


def _places(
    slots: Mapping[str, Slot], awaiting: Sequence[str], known: Mapping[str, JsonValue]
) -> Iterator[str]:
    """Where there is room for files, what is asked for first; a list has as many as it takes."""
    for path in awaiting:
        slot = slot_at(slots, path)
        if slot is not None and slot.kind.is_file and at(dict(known), path) is None:
            yield path
        yield from _room(slots[root(path)], root(path), known) if root(path) in slots else ()
    for name, slot in slots.items():
        yield from _room(slot, name, known)


def _room(slot: Slot, path: str, known: Mapping[str, JsonValue]) -> Iterator[str]:
    value = at(dict(known), path)
    if slot.kind.is_file and value is None:
        yield path
    elif slot.of is not None and (paper := _read_within(slot.of)) is not None:
        # Each is an item of its own; what it says may yet move it to one that is there.
        items = value if isinstance(value, list) else []
        yield from (f"{path}.{number}.{paper}" for number in range(len(items), slot.max))
    elif slot.of is not None and slot.of.kind.is_file:
        items = value if isinstance(value, list) else []
        yield from (f"{path}.{number}" for number in range(len(items), slot.max))
    elif slot.of is not None and isinstance(value, list) and value:
        # The last item that lacks one: earlier ones were left without on purpose, or will be asked.
        rooms = (list(_room(slot.of, f"{path}.{n}", known)) for n in reversed(range(len(value))))
        yield from next(filter(None, rooms), [])
    for name, field in slot.fields.items():
        yield from _room(field, f"{path}.{name}", known) if value is not None else ()


def _read_within(item: Slot) -> str | None:
    """The field of an item that is a file from which others are filled."""
    return next((name for name, field in item.fields.items() if field.documents), None)


def _only_place(slots: Mapping[str, Slot]) -> str | None:
    """The slot for one file, where nothing else takes any."""
    taking = [name for name, slot in slots.items() if takes_files(slot)]
    return taking[0] if len(taking) == 1 and slots[taking[0]].kind.is_file else None
