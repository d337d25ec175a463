"""The reference of settings, from the one class that reads them."""

from pydantic import AliasChoices
from pydantic.fields import FieldInfo

from docs.generate.markdown import code, page, table
from docs.generate.models import default, model_table
from docs.generate.types import type_name
from router.cli.schemas import attribute_docs
from router.domain.budgets import Budget, Budgets
from router.runtime.extensions import load_extensions
from router.settings import Fallback, ModelOptions, RoleModel, Section, Settings
from router.settings.environment import SUFFIX, TOOL_PREFIX, is_secret

INTRODUCTION = f"""\
Variables of the environment, or lines of `.env` in the working directory; the environment wins.
Those marked *secret* may be in a file instead, which the variable with `{SUFFIX}` behind it names.
`intent-router doctor` checks all of them and everything that they name. Variables that begin with
`{TOOL_PREFIX}` are for the files of declared tools ([Tools](../tools.md#http)), and `OTEL_…` says
where traces go ([Operations](../operations.md))."""
DESCRIBED = (ModelOptions, RoleModel, Fallback, Budgets, Budget)
"""What variables hold as JSON."""
COMPUTED = {"database_url": "`router.db` in the data folder", "payload_keys": "none"}
"""Defaults that no value says: they depend on other settings, or are hidden."""


def settings_page() -> str:
    """A row for each variable, in the order of the classes."""
    parts = [f"## {m.__name__}\n\n{model_table(m)}" for m in DESCRIBED]
    extended = (extension.settings() for extension in load_extensions())
    kinds: list[type[Section]] = [kind for kind in extended if kind is not None]
    sections = [
        f"## {kind.__name__.removesuffix('Settings')}\n\n{_section(kind)}" for kind in kinds
    ]
    return page("Settings", INTRODUCTION, _section(Settings), *sections, *parts)


def _section(kind: type[Section]) -> str:
    docs = attribute_docs(kind)
    rows = [
        (_variables(kind, name, field), _holds(field), _otherwise(name, field), docs.get(name, ""))
        for name, field in kind.model_fields.items()
    ]
    return table(("variable", "holds", "otherwise", "means"), rows)


def _variables(kind: type[Section], name: str, field: FieldInfo) -> str:
    alias = field.validation_alias
    others = alias.choices[1:] if isinstance(alias, AliasChoices) else []
    return " or ".join(code(str(each)) for each in (f"{kind.prefix()}{name.upper()}", *others))


def _holds(field: FieldInfo) -> str:
    return "secret" if is_secret(field) else type_name(field.annotation)


def _otherwise(name: str, field: FieldInfo) -> str:
    return COMPUTED.get(name) or default(field)
