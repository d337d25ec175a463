"""What might be better about skills that can be used as they are."""

import re
from collections.abc import Collection, Iterator

from router.documents.faults import nearest
from router.domain.errors import Problem
from router.skill.loader import Found, Loaded

MOST_LINES = 500
"""Of instructions, as the format recommends."""

_OURS = re.compile(r"[a-z][a-z0-9_]*")
"""How tools are named here. Other agents name theirs `Read` or `Bash(git:*)`."""


def remarks(
    loaded: Loaded, names: Collection[str], coming: tuple[str, ...] = ()
) -> Iterator[Problem]:
    """Remarks on skills, where tools and flows have these names.

    More may be `coming`, whose names begin so.
    """
    for found in loaded.found:
        yield from _too_long(found)
        yield from _unknown(found, names, coming)


def _too_long(found: Found) -> Iterator[Problem]:
    count = len(found.skill.instructions.splitlines())
    if count > MOST_LINES:
        what, remedy = f"the instructions have {count} lines", "move what is long into references/"
        yield Problem(str(found.file), found.begins, what, remedy)


def _unknown(found: Found, names: Collection[str], coming: tuple[str, ...]) -> Iterator[Problem]:
    for name in sorted(found.skill.allowed_tools or ()):
        if _OURS.fullmatch(name) and name not in names and not name.startswith(coming):
            what = f"there is no tool or flow {name}"
            remedy = nearest(name, names) or "see `intent-router tools list`, or take it out"
            yield Problem(str(found.file), found.lines["allowed-tools"], what, remedy)
