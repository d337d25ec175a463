"""The routes, a module a noun: one that is added here, or as a protocol's `routes`, is found.

What a module names `router`, or something that ends so, is part of the API. Its `BODIES` say, by
path, how many bytes a body may have there, or below a path that ends in `/`, where that isn't the
usual; None: it reads for itself.
"""

import importlib
import pkgutil
from collections.abc import Iterator
from types import ModuleType

from fastapi import APIRouter

import router.api
from router.api import openapi
from router.extension import Routes

BUSIEST = f"{__name__}.messages"
"""A request is held against one route after another: what most are for comes first."""


def modules() -> Iterator[ModuleType]:
    """Every module of routes, by name."""
    for found in pkgutil.walk_packages(router.api.__path__, "router.api."):
        room, _, name = found.name.rpartition(".")
        if not found.ispkg and (room == __name__ or name == "routes"):
            yield importlib.import_module(found.name)


def core_routes() -> Routes:
    """Return the routes of all modules, the busiest first and the others by name."""
    found = sorted(modules(), key=lambda module: module.__name__ != BUSIEST)
    named = (each for module in found for each in vars(module).items())
    routers = [it for name, it in named if name.endswith("router") and isinstance(it, APIRouter)]
    limits = {path: most for each in found for path, most in getattr(each, "BODIES", {}).items()}
    return Routes(routers, limits, openapi.SCHEMAS, openapi.LINKS)
