"""Settings whose values are in files: `ROUTER_JWT_SECRET_FILE=/run/secrets/jwt`.

An environment is shown by `docker inspect`, by `/proc` and in crash reports. A file that a
secret store mounts is not; so whatever no terminal may show can be said by its file's name.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import AliasChoices
from pydantic.fields import FieldInfo
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource

from router.domain.errors import MisconfiguredError

SUFFIX = "_FILE"
MOST = 64 * 1024
"""Bytes: more is no secret, but the wrong file."""


def is_secret(field: FieldInfo) -> bool:
    """True for what no terminal may show: secrets, and URLs that may have a password in them."""
    return not field.repr or "SecretStr" in repr(field.annotation)


def read_secret(path: Path, variable: str) -> str:
    """What is in the file, less the line breaks that editors leave at its end.

    Raises:
        MisconfiguredError: it can't be read or is empty; says so with the variable and the path,
            and never with what is in it.
    """
    try:
        with path.open("rb") as file:
            raw = file.read(MOST + 1)
        text = raw.decode("utf-8").rstrip("\r\n")
    except UnicodeDecodeError:
        # Not chained, nor named: the error's text has the bytes in it.
        raise MisconfiguredError(
            f"{variable}={path} is no UTF-8 text: name the secret's file"
        ) from None
    except OSError as error:
        why = error.strerror or type(error).__name__
        raise MisconfiguredError(
            f"{variable}={path} can't be read ({why}): name a readable file"
        ) from None
    if not text:
        raise MisconfiguredError(f"{variable}={path} is empty: write the secret into it")
    if len(raw) > MOST:
        raise MisconfiguredError(f"{variable}={path} is over {MOST} bytes: name the secret's file")
    return text


class SecretFiles(PydanticBaseSettingsSource):
    """The settings whose `…_FILE` variable is set, read from those files."""

    def __init__(self, settings: type[BaseSettings], variables: Mapping[str, str]) -> None:
        """`variables` are the process's, by their names in upper case."""
        super().__init__(settings)
        self._variables = variables
        self._prefix = str(settings.model_config.get("env_prefix", ""))

    def get_field_value(self, field: FieldInfo, field_name: str) -> tuple[Any, str, bool]:
        """The file's text, where there is one for this field."""
        name = f"{self._prefix}{field_name}".upper()
        path = self._variables.get(name + SUFFIX)
        if not path or not is_secret(field):
            return None, field_name, False
        if self._variables.get(name):
            raise MisconfiguredError(f"{name} and {name}{SUFFIX} are both set: keep one of them")
        return read_secret(Path(path), name + SUFFIX), field_name, False

    def __call__(self) -> dict[str, Any]:
        """All that are in files, by the name that wins over a field's other ones."""
        found = {
            _strongest(name, field): self.get_field_value(field, name)[0]
            for name, field in self.settings_cls.model_fields.items()
        }
        return {name: value for name, value in found.items() if value is not None}


def _strongest(name: str, field: FieldInfo) -> str:
    choices = field.validation_alias
    return str(choices.choices[0]) if isinstance(choices, AliasChoices) else name
