"""The PATHs that a command checks, where it is given any."""

from typing import Any

import typer


def paths_argument(what: str, otherwise: str) -> Any:
    """The argument for them: what they are, and what is checked where none is given."""
    return typer.Argument(metavar="[PATH]...", help=what, show_default=otherwise)
