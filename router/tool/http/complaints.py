"""What is wrong with a file, gathered while it is read, so that all of it is told at once."""

from collections.abc import Collection, Mapping
from typing import Any

from router.documents.faults import Fault, nearest
from router.documents.yaml_document import Place


class Complaints:
    """Faults with their places."""

    def __init__(self) -> None:
        self.found: list[tuple[Place, Fault]] = []

    def add(self, place: Place, what: str, remedy: str) -> None:
        """Note a fault."""
        self.found.append((place, Fault(what, remedy)))

    def unknown_keys(self, place: Place, data: Mapping[str, Any], known: Collection[str]) -> None:
        """Note every key that nothing reads."""
        for key in data:
            if key not in known:
                remedy = nearest(key, known) or f"there are: {', '.join(known)}"
                self.add((*place, key), f"there is no {key[:40]}", remedy)

    def mapping(self, place: Place, value: Any) -> dict[str, Any]:
        """The value, where it is a mapping; else a fault and an empty one."""
        if isinstance(value, dict):
            return value
        self.add(place, f"{place[-1] if place else 'it'} is no object", 'write {"name": …}')
        return {}

    def text(self, place: Place, value: Any, *, otherwise: str = "") -> str:
        """The value, where it is a text with something in it; None is `otherwise`."""
        if value is None and otherwise:
            return otherwise
        if isinstance(value, str) and value.strip():
            return value
        what = f"there is no {place[-1]}" if value is None else f"{place[-1]} isn't text"
        self.add(place, what, f'write "{place[-1]}": "…"')
        return otherwise

    def texts(self, place: Place, value: Any) -> tuple[str, ...]:
        """The value, where it is a list of texts; None is an empty one."""
        if value is None:
            return ()
        if isinstance(value, list) and all(isinstance(one, str) and one for one in value):
            return tuple(value)
        self.add(place, f"{place[-1]} is no list of texts", f'write "{place[-1]}": ["…"]')
        return ()

    def flag(self, place: Place, value: Any, *, otherwise: bool) -> bool:
        """The value, where it is true or false; None is `otherwise`."""
        if value is None or isinstance(value, bool):
            return otherwise if value is None else value
        self.add(place, f"{place[-1]} is {value!r:.40}", "write true or false")
        return otherwise
