"""Variables that look like settings and are none: typing slips, most likely."""

import os
from difflib import get_close_matches

from dotenv import dotenv_values

from router.settings.environment import DOTENV, OF_CLIENTS, PREFIX, TESTS_PREFIX, TOOL_PREFIX
from router.settings.secret_files import SUFFIX, is_secret
from router.settings.settings import Settings


def slips() -> list[str]:
    """What to say of each variable of `unknown_variables`: that it means nothing, and the nearest.

    They are no errors: another version may know them.
    """
    known = [f"{PREFIX}{name}".upper() for name in Settings.model_fields]
    said = []
    for name in unknown_variables():
        close = get_close_matches(name.upper(), known, n=1)
        remedy = f"did you mean {close[0]}?" if close else "take it out"
        said.append(f"{name} is no setting: {remedy}")
    return said


def unknown_variables() -> list[str]:
    """Variables that begin with `ROUTER_` and mean nothing, sorted: typing slips, most likely."""
    known = {f"{PREFIX}{name}".upper() for name in Settings.model_fields}
    known |= {
        f"{PREFIX}{name}{SUFFIX}".upper()
        for name, field in Settings.model_fields.items()
        if is_secret(field)
    }
    return sorted(
        name
        for name in {*os.environ, *dotenv_values(DOTENV)}
        if name.upper().startswith(PREFIX)
        and name.upper() not in known | OF_CLIENTS
        and not name.startswith((TOOL_PREFIX, TESTS_PREFIX))
    )
