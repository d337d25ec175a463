"""The operations of an OpenAPI document."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from router.tool.http.reading import METHODS
from router.tool.http.references import References, Unsuitable

MOST_DESCRIBED = 1000
"""Characters of a description: every model call carries it."""


@dataclass(frozen=True)
class Operation:
    """One operation: a method of a path."""

    id: str
    method: str
    path: str
    data: Mapping[str, Any]
    shared: tuple[Any, ...]
    """Parameters that all operations of the path have."""

    @property
    def name(self) -> str:
        """The id as a tool's name."""
        return re.sub(r"[^A-Za-z0-9_-]+", "_", self.id).strip("_")

    @property
    def tags(self) -> frozenset[str]:
        """What it is filed under."""
        tags = self.data.get("tags")
        return frozenset(map(str, tags)) if isinstance(tags, list) else frozenset()

    @property
    def title(self) -> str | None:
        """Its summary, if it has one."""
        summary = self.data.get("summary")
        return summary.strip()[:80] or None if isinstance(summary, str) else None

    @property
    def description(self) -> str:
        """What it does, for models and people."""
        texts = (self.data.get("summary"), self.data.get("description"))
        said = dict.fromkeys(text.strip() for text in texts if isinstance(text, str))
        return "\n".join(filter(None, said))[:MOST_DESCRIBED]


def operations_of(document: Mapping[str, Any], references: References) -> list[Operation]:
    """Every operation; one without an id is named after its method and path."""
    return list(_operations(document, references))


def _operations(document: Mapping[str, Any], references: References) -> Iterator[Operation]:
    paths = document.get("paths")
    for path, item in (paths if isinstance(paths, dict) else {}).items():
        try:
            found = references.resolved(item)
        except Unsuitable:
            continue  # nothing in it can be selected; whoever names one is told so
        shared = found.get("parameters")
        for method in METHODS:
            data = found.get(method.lower())
            if isinstance(data, dict):
                id_ = data.get("operationId")
                usual = (
                    f"{method.lower()}{path}".replace("/", "_").replace("{", "").replace("}", "")
                )
                name = id_ if isinstance(id_, str) and id_ else usual
                yield Operation(
                    name, method, str(path), data, tuple(shared) if isinstance(shared, list) else ()
                )
