"""Pydantic models as tables of keys."""

import json
from collections.abc import Sized
from datetime import timedelta
from pathlib import Path
from typing import Any

from pydantic import BaseModel, TypeAdapter
from pydantic.fields import FieldInfo

from docs.generate.markdown import code, table
from docs.generate.types import NAMES, type_name
from router.cli.schemas import attribute_docs

HEAD = ("key", "holds", "otherwise", "means")


def model_table(model: type[BaseModel]) -> str:
    """A row for each key that a file may have, under the name that it has there."""
    docs = attribute_docs(model)
    named = ((field.alias or name, name, field) for name, field in model.model_fields.items())
    return table(
        HEAD,
        [
            (code(key), _holds(field), default(field), docs.get(name, ""))
            for key, name, field in named
            if not key.startswith("=")  # worked out by the loader: no file has it
        ],
    )


def undescribed(model: type[BaseModel]) -> set[str]:
    """The fields of whose meaning nothing is said."""
    return set(model.model_fields) - set(attribute_docs(model))


def default(field: FieldInfo) -> str:
    """What is used where the file is silent: empty for nothing, in bold where it is required."""
    if field.is_required():
        return "**required**"
    return code(_written(field.get_default()))


def _written(value: Any) -> str:
    if value is None or not _filled(value):
        return ""
    if isinstance(value, timedelta):
        return str(TypeAdapter(timedelta).dump_python(value, mode="json"))
    if isinstance(value, BaseModel):
        return value.model_dump_json(exclude_none=True, exclude_defaults=True)
    return str(value) if isinstance(value, str | Path) else json.dumps(value, default=str)


def _filled(value: Any) -> bool:
    """False of an empty text, list or model; a number is always said."""
    if isinstance(value, BaseModel):
        return bool(value.model_dump(exclude_defaults=True, exclude_none=True))
    return bool(value) if isinstance(value, Sized) else True


def _holds(field: FieldInfo) -> str:
    known = NAMES.get(field.annotation)
    return known or type_name(field.annotation)
