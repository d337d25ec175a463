"""The listing of the public API: every name, its signature, and the members of its class.

The suite compares it with the committed page, so that no name and no signature changes unnoticed.
"""

import importlib
import inspect
import re
from collections.abc import Iterator
from types import ModuleType
from typing import Annotated, Any, get_args, get_origin

MODULES = (
    "router.sdk",
    "router.sdk.tool_sources",
    "router.sdk.configuration_kinds",
    "router.sdk.model_protocols",
    "router.testing",
    "router.extension",
    "router.client",
)
"""The modules that semantic versioning covers."""
INTRODUCTION = """\
# The listing of the public API

Every public name with its signature, by module: [the public API](../public-api.md) explains them.
Everything that isn't listed here is private. This page is made by `make reference`. A change of it
is a change of the public API: it needs a line in the changelog, and a new major version if code
that uses a name has to be changed.
"""


def public_api_page() -> str:
    """Return the page as Markdown."""
    sections = [f"## `{name}`\n\n```text\n{_listing(name)}\n```\n" for name in MODULES]
    return "\n".join([INTRODUCTION, *sections])


def _listing(name: str) -> str:
    module = importlib.import_module(name)
    return "\n".join(line for each in public_names(module) for line in _lines(module, each))


def public_names(module: ModuleType) -> list[str]:
    """Return the public names of a module: those of `__all__`, or those it defines."""
    if names := getattr(module, "__all__", None):
        return sorted(names, key=str.casefold)
    own = (n for n, value in vars(module).items() if _is_own(module, n, value))
    return sorted(own, key=str.casefold)


def _is_own(module: ModuleType, name: str, value: Any) -> bool:
    is_defined = getattr(value, "__module__", None) == module.__name__
    return not name.startswith("_") and is_defined


def _lines(module: ModuleType, name: str) -> Iterator[str]:
    value = getattr(module, name)
    if get_origin(value) is Annotated:
        yield f"{name}: {_shown(inspect.formatannotation(get_args(value)[0]))}"
    elif inspect.isclass(value):
        # Desks are made by the fixture, never by their class.
        yield f"class {name}" + ("" if name in _MADE_BY_FIXTURES else _signature(value))
        yield from sorted(f"    {line}" for line in _members(value))
    elif callable(value) and not hasattr(value, "maker"):
        # A fixture of pytest is an object that wraps its function.
        wrapped = getattr(value, "__pytest_wrapped__", None)
        yield f"{name}{_signature(wrapped.obj if wrapped else inspect.unwrap(value))}"
    else:
        yield f"{name}: {type(value).__name__}"


def _members(kind: type) -> Iterator[str]:
    """Return the public members that the router's own classes give a class."""
    seen = set[str]()
    for each in kind.__mro__:
        if not each.__module__.startswith("router."):
            continue
        for name, hint in inspect.get_annotations(each).items():
            if not name.startswith("_") and name not in seen:
                seen.add(name)
                yield f"{name}: {_shown(inspect.formatannotation(hint))}"
        for name, value in vars(each).items():
            if name in seen or (name.startswith("_") and name not in _SPECIAL):
                continue
            if isinstance(value, property):
                seen.add(name)
                yield f"{name}: {_shown(str(_signature(value.fget)).partition(' -> ')[2])}"
            elif inspect.isroutine(value):
                seen.add(name)
                yield f"{name}{_signature(getattr(value, '__func__', value))}"


_MADE_BY_FIXTURES = frozenset({"Desk", "DeskFactory"})
_SPECIAL = frozenset({"__call__", "__enter__", "__aenter__"})


def _signature(value: Any) -> str:
    try:
        return _shown(str(inspect.signature(value)))
    except (TypeError, ValueError):
        return ""


def _shown(text: str) -> str:
    """Return a signature without what differs between runs and is no part of it."""
    text = re.sub(r"<function (\w+|<lambda>)(?:\.<locals>\.\w+)* at 0x[0-9a-f]+>", r"\1", text)
    text = re.sub(r"<object object at 0x[0-9a-f]+>", "…", text)
    return re.sub(r"\b(?:[a-z_]+\.)+(?=[A-Z])", "", text)
