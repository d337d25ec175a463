"""Prints what a pyproject.toml depends on, one requirement a line, with the extras named.

    python requirements.py pyproject.toml adapters

The image installs these before it sees any source, in a layer of their own.
"""

import sys
import tomllib
from pathlib import Path


def requirements(pyproject: str, extras: list[str]) -> list[str]:
    """What the project's own dependencies and those of its `extras` ask for.

    Raises:
        KeyError: there is no such extra.
    """
    project = tomllib.loads(pyproject)["project"]
    optional = project.get("optional-dependencies", {})
    return [*project["dependencies"], *(one for extra in extras for one in optional[extra])]


if __name__ == "__main__":
    file, *wanted = sys.argv[1:]
    sys.stdout.write("\n".join(requirements(Path(file).read_text("utf-8"), wanted)) + "\n")
