"""A project: the folder of one company's deployment, which its `pyproject.toml` declares.

    [tool.intent-router]
    packages = ["acme"]
    flows = "flows"
    directory = "people.yaml"

    [tool.intent-router.mail]
    host = "smtp.example.com"

Any setting that isn't a secret can stand there, under its name without `ROUTER_`; those of an
extension stand in a table of their own. Variables and `.env` win over it. Paths are relative to the
project's folder.
"""

import sys
import tomllib
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import lru_cache
from importlib.machinery import PathFinder
from importlib.metadata import packages_distributions
from pathlib import Path
from typing import Any

from pydantic.fields import FieldInfo
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource

from router.domain.errors import MisconfiguredError
from router.settings.environment import PREFIX, is_secret

PROJECT_FILE = "pyproject.toml"
TABLE = "intent-router"
RESERVED_PACKAGES = frozenset({"router", "workflows", "activities"})
"""The import names of the router itself."""


@dataclass(frozen=True)
class Project:
    """The folder of a project, and what its file sets."""

    folder: Path
    settings: dict[str, Any] = field(default_factory=dict)
    distribution: str = ""
    """The name under `[project]`."""

    @property
    def file(self) -> Path:
        """The file that declares the project."""
        return self.folder / PROJECT_FILE

    def values_of(self, prefix: str) -> dict[str, Any]:
        """Return the values for the settings whose variables have a prefix, by name.

        Args:
            prefix: `ROUTER_`, or that of an extension's section, such as `ROUTER_MAIL_`.

        Raises:
            MisconfiguredError: What is there for the section is no table.
        """
        if prefix == PREFIX:
            return self.settings
        name = table_of(prefix)
        table = self.settings.get(name, {})
        if not isinstance(table, dict):
            raise MisconfiguredError(
                f"{self.file}: {name} is no table: write [tool.{TABLE}.{name}]"
            )
        return table

    def enable_imports(self) -> None:
        """Let Python import the packages in the project's folder, if it can't yet."""
        if str(self.folder) not in sys.path:
            sys.path.insert(0, str(self.folder))


def table_of(prefix: str) -> str:
    """Return the name of the table for an extension's settings: `mail` for `ROUTER_MAIL_`."""
    return prefix.removeprefix(PREFIX).strip("_").lower()


def find_project(start: Path | None = None) -> Project | None:
    """Return the project that a folder belongs to, or `None` if it belongs to none.

    It is declared by the nearest `pyproject.toml` with a table `[tool.intent-router]`, in the
    folder or above.

    Args:
        start: The folder; the working directory by default.

    Raises:
        MisconfiguredError: The file can't be read, or isn't TOML.
    """
    here = (start or Path.cwd()).resolve()
    for folder in (here, *here.parents):
        if (project := _project_in(folder)) is not None:
            return project
    return None


def _project_in(folder: Path) -> Project | None:
    file = folder / PROJECT_FILE
    try:
        stat = file.stat()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise MisconfiguredError(f"{file} can't be read: {error}; correct it") from None
    return _read(file, stat.st_mtime_ns, stat.st_size)


@lru_cache(maxsize=16)
def _read(file: Path, _modified: int, _size: int) -> Project | None:
    """Return the project that a file declares. Each class of settings asks for the same file."""
    try:
        declared = tomllib.loads(file.read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise MisconfiguredError(f"{file} can't be read: {error}; correct it") from None
    table = declared.get("tool", {}).get(TABLE)
    if table is not None and not isinstance(table, dict):
        raise MisconfiguredError(f"{file}: [tool.{TABLE}] is no table; write `name = value` in it")
    name = str(declared.get("project", {}).get("name", ""))
    return None if table is None else Project(file.parent, table, name)


def check_package(name: str, folder: Path, distribution: str = "", *, is_new: bool = False) -> None:
    """Raise `MisconfiguredError` if Python would import another package of this name.

    Args:
        name: The import name of the package.
        folder: The folder of the project.
        distribution: The name of the project's own distribution, which may be installed.
        is_new: True if the package is about to be written into the folder.
    """
    top = name.partition(".")[0]
    remedy = "rename the package"
    if top in RESERVED_PACKAGES or top in sys.stdlib_module_names:
        whose = "the router" if top in RESERVED_PACKAGES else "Python"
        raise MisconfiguredError(f"package {name!r}: {whose} has a package {top!r}; {remedy}")
    if not is_new and not (folder / top).exists():
        return  # installed, as `packages` may name it
    elsewhere = [path for path in sys.path if Path(path).resolve() != folder]
    spec = PathFinder.find_spec(top, elsewhere)
    owners = set(packages_distributions().get(top, ())) if spec is not None else set()
    if spec is not None and owners != {distribution}:
        where = Path(spec.origin).parent if spec.origin else "another folder"
        raise MisconfiguredError(
            f"package {name!r}: {top!r} is already installed at {where}; {remedy}"
        )


class ProjectFile(PydanticBaseSettingsSource):
    """The values that a project's file has for one class of settings.

    Args:
        settings: The class.
        project: The project, if there is one.
        known: The names of the router's settings.
    """

    def __init__(
        self, settings: type[BaseSettings], project: Project | None, known: Collection[str]
    ) -> None:
        super().__init__(settings)
        self._project = project
        self._known = known
        self._prefix = str(settings.model_config.get("env_prefix", ""))
        self._values = project.values_of(self._prefix) if project else {}

    def get_field_value(self, field: FieldInfo, field_name: str) -> tuple[Any, str, bool]:
        """Return the value of one field, with paths made absolute."""
        if self._project is None or field_name not in self._values:
            return None, field_name, False
        if is_secret(field):
            raise MisconfiguredError(
                f"{self._project.file}: {field_name} is a secret; "
                f"set {self._prefix}{field_name.upper()} in .env, or in a file that …_FILE names"
            )
        value = self._values[field_name]
        if isinstance(value, str) and "Path" in repr(field.annotation):
            value = self._project.folder / value
        return value, field_name, False

    def __call__(self) -> dict[str, Any]:
        """Return all values. Raises `MisconfiguredError` for names that no core setting has."""
        if self._project is None:
            return {}
        fields = self.settings_cls.model_fields
        # `check_tables` knows the tables of extensions, and what may stand in each.
        unknown = self._values.keys() - set(self._known) if self._prefix == PREFIX else ()
        for name in sorted(each for each in unknown if not isinstance(self._values[each], dict)):
            raise MisconfiguredError(
                f"{self._project.file}: {name} is no setting: {nearest_name(name, self._known)}"
            )
        found = {name: self.get_field_value(field, name)[0] for name, field in fields.items()}
        return {name: value for name, value in found.items() if value is not None}


def nearest_name(name: str, known: Collection[str]) -> str:
    """Return what to do about a name that stands in a project's file and isn't known.

    >>> nearest_name("ROUTER_LLM_MODEL", ["llm_model"])
    'did you mean llm_model?'
    """
    likely = name.lower().replace("-", "_").removeprefix(PREFIX.lower())
    close = get_close_matches(likely, known, n=1)
    return f"did you mean {close[0]}?" if close else "take it out"


def check_tables(
    project: Project, settings: Collection[str], tables: Mapping[str, Collection[str] | None]
) -> None:
    """Raise `MisconfiguredError` if the project's file has a table or a value that nobody reads.

    Args:
        project: The project.
        settings: The names of the router's settings.
        tables: By the name of a table, the names of the settings that may stand in it; `None` for
            a table of an extension that isn't loaded.
    """
    for name, value in project.settings.items():
        if not isinstance(value, dict) or name in settings:
            continue
        if name not in tables:
            raise MisconfiguredError(
                f"{project.file}: no extension here reads [tool.{TABLE}.{name}]: "
                f"{nearest_name(name, [*tables, *settings])}"
            )
        known = tables[name]
        for each in sorted(value.keys() - set(known)) if known is not None else ():
            raise MisconfiguredError(
                f"{project.file}: {each} is no setting: {nearest_name(each, known or ())}"
            )
