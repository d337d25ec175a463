"""Links from a skill's instructions to files beside them."""

import re
from collections.abc import Collection, Iterator
from posixpath import normpath
from urllib.parse import unquote

from router.documents.faults import Fault, nearest

_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_CODE = re.compile(r"(`+)(?!`).+?(?<!`)\1(?!`)")
_INLINE = re.compile(r"\]\(\s*(?:<([^<>]*)>|([^\s()<>]*))(?:\s+[\"'(][^)]*)?\s*\)")
_DEFINED = re.compile(r" {0,3}\[[^\]]+\]:\s*(?:<([^<>]*)>|(\S+))")
_LONGEST_LINE = 5_000
"""Characters of a line that are searched: what is made to take long takes their square."""
_ELSEWHERE = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]*:|//|#|/|\{")
"""What begins so is an address, a heading of the same text, or a place to fill in."""


def broken_links(body: str, paths: Collection[str]) -> Iterator[tuple[int, Fault]]:
    """Links to none of `paths` and to no folder of them, with the body's line, from 1.

    >>> list(broken_links("See [the limits](references/limit.md).", ["references/limits.md"]))
    [(1, Fault(what='it links to references/limit.md, which is not there', \
remedy='did you mean references/limits.md?'))]
    """
    there = {part for path in paths for part in _with_folders(path)}
    for number, line in _prose(body):
        for target in _targets(line):
            if (path := _path(target)) and path not in there:
                remedy = nearest(path, there) or "add the file, or take the link out"
                yield number, Fault(f"it links to {path}, which is not there", remedy)


def _prose(body: str) -> Iterator[tuple[int, str]]:
    """The lines that aren't code, without the code within them."""
    fence = ""
    for number, whole in enumerate(body.splitlines(), start=1):
        line = whole[:_LONGEST_LINE]
        mark = _FENCE.match(line)
        if mark and not fence:
            fence = mark[1]
        elif mark and mark[1].startswith(fence):
            fence = ""
        elif not fence:
            yield number, _CODE.sub("", line)


def _targets(line: str) -> Iterator[str]:
    for pattern in (_INLINE, _DEFINED):
        yield from (found[1] or found[2] or "" for found in pattern.finditer(line))


def _path(target: str) -> str:
    """The path that a link names; empty where it leads elsewhere."""
    if _ELSEWHERE.match(target):
        return ""
    path = unquote(re.split(r"[?#]", target, maxsplit=1)[0])
    return normpath(path) if path else ""


def _with_folders(path: str) -> Iterator[str]:
    parts = path.split("/")
    return ("/".join(parts[:count]) for count in range(1, len(parts) + 1))
