"""What is wrong with settings, as whoever starts a process reads it: a line for each variable."""

import re

from pydantic import ValidationError

from router.settings.environment import PREFIX, environment


def lines(error: ValidationError) -> list[str]:
    """One line a problem: variable, value (unless secret), remedy."""
    return [_line(problem["loc"], problem["msg"]) for problem in error.errors()]


def _line(where: tuple[int | str, ...], message: str) -> str:
    message = message.removeprefix("Value error, ")
    if not where:
        return message
    name = str(where[0]).upper()
    name = name if name.startswith((PREFIX, "OPENAI_")) else f"{PREFIX}{name}"
    within = ".".join(map(str, where[1:])) if any(isinstance(p, int) for p in where) else ""
    return f"{name}{_shown(name)} can't be used: {within and f'{within}: '}{message}"


def _shown(name: str) -> str:
    """`=value` as it was set; secrets, and URLs that may hold one, stay out of terminals."""
    value = {k.upper(): v for k, v in environment().items()}.get(name)
    if value is None or re.search("SECRET|KEY|TOKEN", name) or re.search("[@?]", value):
        return ""
    return f"={value}"
