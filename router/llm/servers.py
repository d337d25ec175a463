"""What each model server turned out not to do, learned from its own refusals.

A request uses everything that the server isn't known to refuse. What it is told to have
refused is left out of the next one, and remembered once a request without it was accepted:
each lesson costs one extra request, once.
"""

import json
import logging
from collections.abc import Iterable
from pathlib import Path
from typing import Literal, get_args

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
    """The best way of offering functions that the server doesn't refuse."""
    if "tools" not in refused and not {"tool_choice=required", "tool_choice=auto"} <= refused:
        return "functions"
    if "json_schema" not in refused:
        return "json_schema"
    return "text" if "json_object" in refused else "json_object"


logger = logging.getLogger(__name__)


class ServerMemory:
    """What every server refuses, by endpoint (a model at a base URL); kept in a file, if in any.

    What can't be read or written, or isn't known here, is learned again: one extra request each.
    """

    def __init__(self, path: Path | None = None) -> None:
        self._path = path
        self._refused: dict[str, Refused] = {}
        try:
            kept = json.loads(path.read_text("utf-8")) if path else None
        except (OSError, ValueError, RecursionError):
            kept = None  # nothing was learned yet
        for endpoint, features in kept.items() if isinstance(kept, dict) else ():
            listed = features if isinstance(features, list) else []
            self._refused[endpoint] = frozenset(one for one in FEATURES if one in listed)

    def refused(self, endpoint: str) -> Refused:
        """What the endpoint is known to refuse; nothing, where it was never asked."""
        return self._refused.get(endpoint, frozenset())

    def learn(self, endpoint: str, features: Iterable[Feature]) -> None:
        """Remember that the endpoint refuses these too."""
        before = self.refused(endpoint)
        if (refused := before | frozenset(features)) != before:
            self._refused[endpoint] = refused
            if self._path:
                self._keep(self._path)

    def _keep(self, path: Path) -> None:
        fresh = path.with_suffix(".new")
        kept = {endpoint: sorted(refused) for endpoint, refused in self._refused.items()}
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            fresh.write_text(json.dumps(kept, sort_keys=True, ensure_ascii=False), "utf-8")
            fresh.replace(path)
        except OSError as error:
            logger.warning("what servers refuse can't be kept in %s: %s", path, error)
