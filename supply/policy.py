"""What is allowed, as `policy.toml` beside this module says it."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
"""The repository."""


@dataclass(frozen=True)
class Policy:
    """What `policy.toml` says."""

    locks: Mapping[str, tuple[str, ...]]
    """By lock, its extras of `pyproject.toml`."""


def policy(text: str) -> Policy:
    """The policy that a file holds.

    Raises:
        KeyError: it lacks a part.
    """
    told: dict[str, Any] = tomllib.loads(text)
    return Policy(locks={name: tuple(extras) for name, extras in told["locks"].items()})


def kept() -> Policy:
    """The repository's own."""
    return policy((ROOT / "supply" / "policy.toml").read_text(encoding="utf-8"))
