"""The names that no tool may have are those of the functions that models decide by."""

import ast
import importlib
import pkgutil
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

from router import deciding
from router.tool.naming import RESERVED


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


def test_every_function_of_the_protocol_is_reserved_and_nothing_else() -> None:
    modules = [each.name for each in pkgutil.iter_modules(deciding.__path__)]
    made = (functions_of(importlib.import_module(f"router.deciding.{name}")) for name in modules)
    assert {name for names in made for name in names} == RESERVED
