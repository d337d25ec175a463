"""Refuses routes that no request would reach, because an earlier route answers for their path."""

import re
from collections.abc import Iterable, Iterator

from fastapi import APIRouter
from fastapi.routing import iter_route_contexts
from starlette.routing import BaseRoute, compile_path

from router.extension import ExtensionConflict

_PARAMETER = re.compile(r"\{[^{}]*\}")


def check_reachable(added: Iterable[APIRouter], earlier: Iterable[BaseRoute]) -> None:
    """Check that each route can be reached behind the earlier ones.

    Raises:
        ExtensionConflict: An earlier route answers every request for one of them.
    """
    answered = [*_operations(earlier)]
    for router in added:
        for method, path in _operations(router.routes):
            # Every pattern of a parameter but that of UUIDs matches this value.
            example = _PARAMETER.sub("0", path)
            for other_method, other in answered:
                if method == other_method and compile_path(other)[0].match(example):
                    raise ExtensionConflict(
                        f"its route {method} {path} would never be reached, since the route "
                        f"{other_method} {other} comes first: choose another path"
                    )


def _operations(routes: Iterable[BaseRoute]) -> Iterator[tuple[str, str]]:
    """Yield each method with a path; a mounted application answers for all paths below its own."""
    for route in iter_route_contexts([*routes]):
        path = route.path or ""
        if route.methods is None:
            path = f"{path}/{{path:path}}"
        for method in sorted(route.methods or ("GET", "HEAD")):
            yield method, path
