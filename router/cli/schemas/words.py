"""What is said of a model's fields where they are declared: the texts below them, for an editor."""

import ast
import inspect
import textwrap
from collections.abc import Iterable
from itertools import pairwise
from typing import Any

from pydantic import BaseModel

JsonSchema = dict[str, Any]


def described(schema: JsonSchema, models: Iterable[type[BaseModel]]) -> JsonSchema:
    """The schema with these models' words at their fields, and without titles made of names."""
    definitions = {**schema.get("$defs", {}), schema.get("title", ""): schema}
    for model in models:
        properties = definitions.get(model.__name__, {}).get("properties", {})
        for name, said in _said_below(model).items():
            key = model.model_fields[name].alias or name
            if key in properties:
                properties[key]["description"] = said
        for one in properties.values():
            one.pop("title", None)
    return schema


def _said_below(model: type[BaseModel]) -> dict[str, str]:
    """By field, the text that stands below it in the source, on one line."""
    tree = ast.parse(textwrap.dedent(inspect.getsource(model)))
    body = tree.body[0].body if isinstance(tree.body[0], ast.ClassDef) else []
    found = {}
    for field, below in pairwise(body):
        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name):
            said = _text(below)
            if said:
                found[field.target.id] = " ".join(said.replace("`", "").split())
    return {name: said for name, said in found.items() if name in model.model_fields}


def _text(statement: ast.stmt) -> str:
    value = statement.value if isinstance(statement, ast.Expr) else None
    return str(value.value) if isinstance(value, ast.Constant) else ""
