"""What checks say of flow files, in the language of whoever reads it.

Checks speak English, as logs and terminals do. `phrases_zh.yaml` has what they say in Chinese, a
phrase each with holes for names and values; what isn't there stays as it is.
"""

import re
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from router.domain.locale import Locale, Localised
from router.formats.regex import compiled
from router.formats.yaml_document import read_yaml

FILE = Path(__file__).with_name("phrases_zh.yaml")
_HOLE = re.compile(r"\{([a-z])([!=]?)\}")
_VALUE = r"""(?:[-\d'"\[{(].*?|True|False|None)"""
MOST_WITHIN = 3
"""Phrases within phrases."""


class TranslatedPhrase(NamedTuple):
    """A phrase with its holes."""

    found: Any
    """RE2 that takes the whole of it, a group for each hole."""
    within: frozenset[str]
    """The holes in which a phrase stands again."""
    said: str

    def filled(self, held: Mapping[str, str]) -> str:
        """What it says with these in its holes."""
        return _HOLE.sub(lambda hole: held[hole[1]], self.said)


def said_in(locale: Locale, english: str) -> str:
    """What a check says, in this language.

    >>> said_in("zh", "no way leads to review")
    '没有路通到状态 review'
    """
    return english if locale == "en" else _in_chinese(english, MOST_WITHIN)


def told(what: str, remedy: str, line: int | None = None) -> Localised:
    """A fault with what to do about it, in both languages, and where it is if that is said.

    >>> told("no way leads to review", "lead some state there, or remove it", 3).en
    '3: no way leads to review; lead some state there, or remove it'
    """
    where = "" if line is None else str(line)
    zh = f"{where}{'：' * bool(where)}{said_in('zh', what)}；{said_in('zh', remedy)}"
    return Localised(zh=zh, en=f"{where}{': ' * bool(where)}{what}; {remedy}")


def _in_chinese(english: str, depth: int) -> str:
    for phrase in _phrases() if depth else ():
        if (match := phrase.found.match(english)) is None:
            continue
        held = {
            name: _in_chinese(text, depth - 1) if name in phrase.within else text
            for name, text in match.groupdict().items()
        }
        return phrase.filled(held)
    return english


@lru_cache(maxsize=1)
def _phrases() -> tuple[TranslatedPhrase, ...]:
    """All of them; those with the most words of their own first, which say it most exactly."""
    written: dict[str, str] = read_yaml(FILE.read_text("utf-8")).data
    ordered = sorted(written.items(), key=lambda each: -len(_HOLE.sub("", each[0])))
    return tuple(_phrase(*each) for each in ordered)


def _phrase(english: str, chinese: str) -> TranslatedPhrase:
    holes = _HOLE.findall(english)
    parts = [re.escape(part) for part in _HOLE.split(english)[::3]]
    source = parts[0] + "".join(
        f"(?P<{name}>{_VALUE if sort == '=' else '.+?'}){part}"
        for (name, sort), part in zip(holes, parts[1:], strict=True)
    )
    within = frozenset(name for name, sort in holes if sort == "!")
    return TranslatedPhrase(compiled(f"(?s)^{source}$"), within, chinese)
