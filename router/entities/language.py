"""Which of the two languages somebody writes, where a message is enough to tell."""

from typing import NamedTuple

from router.domain.locale import Locale
from router.entities.grammar import compiled
from router.lexicon import EN

_HAN = compiled(r"[\x{4e00}-\x{9fff}]")
_WORD = compiled(r"[a-z][a-z'-]*")
_TELLTALE = compiled(rf"^{EN.telltale}$")


class _Least(NamedTuple):
    """What shows a language: so many characters of Chinese, or words of English, telltale ones."""

    han: int
    words: int
    told: int


_LEAST, _LEAST_ANSWERED = _Least(1, 2, 1), _Least(6, 4, 2)


def language_of(text: str, *, answers: bool = False) -> Locale | None:
    """The language that the text is written in; None where it may be either, or is neither.

    A name or a choice of the other language is no sentence in it: where the text `answers` what was
    asked, a few words tell nothing.

    >>> language_of("any news on my leave?"), language_of("批了吗"), language_of("Alice Wang")
    ('en', 'zh', None)
    >>> language_of("年假", answers=True), language_of("who is 张伟?")
    (None, 'en')
    """
    plain = text[:_READ].casefold()
    han = len(_HAN.findall(plain))
    words = _WORD.findall(plain)
    told = sum(_TELLTALE.search(word) is not None for word in words)
    least = _LEAST_ANSWERED if answers else _LEAST
    if told >= least.told and len(words) >= least.words and len(words) >= han:
        return "en"
    return "zh" if han >= least.han else None


_READ = 400
"""Characters: the language is plain by then."""
