"""What a file says of a tool beside where it is: who may call it, when it is tried again."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, get_args

from router.documents.yaml_document import Place
from router.domain.principals import EVERYONE
from router.domain.texts import Localised
from router.tool.http.complaints import Complaints
from router.tool.http.wanted import Wanted, is_pointer
from router.tool.naming import ANOTHER, RESERVED, TAKEN
from router.tool.tool import Permission

KEYS = (
    *("title", "examples", "permission", "confirm", "roles", "idempotent", "retries", "timeout"),
    *("result", "items", "at_once"),
)
SECONDS = 10.0
LONGEST = 300.0
RETRIES = 3

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,62}")
_DURATION = re.compile(r"([0-9]+(?:\.[0-9]+)?)(ms|s|m)")
_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0}
_READS = ("GET", "HEAD")


@dataclass(frozen=True)
class Options:
    """The options of one tool."""

    title: Localised
    examples: tuple[str, ...]
    permission: Permission
    confirm: bool
    roles: frozenset[str]
    idempotent: bool
    retries: int | None
    seconds: float
    at_once: int | None
    wanted: Wanted


def read_options(
    complaints: Complaints, place: Place, data: Mapping[str, Any], name: str, method: str
) -> Options:
    """The options in `data`, with what a method means where nothing is said."""
    permission = _permission(complaints, (*place, "permission"), data.get("permission"), method)
    roles = frozenset(complaints.texts((*place, "roles"), data.get("roles")))
    if permission == "admin" and (not roles or EVERYONE in roles):
        what = "it changes what is others', for everyone"
        complaints.add((*place, "permission"), what, 'name who may, as in "roles": ["hr"]')
    return Options(
        title=read_title(complaints, (*place, "title"), data.get("title"), name),
        examples=complaints.texts((*place, "examples"), data.get("examples")),
        permission=permission,
        confirm=complaints.flag((*place, "confirm"), data.get("confirm"), otherwise=False),
        roles=roles,
        # RFC 9110 makes a second PUT the same as one; whether a second POST is, who knows.
        idempotent=complaints.flag(
            (*place, "idempotent"), data.get("idempotent"), otherwise=method in (*_READS, "PUT")
        ),
        retries=_retries(complaints, (*place, "retries"), data.get("retries", RETRIES)),
        seconds=read_seconds(complaints, (*place, "timeout"), data.get("timeout"), SECONDS),
        at_once=_at_once(complaints, (*place, "at_once"), data.get("at_once")),
        wanted=_wanted(complaints, place, data),
    )


def read_name(complaints: Complaints, place: Place, value: Any) -> str:
    """A tool's name."""
    name = complaints.text(place, value)
    if name and not _NAME.fullmatch(name):
        remedy = "use up to 63 letters, digits, _ and -, a letter first"
        complaints.add(place, f"{name[:80]!r} is no name that models can call", remedy)
    if name in RESERVED:
        complaints.add(place, f"the tool {name} {TAKEN}", ANOTHER)
    return name


def read_seconds(complaints: Complaints, place: Place, value: Any, otherwise: float) -> float:
    """A time limit: a number of seconds, or a text such as "10s"."""
    if value is None:
        return otherwise
    seconds = _seconds(value)
    if 0 < seconds <= LONGEST:
        return seconds
    remedy = f'write seconds up to {LONGEST:g}, or a text like "500ms" or "10s"'
    complaints.add(place, f"{place[-1]} is {value!r:.40}", remedy)
    return otherwise


def _seconds(value: Any) -> float:
    """Zero where it is no duration."""
    if isinstance(value, str) and (found := _DURATION.fullmatch(value)):
        return float(found[1]) * _UNITS[found[2]]
    return float(value) if isinstance(value, int | float) and value is not True else 0.0


def _permission(complaints: Complaints, place: Place, value: Any, method: str) -> Permission:
    usual: Permission = "read" if method in _READS else "write"
    if value is None:
        return usual
    for permission in get_args(Permission):
        if value == permission:
            return permission  # type: ignore[no-any-return]
    complaints.add(place, f"permission is {value!r:.40}", "write read, write or admin")
    return usual


def read_title(complaints: Complaints, place: Place, value: Any, name: str) -> Localised:
    """A title, in both languages or in one for both; made of the name where there is none."""
    words = name.replace("_", " ").replace("-", " ").capitalize()
    if value is None:
        return Localised(zh=words, en=words)
    if isinstance(value, str) and value.strip():
        return Localised(zh=value, en=value)
    fits = isinstance(value, dict) and value.keys() == {"zh", "en"}
    if fits and all(isinstance(each, str) and each.strip() for each in value.values()):
        return Localised(**value)
    complaints.add(place, "title isn't in both languages", 'write {"zh": "…", "en": "…"}')
    return Localised(zh=words, en=words)


def _retries(complaints: Complaints, place: Place, value: Any) -> int | None:
    whole = isinstance(value, int) and not isinstance(value, bool) and value >= 0
    if value is None or whole:
        return int(value) if whole else None
    complaints.add(place, f"retries is {value!r:.40}", "write 0 or more, or null for ever")
    return RETRIES


def _at_once(complaints: Complaints, place: Place, value: Any) -> int | None:
    whole = isinstance(value, int) and not isinstance(value, bool) and value >= 1
    if value is None or whole:
        return int(value) if whole else None
    complaints.add(place, f"at_once is {value!r:.40}", "write 1 or more, or leave it out")
    return None


def _wanted(complaints: Complaints, place: Place, data: Mapping[str, Any]) -> Wanted:
    return Wanted(
        _places(complaints, (*place, "result"), data.get("result")),
        *_items(complaints, (*place, "items"), data.get("items")),
    )


def _places(complaints: Complaints, place: Place, value: Any) -> str | dict[str, str]:
    places = {"": value} if isinstance(value, str) else value
    if value is None:
        return ""
    if not isinstance(places, dict) or not places:
        remedy = 'write a JSON pointer such as "/data/0", or {"name": "/pointer"}'
        complaints.add(place, "result is no place in an answer", remedy)
        return ""
    for name, pointer in places.items():
        if not isinstance(pointer, str) or not is_pointer(pointer):
            where = place if isinstance(value, str) else (*place, name)
            remedy = "begin it with a slash, as in /data/0/name"
            complaints.add(where, f"{pointer!r:.60} is no JSON pointer", remedy)
    return value  # type: ignore[no-any-return]


def _items(complaints: Complaints, place: Place, value: Any) -> tuple[int | None, frozenset[str]]:
    given = value if isinstance(value, dict) else {"most": value}
    complaints.unknown_keys(place, given, ("most", "keep"))
    most = given.get("most")
    if most is not None and (not isinstance(most, int) or isinstance(most, bool) or most < 1):
        remedy = 'write a number, or {"most": 5, "keep": ["title", "url"]}'
        complaints.add(place, f"items is {most!r:.40}", remedy)
        most = None
    return most, frozenset(complaints.texts((*place, "keep"), given.get("keep")))
