"""The locks: each package of one version, with the hashes of its files.

`pyproject.toml` has ranges, for those who install intent-router beside something else. What this
repository installs itself, `make setup`, CI and the image, it installs from `locks/`, where a file
with another hash is refused. `python -m supply lock` makes them by uv, for all Pythons and
platforms at once; versions stay as they are until somebody asks for newer ones.
"""

import subprocess
import sys
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from supply.policy import ROOT, Policy

FOLDER = ROOT / "locks"
FIRST = "test"
"""The lock with the most in it: the others take their versions from it."""
BUILD, TOOL, INSTALLER = "build", "uv", "pip"
"""Locks that hold no extra: what makes the wheel, what makes the locks, and what installs them."""
BUNDLED = ("pip", "setuptools")
"""The packages that a new virtual environment has from Python itself."""


@dataclass(frozen=True)
class Pin:
    """A package as a lock has it."""

    name: str
    version: str
    hashes: tuple[str, ...] = ()
    """SHA-256 of each file that may be installed as it, in hexadecimal."""
    marker: str = ""
    """The environments it is for; empty for all."""

    @property
    def here(self) -> bool:
        """Whether it is for the interpreter that runs this."""
        requirement = Requirement(f"{self.name};{self.marker}" if self.marker else self.name)
        return requirement.marker is None or requirement.marker.evaluate()


def pins(text: str) -> list[Pin]:
    """What a lock holds, in its order.

    Raises:
        ValueError: a line is no requirement of one version.
    """
    found = []
    for line in text.replace("\\\n", " ").splitlines():
        requirement, *hashes = line.partition("#")[0].split(" --hash=sha256:")
        if requirement.strip():
            found.append(_pin(requirement.strip(), tuple(one.strip() for one in hashes)))
    return found


def _pin(line: str, hashes: tuple[str, ...]) -> Pin:
    told = Requirement(line)
    exact = [one.version for one in told.specifier if one.operator == "=="]
    if len(exact) != 1 or len(told.specifier) != 1:
        raise ValueError(f"{line!r} in a lock names no one version: run make lock")
    marker = str(told.marker) if told.marker else ""
    return Pin(canonicalize_name(told.name), exact[0], hashes, marker)


def asked(pyproject: Mapping[str, Any], extras: Iterable[str]) -> list[Requirement]:
    """What the project and these extras depend on, extras of its own among them opened.

    Raises:
        KeyError: there is no such extra.
    """
    project = pyproject["project"]
    own = canonicalize_name(project["name"])
    found = [Requirement(line) for line in project["dependencies"]]
    left, seen = list(extras), set[str]()
    while left:
        extra = left.pop(0)
        seen.add(extra)
        for line in project["optional-dependencies"][extra]:
            requirement = Requirement(line)
            if canonicalize_name(requirement.name) == own:
                left += sorted(requirement.extras - seen)
            else:
                found.append(requirement)
    return found


def inputs(pyproject: Mapping[str, Any], policy: Policy) -> dict[str, list[Requirement]]:
    """By lock, what it has to hold: the first one first."""
    of = {name: asked(pyproject, extras) for name, extras in policy.locks.items()}
    of[BUILD] = [Requirement(line) for line in pyproject["build-system"]["requires"]]
    of[TOOL] = [Requirement(TOOL)]
    of[INSTALLER] = [Requirement(name) for name in BUNDLED]
    return {FIRST: of.pop(FIRST), **of}


def problems(
    wanted: Mapping[str, Iterable[Requirement]],
    locks: Mapping[str, Iterable[Pin]],
    installed: Mapping[str, str],
) -> Iterator[str]:
    """What is wrong with locks: a line for each.

    Args:
        wanted: By lock, what it has to hold.
        locks: By lock, what it holds.
        installed: Versions by package, of the environment at hand.
    """
    versions: dict[tuple[str, str], tuple[str, str]] = {}
    for lock, requirements in wanted.items():
        held = list(locks.get(lock, ()))
        for requirement in requirements:
            if not any(_satisfies(pin, requirement) for pin in held):
                yield f"locks/{lock}.txt has no version that {requirement} allows: make lock"
        for pin in held:
            if not pin.hashes:
                yield f"locks/{lock}.txt has no hash for {pin.name}=={pin.version}: make lock"
            version, first = versions.setdefault((pin.name, pin.marker), (pin.version, lock))
            if version != pin.version:
                yield (
                    f"locks/{lock}.txt has {pin.name} {pin.version}, locks/{first}.txt has"
                    f" {version}: make lock"
                )
    for name, version in sorted(_strays(locks, installed)):
        yield f"{name} {version} is installed, and no lock has that version: make setup"


def _satisfies(pin: Pin, requirement: Requirement) -> bool:
    same = pin.name == canonicalize_name(requirement.name)
    return same and requirement.specifier.contains(pin.version, prereleases=True)


def _strays(
    locks: Mapping[str, Iterable[Pin]], installed: Mapping[str, str]
) -> set[tuple[str, str]]:
    held: dict[str, set[str]] = {}
    for pin in (each for lock in locks.values() for each in lock if each.here):
        held.setdefault(pin.name, set()).add(pin.version)
    return {(n, v) for n, v in installed.items() if n in held and v not in held[n]}


def command(lock: str, newer: Iterable[str] | None = ()) -> list[str]:
    """How uv is asked for a lock, with its requirements on standard input.

    Args:
        lock: Its name.
        newer: The packages to raise to their newest versions; None for all.
    """
    words = [sys.executable, "-m", "uv", "pip", "compile", "-", "--quiet", "--no-annotate"]
    words += ["--universal", "--python-version", "3.11", "--generate-hashes"]
    words += ["--custom-compile-command", "make lock", "--output-file", str(FOLDER / f"{lock}.txt")]
    if lock not in {FIRST, TOOL}:
        words += ["--constraints", str(FOLDER / f"{FIRST}.txt")]
    words += ["--upgrade"] if newer is None else []
    return words + [word for name in newer or () for word in ("--upgrade-package", name)]


def project() -> dict[str, Any]:
    """The repository's `pyproject.toml`."""
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def held() -> dict[str, list[Pin]]:
    """By name, every lock of the repository."""
    return {path.stem: pins(path.read_text(encoding="utf-8")) for path in FOLDER.glob("*.txt")}


def make(policy: Policy, newer: Iterable[str] | None = ()) -> int:
    """Write all locks anew; what uv says of one that can't be made goes to stderr.

    Returns:
        Zero, or uv's exit status for the first that could not be made.
    """
    for lock, requirements in inputs(project(), policy).items():
        lines = "\n".join(str(one) for one in requirements)
        run = subprocess.run(command(lock, newer), input=lines, text=True, check=False, cwd=ROOT)
        if run.returncode:
            print(f"locks/{lock}.txt was not made, see above", file=sys.stderr)
            return run.returncode
    return 0


def moved(before: Mapping[str, Iterable[Pin]], after: Mapping[str, Iterable[Pin]]) -> list[str]:
    """What is of another version in later locks, came in or went: a line for each, by name."""
    old, new = (
        {(pin.name, pin.marker): pin.version for lock in locks.values() for pin in lock}
        for locks in (before, after)
    )
    return [
        f"{name} {old.get((name, marker), '(none)')} -> {new.get((name, marker), '(none)')}"
        f"{f' where {marker}' if marker else ''}"
        for name, marker in sorted(old.keys() | new.keys())
        if old.get((name, marker)) != new.get((name, marker))
    ]
