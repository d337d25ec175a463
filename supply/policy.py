"""What is allowed, as `policy.toml` beside this module says it."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
"""The repository."""


@dataclass(frozen=True)
class Licence:
    """What was found of a package by reading its files."""

    expression: str
    """By SPDX, what its wheel holds of others included."""
    why: str
    """What was read, and why it may come in."""
    accepted: tuple[str, ...] = ()
    """Licences that it may have beside those that anything may."""
    ships: bool = True
    """False where it is for tests alone: no lock of what ships may have it."""


@dataclass(frozen=True)
class Policy:
    """What `policy.toml` says."""

    locks: Mapping[str, tuple[str, ...]]
    """By lock, its extras of `pyproject.toml`."""
    allowed: tuple[str, ...]
    """Licences that anything may have, by SPDX."""
    licences: Mapping[str, Licence]
    """By package, what its metadata don't say, or not rightly."""
    images: Mapping[str, str]
    """By image, why it is named without a digest."""


def policy(text: str) -> Policy:
    """The policy that a file holds.

    Raises:
        KeyError: it lacks a part.
        TypeError: a package has a part that there is none of.
    """
    told: dict[str, Any] = tomllib.loads(text)
    licences = told["licences"]
    return Policy(
        locks={name: tuple(extras) for name, extras in told["locks"].items()},
        allowed=tuple(licences["allowed"]),
        licences={
            name: Licence(**{**of, "accepted": tuple(of.get("accepted", ()))})
            for name, of in licences["of"].items()
        },
        images=told["images"],
    )


def kept() -> Policy:
    """The repository's own."""
    return policy((ROOT / "supply" / "policy.toml").read_text(encoding="utf-8"))
