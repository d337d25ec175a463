"""What the docstrings below a class's attributes say, for pages and schemas made from the code."""

import ast
import inspect
import textwrap
from itertools import pairwise

_OTHERS = frozenset({"builtins", "abc", "typing", "pydantic", "pydantic_settings"})
"""Whose classes say nothing about our keys."""


def attribute_docs(model: type) -> dict[str, str]:
    """The meaning of each attribute that has one, by its name, as one line.

    Inherited attributes are described where they are declared; the source has to be at hand.

    >>> attribute_docs(Retry)["attempts"]  # doctest: +SKIP
    'Calls in all.'
    """
    found: dict[str, str] = {}
    for each in reversed(model.__mro__):
        if each.__module__.partition(".")[0] not in _OTHERS:
            found |= _declared(each)
    return found


def _declared(model: type) -> dict[str, str]:
    module = ast.parse(textwrap.dedent(inspect.getsource(model)))
    return {
        attribute.target.id: " ".join(below.value.value.split())
        for declared in module.body
        if isinstance(declared, ast.ClassDef)
        for attribute, below in pairwise(declared.body)
        if isinstance(attribute, ast.AnnAssign)
        and isinstance(attribute.target, ast.Name)
        and isinstance(below, ast.Expr)
        and isinstance(below.value, ast.Constant)
        and isinstance(below.value.value, str)
    }
