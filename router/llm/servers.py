"""What each model server turned out not to do, learned from its own refusals.

A request uses everything that the server isn't known to refuse. What it is told to have
refused is left out of the next one, and remembered once a request without it was accepted:
each lesson costs one extra request, once.
"""

import json
import logging
from collections.abc import Iterable
from pathlib import Path
from typing import Literal, Self, get_args

from router.llm.types import How

Feature = Literal[
    "strict",
    "parallel_tool_calls",
    "tool_choice",
    "tool_choice=required",
    "tool_choice=auto",
    "tools",
    "limits",
    "json_schema",
    "json_object",
    "max_tokens",
    "temperature",
    "stream_options",
]
"""What a request may use. `tool_choice` is the parameter whatever its value, `limits` are the
lengths within the schema of a `response_format`, and a server that refuses `max_tokens` wants it
as `max_completion_tokens`."""

FEATURES: tuple[Feature, ...] = get_args(Feature)
Refused = frozenset[Feature]


def way_of_asking(refused: Refused) -> How:
    """The best way of offering functions that the server doesn't refuse.

    >>> way_of_asking(frozenset({"tools", "json_schema"}))
    'json_object'
    """
    if "tools" not in refused and not {"tool_choice=required", "tool_choice=auto"} <= refused:
        return "functions"
    if "json_schema" not in refused:
        return "json_schema"
    return "text" if "json_object" in refused else "json_object"


logger = logging.getLogger(__name__)


class ServerMemory:
    """What every server refuses, by endpoint (a model at a base URL); kept as JSON.

    >>> memory = ServerMemory.from_json('{"qwen at http://gpu:8000/v1": ["strict"]}')
    >>> memory.refused("qwen at http://gpu:8000/v1")
    frozenset({'strict'})
    """

    def __init__(self) -> None:
        self._refused: dict[str, Refused] = {}

    @classmethod
    def from_json(cls, text: str) -> Self:
        """What `to_json` wrote; anything in it that isn't known here is left out."""
        memory = cls()
        memory._refused = _read(text)
        return memory

    def to_json(self) -> str:
        """The memory as text that is the same for the same knowledge."""
        return json.dumps(
            {endpoint: sorted(refused) for endpoint, refused in self._refused.items()},
            sort_keys=True,
            ensure_ascii=False,
        )

    def refused(self, endpoint: str) -> Refused:
        """What the endpoint is known to refuse; nothing, where it was never asked."""
        return self._refused.get(endpoint, frozenset())

    def learn(self, endpoint: str, features: Iterable[Feature]) -> None:
        """Remember that the endpoint refuses these too."""
        if refused := self.refused(endpoint) | frozenset(features):
            self._refused[endpoint] = refused

    def forget(self, endpoint: str) -> None:
        """Know nothing of the endpoint any more, as after an upgrade of its server."""
        self._refused.pop(endpoint, None)


class ServerMemoryFile(ServerMemory):
    """A memory that outlives the process, in a file of its own.

    What can't be read or written is learned again: one extra request a lesson.
    """

    def __init__(self, path: Path) -> None:
        super().__init__()
        self._path = path
        try:
            self._refused = _read(path.read_text("utf-8"))
        except (OSError, UnicodeDecodeError):
            self._refused = {}  # nothing was learned yet

    def learn(self, endpoint: str, features: Iterable[Feature]) -> None:
        """Remember it, in the file too."""
        before = self.to_json()
        super().learn(endpoint, features)
        if self.to_json() != before:
            self._keep()

    def forget(self, endpoint: str) -> None:
        """Know nothing of the endpoint any more, in the file neither."""
        super().forget(endpoint)
        self._keep()

    def _keep(self) -> None:
        fresh = self._path.with_suffix(".new")
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            fresh.write_text(self.to_json(), "utf-8")
            fresh.replace(self._path)
        except OSError as error:
            logger.warning("what servers refuse can't be kept in %s: %s", self._path, error)


def _read(text: str) -> dict[str, Refused]:
    """What `to_json` wrote, as far as it is known here; what isn't is learned again."""
    try:
        kept = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    if not isinstance(kept, dict):
        return {}
    return {
        endpoint: frozenset(known for known in FEATURES if known in features)
        for endpoint, features in kept.items()
        if isinstance(features, list) and any(known in features for known in FEATURES)
    }
