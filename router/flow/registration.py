"""Registers the slot types and kinds of states of extensions."""

from collections.abc import Iterable

from router.flow.definition import KINDS, State, register_state_kind
from router.flow.slot_types import CORE_SLOT_TYPES
from router.flow.slot_types.slot import SLOT_TYPES, SlotType, register_slot_type
from router.flow.states import CORE_KINDS


def register_kinds(types: Iterable[type[SlotType]], kinds: Iterable[type[State]]) -> None:
    """Register slot types and kinds of states, all of them or none.

    Raises:
        TypeError: One of them can't be used; the message says why.
        ExtensionConflict: One of them means two things together with one that is registered.
    """
    slot_types_before, kinds_before = dict(SLOT_TYPES), dict(KINDS)
    try:
        for each in types:
            _check_importable(register_slot_type(each))
        for kind in kinds:
            _check_importable(register_state_kind(kind))
    except Exception:
        SLOT_TYPES.clear()
        SLOT_TYPES.update(slot_types_before)
        KINDS.clear()
        KINDS.update(kinds_before)
        raise


def unregister_kinds(types: Iterable[type[SlotType]], kinds: Iterable[type[State]]) -> None:
    """Remove slot types and kinds of states again that `register_kinds` has registered."""
    for each in types:
        del SLOT_TYPES[each.name]
    for kind in kinds:
        del KINDS[kind.kind]


def _check_importable(kind: type) -> None:
    # Child processes import it (`router.api.isolated_work`).
    if "<locals>" in kind.__qualname__:
        raise TypeError(f"{kind.__name__} is defined in a function; define it in a module")


def find_added_types() -> tuple[type[SlotType], ...]:
    """Return the slot types that extensions have registered."""
    return tuple(type(each) for name, each in SLOT_TYPES.items() if name not in CORE_SLOT_TYPES)


def find_added_kinds() -> tuple[type[State], ...]:
    """Return the kinds of states that extensions have registered."""
    return tuple(kind for name, kind in KINDS.items() if name not in CORE_KINDS)
