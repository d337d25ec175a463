"""`python -m router` is `intent-router`.

Whoever types it may have another Python than the one that everything was installed for. So this
file is written for old ones too, and imports nothing before it has looked.
"""

import sys

if sys.version_info[:2] < (3, 11):  # noqa: UP036 - a clone runs without asking pip
    found = ".".join(map(str, sys.version_info[:2]))
    sys.exit(
        f"error: {sys.executable} is Python {found}, and intent-router needs 3.11 to 3.13: "
        "`make setup` finds one, then type .venv/bin/intent-router"
    )

try:
    from router.cli import main
except ModuleNotFoundError as error:
    if (error.name or "").partition(".")[0] in {"router", "workflows", "activities"}:
        raise
    sys.exit(
        f"error: {error.name} isn't installed for {sys.executable}: `make setup` installs "
        "everything, then type .venv/bin/intent-router"
    )

main()
