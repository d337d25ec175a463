"""Choosing: by label, by synonym, by value, by number."""

from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Protocol

from router.domain.locale import Localised
from router.domain.messages import Option
from router.entities.grammar import MAX_MATCHES, Found, compiled, cuts_a_word, longest
from router.entities.normalisation import normalise
from router.entities.numbers import place_of
from router.lexicon import EN

_FIGURE = r"[1-9]\d?|[一二三四五六七八九十]{1,2}"
_NUMBERED = compiled(
    rf"^(?:我?(?:选|要|是)|选项|number |option |no\.? ?|#|the )?"
    rf"(?:第 ?)?(?P<n>{_FIGURE}|{EN.ordinal})(?:st|nd|rd|th)?"
    "(?: ?[个项条种号]| one| option)?[吧.。)!]?$"
)
_LAST = compiled("^(?:最后(?:一)?[个项种条]?|the last(?: one)?|last(?: one)?)[.!]?$")
# 取消请假, "cancel my leave": what names an option isn't always its choice.
_TURNED_DOWN = compiled(
    r"取消|撤[回销掉]|不(?:请|报|办|要|是|想|用)|别|\b(?:cancel|withdraw|revoke|undo|no|not|don't"
    r"|do not|neither|none|never)\b"
)

Phrases = tuple[tuple[str, str], ...]


class Choosable(Protocol):
    """What may be chosen, by its names; hashable, since phrases are made once."""

    @property
    def label(self) -> Localised:
        """Its own name."""

    @property
    def synonyms(self) -> tuple[str, ...]:
        """What else people say for it."""


Choices = Mapping[str, Choosable]
"""What may be chosen, by value."""


@lru_cache(maxsize=512)
def _phrases(choices: tuple[tuple[str, Choosable], ...]) -> Phrases:
    return tuple(
        (phrase, value)
        for value, choice in choices
        for written in (value, choice.label.zh, choice.label.en, *choice.synonyms)
        # A value such as "-" stands within FG-31 without being meant.
        if (phrase := normalise(written).text)
        if written != value or any(character.isalnum() for character in value)
    )


def find_choices(choices: Choices, text: str) -> list[Found[str]]:
    """Every choice that the text names, in order; of two phrases the longer counts."""
    return longest(_named(_phrases(tuple(choices.items())), text))


def is_label(choices: Choices, phrase: str) -> bool:
    """True where a normalised phrase is a choice's own name, not just a word that hints at it."""
    return phrase in _labels(tuple(choices.items()))


@lru_cache(maxsize=512)
def _labels(choices: tuple[tuple[str, Choosable], ...]) -> frozenset[str]:
    names = (n for value, choice in choices for n in (value, choice.label.zh, choice.label.en))
    return frozenset(normalise(name).text for name in names)


def _named(phrases: Phrases, text: str) -> Iterator[Found[str]]:
    for phrase, value in phrases:
        start = text.find(phrase)
        for _ in range(MAX_MATCHES):
            if start < 0:
                break
            end = start + len(phrase)
            end += text.startswith("s", end) and phrase[-1].isascii()
            if not cuts_a_word(text, start) and not cuts_a_word(text, end):
                yield Found(start, end, value)
            start = text.find(phrase, end)


def only_choice(choices: Choices, text: str) -> Found[str] | None:
    """The choice that the text names, if it names one and no other; labels outweigh synonyms."""
    found = find_choices(choices, text)
    named = [f for f in found if is_label(choices, text[f.start : f.end])] or found
    return named[0] if len({f.value for f in named}) == 1 else None


def answered_choice(choices: Choices, text: str) -> str | None:
    """The choice that an answer to this very question means: named, numbered, begun, mistyped."""
    named = only_choice(choices, text)
    if named is not None:
        return named.value
    values = list(choices)
    number = chosen_number(text, len(values))
    if number is not None:
        return values[number]
    phrases = _phrases(tuple(choices.items()))
    return _begun(phrases, text) or _mistyped(phrases, text)


_CLAUSE = compiled("[^,.;!?、。]+")
MOST_CLAUSES = 40
"""Of an answer: in a longer text no slip is looked for, which would take a comparison for each."""
_LONG_ENOUGH = 5
"""Letters of a word that one wrong letter leaves recognisable."""


def _mistyped(phrases: Phrases, text: str) -> str | None:
    """The one choice that a whole clause names but for a slip in one word: `anual leave`."""
    clauses = [clause.strip().split(" ") for clause in _CLAUSE.findall(text) if clause.isascii()]
    if len(clauses) > MOST_CLAUSES:
        return None
    near = {
        value
        for phrase, value in phrases
        if phrase.isascii()
        if any(_names_but_for_a_slip(clause, phrase.split(" ")) for clause in clauses)
    }
    return near.pop() if len(near) == 1 else None


def _names_but_for_a_slip(clause: list[str], phrase: list[str]) -> bool:
    if len(clause) != len(phrase):
        return False
    wrong = [pair for pair in zip(clause, phrase, strict=True) if pair[0] != pair[1]]
    return len(wrong) == 1 and all(
        min(len(typed), len(meant)) >= _LONG_ENOUGH and typed.isalpha() and _is_a_slip(typed, meant)
        for typed, meant in wrong
    )


def _is_a_slip(typed: str, meant: str) -> bool:
    """True where one letter is missing, too many, another, or two neighbours are swapped.

    >>> [_is_a_slip(word, "annual") for word in ("anual", "annuall", "annuel", "anunal", "manual")]
    [True, True, True, True, False]
    """
    if typed == meant or abs(len(typed) - len(meant)) > 1:
        return False
    start = next((i for i, (a, b) in enumerate(zip(typed, meant, strict=False)) if a != b), None)
    if start is None:
        return True
    rest, wanted = typed[start:], meant[start:]
    swapped = rest[1::-1] + rest[2:] == wanted
    return swapped or wanted in {rest[1:], rest} or rest == wanted[1:] or rest[1:] == wanted[1:]


def _begun(phrases: Phrases, text: str) -> str | None:
    """The one choice that the whole text is part of: `年` won't do, `annual` for a longer label."""
    if len(text) < (3 if text.isascii() else 2):
        return None
    values = {value for phrase, value in phrases if phrase.startswith(text)}
    return values.pop() if len(values) == 1 else None


def chosen_number(text: str, among: int) -> int | None:
    """The place in a list of `among` that a text such as `第二个` or `2` names, from 0."""
    if _LAST.search(text):
        return among - 1 if among else None
    match = _NUMBERED.search(text)
    place = place_of(match.group("n")) if match else None
    return place if place is not None and place < among else None


def chosen_option(options: Iterable[Option], text: str) -> Option | None:
    """The option of a question that a text picks: by label, by value, or by number."""
    listed = list(options)
    number = chosen_number(text, len(listed))
    if number is not None:
        return listed[number]
    phrases = tuple(
        (normalise(written).text, str(place))
        for place, option in enumerate(listed)
        for written in (option.label, str(option.value))
    )
    if _TURNED_DOWN.search(text):
        return None
    named = {found.value for found in longest(_named(phrases, text))}
    place = named.pop() if len(named) == 1 else _begun(phrases, text)
    return None if place is None else listed[int(place)]
