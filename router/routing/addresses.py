"""Addresses in what a tool is called with: only such as a person gave, or the skill's own.

Whatever a model reads may tell it to carry something to somewhere: a page, a name, a policy. An
address out of a result goes into no call; whoever wants to go there says so, or presses a button.
"""

import json
import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence

from pydantic import JsonValue

from router.domain.commands import Clarify
from router.domain.locale import Locale, Localised
from router.domain.messages import Option

_WORD = re.compile(r"[^\s<>\"'`，。；、！？（）【】《》“”‘’|\\^{}\[\]]{4,2000}")
_SCHEME = re.compile(r"[a-z][a-z0-9+-]{1,20}:/{0,2}", re.IGNORECASE)
_BEGINS = re.compile(r"[A-Za-z0-9_]")
_HOST = re.compile(r"(?:[\w-]{1,63}\.){1,8}[^\W\d_][\w-]{1,62}|[0-9]{1,3}(?:\.[0-9]{1,3}){3}")
_ENDS = ".,;:!?)]}'\""

UNGIVEN = (
    "{addresses} is an address that the employee didn't give: it goes into no call. Ask them "
    "whether it is meant, or go on without it."
)
MEANT = Localised(
    zh="这个地址不是你给的，要用它吗？", en="You didn't give this address. Shall I go there?"
)
MOST_ASKED = 3


def addresses(text: str) -> list[str]:
    """The URLs, e-mail addresses and hosts with a path in a text, as they are written.

    >>> addresses("see https://a.example/x, or mail bo@b.example. About 3.5 of v1.2")
    ['https://a.example/x', 'bo@b.example']
    """
    # As a client reads them: full-width signs are plain ones, and a stroke may lean either way.
    plain = unicodedata.normalize("NFKC", text).replace("\\", "/")
    words = (word.rstrip(_ENDS) for word in _WORD.findall(plain))
    # Chinese stands before one without a space.
    begun = (word[found.start() :] for word in words if (found := _BEGINS.search(word)))
    return list(dict.fromkeys(word for word in begun if _is_address(word)))


def _is_address(word: str) -> bool:
    scheme = _SCHEME.match(word)
    if scheme is not None and scheme.group().endswith("/"):
        return True
    rest = word[scheme.end() :] if scheme is not None else word
    user, at, host = rest.rpartition("@")
    if at:
        return bool(user) and _HOST.match(host) is not None
    found = _HOST.match(rest)
    return found is not None and rest[found.end() : found.end() + 1] in ("/", ":", "?")


def ungiven(arguments: Mapping[str, JsonValue], given: Iterable[str], own: str = "") -> list[str]:
    """The addresses in a call's arguments that nobody gave.

    Args:
        arguments: What the tool is to be called with.
        given: What people said.
        own: The house's own words, such as a skill's instructions: hosts named there are known,
            with all that is on them.
    """
    wanted = addresses(json.dumps(arguments, ensure_ascii=False))
    if not wanted:
        return []
    said = {one.casefold().rstrip("/") for text in given for one in addresses(text)}
    hosts = {_host(one) for one in addresses(own)}
    return [a for a in wanted if a.casefold().rstrip("/") not in said and _host(a) not in hosts]


def _host(address: str) -> str:
    """The host of a URL, and an e-mail address as it is."""
    rest = _SCHEME.sub("", address.casefold(), count=1)
    # The authority ends where the path begins: an @ behind that names no host.
    authority = re.split("[/?#]", rest)[0]
    is_mail = "@" in rest and authority == rest
    return rest if is_mail else authority.rpartition("@")[2].partition(":")[0]


def question(foreign: Sequence[str], locale: Locale) -> Clarify:
    """The question whether these are meant: whoever presses one has given it."""
    options = [Option(label=one[:200], value=one[:200]) for one in foreign[:MOST_ASKED]]
    return Clarify(text=MEANT.within(locale), options=options)
