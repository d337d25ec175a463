"""The files that reports are made of. Whatever is filled in is escaped."""

from functools import cache
from importlib.resources import files
from typing import Any

from jinja2 import Environment, FunctionLoader, StrictUndefined


def rendered(name: str, **values: Any) -> str:
    """The template of this name, filled in."""
    return _environment().get_template(name).render(values)


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=FunctionLoader(_source),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.policies["json.dumps_kwargs"] = {"ensure_ascii": False}
    environment.filters["percent"] = percent
    environment.filters["language"] = language
    return environment


def _source(name: str) -> str:
    return files(__package__).joinpath(name).read_text(encoding="utf-8")


def percent(share: float | None) -> str:
    """A share as people read it.

    >>> percent(0.92861)
    '92.9 %'
    """
    return "–" if share is None else f"{100 * share:.1f} %"


def language(text: str) -> str:
    """The language to read a text aloud in, or to choose its characters' shapes by."""
    return "zh" if any("\u4e00" <= character <= "\u9fff" for character in text) else "en"
