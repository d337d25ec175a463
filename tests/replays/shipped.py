"""Which versions of which flows have a recorded history."""

import base64
import json
from collections.abc import Iterator
from pathlib import Path

FOLDER = Path(__file__).parent

Version = tuple[str, int]
"""A flow's name and version."""


def recorded() -> set[Version]:
    """The versions that some history began with: a run's definition is its first input."""
    return {version for file in FOLDER.glob("*.json") for version in _begun(file)}


def _begun(file: Path) -> Iterator[Version]:
    first = json.loads(file.read_text())["events"][0]["workflowExecutionStartedEventAttributes"]
    for payload in first["input"]["payloads"]:
        given = json.loads(base64.b64decode(payload["data"]))
        definition = given.get("definition")
        if definition is not None:
            yield definition["flow"], definition["version"]
