"""Which of the two languages somebody writes, where a message is enough to tell."""

from router.domain.locale import Locale
from router.entities.grammar import compiled
from router.lexicon import EN

_HAN = compiled(r"[\x{4e00}-\x{9fff}]")
_WORD = compiled(r"[a-z][a-z'-]*")
_TELLTALE = compiled(rf"^{EN.telltale}$")
_LEAST_HAN = 4
_LEAST_WORDS = 2


def language_of(text: str, *, answers: bool = False) -> Locale | None:
    """The language that the text is written in; None where it may be either, or is neither.

    A name or a choice of the other language is no sentence in it: where the text `answers` what was
    asked, a few characters tell nothing.

    >>> language_of("any news on my leave?"), language_of("批了吗"), language_of("Alice Wang")
    ('en', 'zh', None)
    >>> language_of("年假", answers=True), language_of("who is 张伟?")
    (None, 'en')
    """
    plain = text[:_READ].casefold()
    han = len(_HAN.findall(plain))
    words = _WORD.findall(plain)
    told = any(_TELLTALE.search(word) for word in words)
    if told and len(words) >= _LEAST_WORDS and len(words) >= han:
        return "en"
    return "zh" if han >= (_LEAST_HAN if answers else 1) else None


_READ = 400
"""Characters: the language is plain by then."""
