"""What a value may be, in the words of those who write files."""

from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel, SecretStr

from docs.generate.markdown import code
from router.domain.locale import Localised
from router.tool.implementation import ArgumentSchema

NAMES: dict[Any, str] = {
    str: "text",
    bool: "true or false",
    int: "whole number",
    float: "number",
    Path: "path",
    SecretStr: "secret",
    timedelta: "duration",
    Localised: "text in `zh` and `en`",
    ArgumentSchema: "JSON Schema of an object",
    Any: "anything",
}


def type_name(annotation: Any) -> str:
    """The annotation in words.

    >>> type_name(tuple[str, ...])
    'list of text'
    """
    known = NAMES.get(annotation)
    return known or _parametrised(annotation) or _model(annotation)


def _parametrised(annotation: Any) -> str:
    origin, inner = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return type_name(inner[0])
    if origin is Literal:
        return ", ".join(code(str(value)) for value in inner)
    if origin in {Union, UnionType}:
        return " or ".join(type_name(each) for each in inner if each is not NoneType)
    if origin in {tuple, frozenset, list}:
        return f"list of {type_name(inner[0])}"
    if origin is not None and issubclass(origin, Mapping):
        return f"{type_name(inner[0])} ▸ {type_name(inner[1])}"
    return ""


def _model(annotation: Any) -> str:
    name = getattr(annotation, "__name__", str(annotation))
    is_model = isinstance(annotation, type) and issubclass(annotation, BaseModel)
    return f"[{name}](#{name.lower()})" if is_model else name
