"""What is installed: packages with their licences, what they depend on, and their native code."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from importlib.metadata import Distribution, distributions
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

_NATIVE = re.compile(r"\.so(\.[\d.]+)?$|\.node$")
_ELF = b"\x7fELF"


@dataclass(frozen=True)
class Package:
    """A package as it is installed."""

    name: str
    """As indexes compare names: in small letters, with hyphens."""
    version: str
    summary: str = ""
    expression: str = ""
    """Its licence, where it says one by SPDX; empty where it doesn't."""
    licence: str = ""
    """Its licence in words of its own, the first line of them."""
    classifiers: tuple[str, ...] = ()
    """The last parts of those classifiers that tell of a licence."""
    requires: tuple[Requirement, ...] = ()
    native: tuple[str, ...] = ()
    """Its files that hold machine code, as its record names them."""

    def needs(self, extras: Iterable[str] = ()) -> Iterator[Requirement]:
        """What it depends on here, with these extras of it."""
        for each in self.requires:
            contexts = [{"extra": extra} for extra in ("", *extras)]
            if each.marker is None or any(each.marker.evaluate(one) for one in contexts):
                yield each


def package(found: Distribution) -> Package:
    """What the metadata of a distribution say, as a package."""
    told = found.metadata
    kinds = [line.split(" :: ") for line in told.get_all("Classifier") or ()]
    words = _said(found, "License")
    return Package(
        name=canonicalize_name(told["Name"]),
        version=found.version,
        summary=_said(found, "Summary"),
        expression=_said(found, "License-Expression"),
        licence=words.splitlines()[0].strip() if words else "",
        classifiers=tuple(
            kind[-1] for kind in kinds if kind[0] == "License" and kind[-1] != "OSI Approved"
        ),
        requires=tuple(Requirement(line) for line in found.requires or ()),
        native=tuple(sorted(_machine_code(found))),
    )


def _said(found: Distribution, field: str) -> str:
    lines = found.metadata.get_all(field) or [""]
    return str(lines[0]).strip()


def _machine_code(found: Distribution) -> Iterator[str]:
    for file in found.files or ():
        if _NATIVE.search(file.name):
            yield str(file)
        elif not file.suffix and "/bin/" in f"/{file}":
            path = Path(str(file.locate()))
            if path.is_file() and path.open("rb").read(4) == _ELF:
                yield str(file)


def installed(folders: list[str] | None = None) -> list[Package]:
    """The packages in these folders, or of the interpreter that runs this; by name."""
    found = distributions(path=folders) if folders else distributions()
    by_name = {one.name: one for one in map(package, found)}
    return [by_name[name] for name in sorted(by_name)]


def closure(packages: Iterable[Package], roots: Iterable[Requirement]) -> list[Package]:
    """Of these packages, the ones that the roots need, by name.

    Raises:
        LookupError: one that is needed isn't among them.
    """
    by_name = {one.name: one for one in packages}
    left, seen = list(roots), set[tuple[str, frozenset[str]]]()
    while left:
        root = left.pop()
        name = canonicalize_name(root.name)
        if name not in by_name:
            raise LookupError(f"{name} is needed and isn't installed: make setup")
        if (name, frozenset(root.extras)) not in seen:
            seen.add((name, frozenset(root.extras)))
            left += by_name[name].needs(root.extras)
    return [by_name[name] for name in sorted({name for name, _ in seen})]
