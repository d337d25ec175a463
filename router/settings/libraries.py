"""The libraries that optional capabilities need, and the command that installs them."""

import shlex
from importlib.metadata import PackageNotFoundError, requires

DISTRIBUTION = "intent-router"


def install_command(extra: str) -> str:
    """Return the command that installs the libraries of an extra.

    The router may be installed from a file, so that no index knows `intent-router[extra]`.

    >>> install_command("no-such-extra")
    "pip install 'intent-router[no-such-extra]'"
    """
    try:
        declared = requires(DISTRIBUTION) or []
    except PackageNotFoundError:
        declared = []
    libraries = []
    for line in declared:
        library, _, marker = line.partition(";")
        if f'extra == "{extra}"' in marker.replace("'", '"'):
            libraries.append(shlex.quote(library.strip()))
    return f"pip install {' '.join(libraries) or shlex.quote(f'{DISTRIBUTION}[{extra}]')}"
