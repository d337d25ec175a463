"""What something new is called: its name, and the words that people have for it."""

import keyword
import re
from collections.abc import Collection
from dataclasses import dataclass
from typing import Literal

from router.domain.errors import InvalidInput
from router.tool.naming import RESERVED

What = Literal["flow", "skill", "tool"]

LONGEST_WORDS = 40
_SNAKE = re.compile(r"[a-z][a-z0-9]*(?:_[a-z0-9]+)*")
_KEBAB = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")
_WORDS = re.compile(r"[^\W_]+(?:[ -][^\W_]+)*")
_CHINESE = re.compile("[\u4e00-\u9fff]")
LONGEST = {"flow": 63, "tool": 63, "skill": 64}


@dataclass(frozen=True)
class Names:
    """The name that programs have for it, and the words of people in both languages."""

    name: str
    zh: str
    en: str


def named(
    what: What, name: str, zh: str | None, en: str | None, taken: Collection[str] = ()
) -> Names:
    """The names of something new; words that nobody gave are those in its name.

    >>> named("flow", "parking_permit", "停车证", None)
    Names(name='parking_permit', zh='停车证', en='parking permit')

    Raises:
        InvalidInput: it can't be called so, or something else is.
    """
    _check_form(what, name)
    if name in RESERVED or keyword.iskeyword(name):
        raise InvalidInput(f"the name {name!r} means something else already: say what it is for")
    if name in taken:
        raise InvalidInput(f"something is called {name} already: choose another name")
    english = _words("--en", re.sub("[_-]", " ", name) if en is None else en)
    return Names(name, english if zh is None else _words("--zh", zh), english)


def _check_form(what: What, name: str) -> None:
    form, written = (
        (_KEBAB, "small letters, digits and single hyphens, as in policy-advisor")
        if what == "skill"
        else (_SNAKE, "small letters, digits and single _, a letter first, as in desk_lamp")
    )
    if not form.fullmatch(name) or len(name) > LONGEST[what]:
        remedy = f"write up to {LONGEST[what]} {written}"
        near = _near(what, name)
        meant = f", such as {near}" if near and form.fullmatch(near) else ""
        raise InvalidInput(f"a {what} can't be called {name[:80]!r}: {remedy}{meant}")


def _near(what: What, name: str) -> str:
    """What might be meant by a name of another form: `Desk Lamp` is desk_lamp."""
    parts = re.findall(r"[A-Z]?[a-z0-9]+|[A-Z]+", name) if name.isascii() else []
    return ("-" if what == "skill" else "_").join(part.lower() for part in parts)[: LONGEST[what]]


def _words(option: str, written: str) -> str:
    if not _WORDS.fullmatch(written) or len(written) > LONGEST_WORDS:
        remedy = f"write up to {LONGEST_WORDS} letters and digits with single spaces or hyphens"
        raise InvalidInput(f"{option} {written[:80]!r} can't be what people call it: {remedy}")
    if option == "--en" and _CHINESE.search(written):
        raise InvalidInput(f"--en {written!r} isn't English: write it in --zh")
    return written
