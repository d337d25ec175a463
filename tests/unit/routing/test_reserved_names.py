"""No tool may have the name of a function that models decide by, or of an activity of ours."""

import ast
import importlib
import pkgutil
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

from router import routing
from router.contracts import activities
from router.contracts.payload import ActivityStub
from router.tool.tool import RESERVED


def functions_of(module: ModuleType) -> Iterator[str]:
    """The names of the functions that a module makes, wherever a constant says one."""
    source = Path(str(module.__file__)).read_text(encoding="utf-8")
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            named = {
                "function": node.args[:1],
                "Function": [each.value for each in node.keywords if each.arg == "name"],
            }
            for name in named.get(node.func.id, []):
                if isinstance(name, ast.Name) and name.id.isupper():
                    yield getattr(module, name.id)


def test_functions_of_the_protocol_and_activities_are_reserved_and_nothing_else() -> None:
    modules = [each.name for each in pkgutil.iter_modules(routing.__path__)]
    made = (functions_of(importlib.import_module(f"router.routing.{name}")) for name in modules)
    functions = {name for names in made for name in names}
    ours = {each.name for each in vars(activities).values() if isinstance(each, ActivityStub)}
    assert functions | ours == RESERVED
