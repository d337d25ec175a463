"""What the tools of servers are called here: `<server>__<tool>`, in letters that models may use."""

import hashlib
import re
from collections.abc import Iterable

BETWEEN = "__"
LONGEST = 64
"""What chat models allow for a function's name."""

SERVER = re.compile(r"[a-z][a-z0-9]*([_-][a-z0-9]+)*")
"""No two underscores in a row and none at the end: so the first two end the server's name."""
LONGEST_SERVER = 24

_UNSAFE = re.compile(r"[^A-Za-z0-9_-]")


def names(server: str, tools: Iterable[str]) -> dict[str, str]:
    """The name here of each of a server's tools, by the tool's own name.

    Two tools never share one: where making names safe would give both the same, a digest of its
    own name is put behind that which had to be changed.

    >>> names("files", ["read", "read/all", "read_all"])
    {'read': 'files__read', 'read_all': 'files__read_all', 'read/all': 'files__read_all_4a2b2cdf'}
    """
    found: dict[str, str] = {}
    for tool in sorted(set(tools), key=lambda name: _safe(server, name) != _plain(server, name)):
        name = _safe(server, tool)
        found[tool] = _marked(name, tool) if name in found.values() else name
    return found


def _plain(server: str, tool: str) -> str:
    return f"{server}{BETWEEN}{tool}"


def _safe(server: str, tool: str) -> str:
    name = _UNSAFE.sub("_", _plain(server, tool))
    return name if len(name) <= LONGEST else _marked(name, tool)


def _marked(name: str, tool: str) -> str:
    mark = f"_{hashlib.sha256(tool.encode(errors='replace')).hexdigest()[:8]}"
    return f"{name[: LONGEST - len(mark)]}{mark}"
