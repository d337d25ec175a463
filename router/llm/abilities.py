"""What each model server turned out not to do, learned from its own refusals.

A request uses everything that the server isn't known to refuse. What it is told to have
refused is left out of the next one, and remembered once a request without it was accepted:
each lesson costs one extra request, once.
"""

import json
from collections.abc import Iterable
from typing import Literal, get_args

from router.llm.chat import How

Feature = Literal[
    "strict",
    "parallel_tool_calls",
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
"""What a request may use. `limits` are the lengths within the schema of a `response_format`,
and a server that refuses `max_tokens` wants it as `max_completion_tokens`."""

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


class ServerMemory:
    """What every server refuses, by endpoint (a model at a base URL); kept as JSON.

    >>> memory = ServerMemory.from_json('{"qwen at http://gpu:8000/v1": ["strict"]}')
    >>> memory.refused("qwen at http://gpu:8000/v1")
    frozenset({'strict'})
    """

    def __init__(self) -> None:
        self._refused: dict[str, Refused] = {}

    @classmethod
    def from_json(cls, text: str) -> "ServerMemory":
        """What `to_json` wrote; anything in it that isn't known here is left out."""
        memory = cls()
        try:
            kept = json.loads(text)
        except ValueError:
            return memory  # it is learned again
        for endpoint, features in kept.items() if isinstance(kept, dict) else ():
            if isinstance(features, list):
                memory.learn(endpoint, (known for known in FEATURES if known in features))
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
