"""Where the examples of a tool stand in the file that declares it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from router.formats.yaml_document import Place


@dataclass(frozen=True)
class ExamplePlace:
    """A list of examples in a JSON file."""

    path: Path
    find: Callable[[Any], Place]
    """Returns the keys and indexes that lead to the list in the file's data."""
    read: Callable[[], Sequence[str]]
    """Loads the file again, as it is, and returns the tool's examples. Raises `RouterError`."""
