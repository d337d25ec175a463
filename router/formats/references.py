"""What `$ref` points at, within one document. Workflows reach it: it reads no files."""

from collections.abc import Mapping
from typing import Any

from referencing import Registry
from referencing.exceptions import Unresolvable
from referencing.jsonschema import DRAFT202012


class Dangling(LookupError):
    """A reference to nothing in the document."""


class References:
    """Follows references within a document, such as a JSON Schema or an OpenAPI description."""

    def __init__(self, document: Any) -> None:
        root = document if isinstance(document, Mapping) else {}
        self._resolver = Registry().resolver_with_root(DRAFT202012.create_resource(root))

    def target(self, reference: Any) -> Any:
        """What it points at; raises `Dangling` where that is nothing, or outside the document."""
        try:
            return self._resolver.lookup(reference).contents
        except (Unresolvable, AttributeError, TypeError, ValueError, RecursionError):
            # The library stumbles over what is no schema, and no reference.
            raise Dangling(reference) from None
