"""Which capability is in which slot of the index's arrays."""

from collections.abc import Callable, Collection
from typing import get_args

import numpy as np
from numpy.typing import NDArray

from router.domain.capabilities import Capability, CapabilityKind
from router.selection.cards import Card

Roles = frozenset[str]

NOBODY = -1
"""In place of a set of roles: the slot is empty."""


class Shelf:
    """Slots are small integers from 0 on; one that falls free is given out again."""

    def __init__(self) -> None:
        self.cards: dict[int, Card] = {}
        """By slot, what was last indexed of it."""

        self._capabilities: list[Capability | None] = []
        self._slots: dict[tuple[str, str], int] = {}
        self._free: list[int] = []
        self._roles: dict[Roles, int] = {}
        self._role_numbers = np.zeros(0, np.int32)

    def __len__(self) -> int:
        return len(self._capabilities)

    def put(self, capability: Capability) -> tuple[int, Capability | None]:
        """The slot it is in now, and the capability that was there under its name."""
        key = (capability.kind, capability.name)
        slot = self._slots.get(key)
        if slot is None:
            slot = self._slots[key] = self._empty_slot()
        before, self._capabilities[slot] = self._capabilities[slot], capability
        number = self._roles.setdefault(capability.roles, len(self._roles))
        self._role_numbers[slot] = number
        return slot, before

    def drop(self, slot: int) -> None:
        """Take the capability out of its slot."""
        capability = self.at(slot)
        del self._slots[(capability.kind, capability.name)], self.cards[slot]
        self._capabilities[slot] = None
        self._role_numbers[slot] = NOBODY
        self._free.append(slot)

    def at(self, slot: int) -> Capability:
        """The capability in a slot that isn't empty."""
        found = self._capabilities[slot]
        if found is None:
            raise LookupError(f"slot {slot} is empty")
        return found

    def slot(self, capability: Capability) -> int:
        """The slot that a capability is in."""
        return self._slots[(capability.kind, capability.name)]

    def slots(self) -> list[tuple[tuple[str, str], int]]:
        """Kind and name of every capability, and its slot."""
        return list(self._slots.items())

    def named(self, names: Collection[str]) -> list[int]:
        """The slots of the capabilities of these names, whatever their kind."""
        keys = [(kind, name) for name in dict.fromkeys(names) for kind in get_args(CapabilityKind)]
        return [self._slots[key] for key in keys if key in self._slots]

    def allowed(
        self, allowed: Callable[[Roles], bool], among: Collection[str] | None
    ) -> NDArray[np.bool_]:
        """By slot, whether there is a capability of allowed roles and, if given, names.

        Asked once for each set of roles there is: thousands of capabilities have a handful.
        """
        passing = [number for roles, number in self._roles.items() if allowed(roles)]
        may = np.isin(self._role_numbers[: len(self._capabilities)], passing)
        if among is not None:
            named = np.zeros_like(may)
            named[self.named(among)] = True
            may &= named
        return may

    def _empty_slot(self) -> int:
        if self._free:
            return self._free.pop()
        self._capabilities.append(None)
        count = len(self._capabilities)
        if count > len(self._role_numbers):
            larger = np.full(2 * count, NOBODY, np.int32)
            larger[: count - 1] = self._role_numbers[: count - 1]
            self._role_numbers = larger
        return count - 1
