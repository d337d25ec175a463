"""The routes, a module a noun: one that is added here, or as a protocol's `routes`, is found.

What a module names `router`, or something that ends so, is part of the API. Its `BODIES` say, by
path, how many bytes a body may have there, or below a path that ends in `/`, where that isn't the
usual; None: it reads for itself.
"""

import importlib
import pkgutil
from collections.abc import Iterator, Mapping
from types import ModuleType

from fastapi import APIRouter

import router.api


def modules() -> Iterator[ModuleType]:
    """Every module of routes, by name."""
    for found in pkgutil.walk_packages(router.api.__path__, "router.api."):
        room, _, name = found.name.rpartition(".")
        if not found.ispkg and (room == __name__ or name == "routes"):
            yield importlib.import_module(found.name)


def routers() -> list[APIRouter]:
    """All of them, in the order of their modules and then as they stand there."""
    named = (each for module in modules() for each in vars(module).items())
    return [it for name, it in named if name.endswith("router") and isinstance(it, APIRouter)]


def bodies() -> Mapping[str, int | None]:
    """How many bytes a body may have, by path, where that isn't the usual; None: any."""
    return {
        path: most for module in modules() for path, most in getattr(module, "BODIES", {}).items()
    }
