"""Where settings come from: variables, `.env`, secrets in files; and how a refusal is said.

An environment is shown by `docker inspect`, by `/proc` and in crash reports; a mounted file is not.
So what no terminal may show can be said by its name: `ROUTER_JWT_SECRET_FILE=/run/secrets/jwt`.
"""

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dotenv import dotenv_values
from pydantic import AliasChoices, ValidationError
from pydantic.fields import FieldInfo
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource

from router.domain.errors import MisconfiguredError, reason_of

PREFIX = "ROUTER_"
OF_CLIENTS = frozenset({"ROUTER_TOKEN"})
"""Variables of `intent-router chat`, which is a client of the API and knows no settings."""
TESTS_PREFIX = "ROUTER_TESTS_"
"""Variables that begin so are for the tests of the project alone."""
TOOL_PREFIX = "ROUTER_TOOL_"
"""Variables that begin so are for the files of declared tools, which read nothing else."""
DOTENV = ".env"


def environment() -> dict[str, str]:
    """What `.env` and the environment set, the environment winning."""
    return {k: v for k, v in {**dotenv_values(DOTENV), **os.environ}.items() if v is not None}


def of_dotenv() -> dict[str, str]:
    """What `.env` sets and the environment doesn't, by its name in upper case."""
    outside = {name.upper() for name, value in os.environ.items() if value}
    inside = {name.upper(): value for name, value in dotenv_values(DOTENV).items() if value}
    return {name: value for name, value in inside.items() if name not in outside}


SUFFIX = "_FILE"
MOST = 64 * 1024
"""Bytes: more is no secret, but the wrong file."""


def is_secret(field: FieldInfo) -> bool:
    """True for what no terminal may show: secrets, and URLs that may have a password in them."""
    return not field.repr or "SecretStr" in repr(field.annotation)


def read_secret(path: Path, variable: str) -> str:
    """What is in the file, less the line breaks at its end; no error has any of it."""
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
        found = {}
        for name, field in self.settings_cls.model_fields.items():
            value, choices = self.get_field_value(field, name)[0], field.validation_alias
            if value is not None:
                strongest = choices.choices[0] if isinstance(choices, AliasChoices) else name
                found[str(strongest)] = value
        return found


def lines(error: ValidationError, prefix: str, declared: Mapping[str, str]) -> list[str]:
    """One line a problem: variable, value, remedy; values that may be secret stay out of it.

    `declared` says, by the variable's name, what a file has that sets it where no variable does.
    """
    given, found = {k.upper(): v for k, v in environment().items()}, []
    for problem in error.errors():
        where, message = problem["loc"], reason_of(problem)
        if where:
            name = str(where[0]).upper()
            name = name if name.startswith((PREFIX, "OPENAI_")) else f"{prefix}{name}"
            value = given.get(name, "@")
            hidden = re.search("SECRET|KEY|TOKEN", name) or re.search("[@?]", value)
            shown = "" if hidden else f"={value}"
            if any(isinstance(part, int) for part in where):
                message = f"{'.'.join(map(str, where[1:]))}: {message}"
            source = declared.get(name) if name not in given else None
            message = f"{source or f'{name}{shown}'} can't be used: {message}"
        found.append(message)
    return found
