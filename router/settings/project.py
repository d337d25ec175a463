"""A project: the folder of one company's deployment, which its `pyproject.toml` declares.

    [tool.intent-router]
    packages = ["acme"]
    flows = "flows"
    directory = "people.yaml"

Any setting that isn't a secret can stand there, under its name without `ROUTER_`. Variables and
`.env` win over it. Paths are relative to the project's folder.
"""

import sys
import tomllib
from collections.abc import Collection
from dataclasses import dataclass, field
from difflib import get_close_matches
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

    def enable_imports(self) -> None:
        """Let Python import the packages in the project's folder, if it can't yet."""
        if str(self.folder) not in sys.path:
            sys.path.insert(0, str(self.folder))


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
    if not file.is_file():
        return None
    try:
        declared = tomllib.loads(file.read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise MisconfiguredError(f"{file} can't be read: {error}; correct it") from None
    table = declared.get("tool", {}).get(TABLE)
    if table is not None and not isinstance(table, dict):
        raise MisconfiguredError(f"{file}: [tool.{TABLE}] is no table; write `name = value` in it")
    name = str(declared.get("project", {}).get("name", ""))
    return None if table is None else Project(folder, table, name)


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
        known: The names that may stand in the file: those of the router's settings.
    """

    def __init__(
        self, settings: type[BaseSettings], project: Project | None, known: Collection[str]
    ) -> None:
        super().__init__(settings)
        self._project = project
        self._known = known
        self._prefix = str(settings.model_config.get("env_prefix", ""))

    def get_field_value(self, field: FieldInfo, field_name: str) -> tuple[Any, str, bool]:
        """Return the value of one field, with paths made absolute."""
        if self._project is None or field_name not in self._project.settings:
            return None, field_name, False
        if is_secret(field):
            raise MisconfiguredError(
                f"{self._project.file}: {field_name} is a secret; set {PREFIX}{field_name.upper()} "
                "in .env, or in a file that …_FILE names"
            )
        value = self._project.settings[field_name]
        if isinstance(value, str) and "Path" in repr(field.annotation):
            value = self._project.folder / value
        return value, field_name, False

    def __call__(self) -> dict[str, Any]:
        """Return all values. Raises `MisconfiguredError` for names that no setting has."""
        if self._project is None or self._prefix != PREFIX:
            return {}
        fields = self.settings_cls.model_fields
        for name in self._project.settings.keys() - set(self._known):
            close = get_close_matches(name, self._known, n=1)
            remedy = f"did you mean {close[0]}?" if close else "take it out"
            raise MisconfiguredError(f"{self._project.file}: {name} is no setting: {remedy}")
        found = {name: self.get_field_value(field, name)[0] for name, field in fields.items()}
        return {name: value for name, value in found.items() if value is not None}
