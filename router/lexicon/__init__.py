"""The words of the languages that are spoken here, as data: `zh.yaml` and `en.yaml`.

What people say around a request, about the dialogue, or to put themselves right stands there once,
by what it is for; regular expressions are built of it. A list is written into one like a name, and
stands there as the group of its alternatives:

>>> f"^{ZH.next}$"
'^(?:[到看问换]?下一?[个项题步](?:问题)?)$'

A new list is a field of `Lexicon`, and the same key in the file of each language that has it.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from importlib.resources import files
from typing import Any

from router.domain.errors import MisconfiguredError, nearest
from router.formats.regex import refused
from router.formats.yaml_document import YamlDocument, read_yaml

_APART = re.compile("  +")
_REFERENCE = re.compile(r"\{([a-z_]+)\}")


class Words(tuple[str, ...]):
    """Words and phrases for one thing; in a regular expression, the group of all of them."""

    __slots__ = ()

    def __str__(self) -> str:
        return f"(?:{'|'.join(self)})"

    def __add__(self, other: object) -> "Words":
        """These and the others."""
        return Words((*self, *other)) if isinstance(other, tuple) else NotImplemented

    @property
    def places(self) -> dict[str, int]:
        """Every alternative, with the place of its phrase in the list, from 0."""
        return {word: place for place, row in enumerate(self) for word in row.split("|")}

    @property
    def values(self) -> dict[str, str]:
        """Every alternative but the first of its phrase, with that as its value."""
        rows = (row.split("|") for row in self)
        return {word: value for value, *words in rows for word in words}


NO_WORDS = Words()


@dataclass(frozen=True)
class BlockerWords:
    """What keeps a flow from starting although its words are there, for one reason."""

    signs: Words = NO_WORDS  # what gives the reason
    excuse: Words = NO_WORDS  # what makes it not count
    before: Words = NO_WORDS  # what gives it directly before the flow's words


@dataclass(frozen=True)
class Lexicon:
    """The lists of one language, by what they are for; empty where it has no such words."""

    # What is recognised: answers, numbers, days, money
    yes: Words = NO_WORDS
    no: Words = NO_WORDS
    send_off: Words = NO_WORDS  # a yes to what is about to be handed in
    wait: Words = NO_WORDS  # a no to it
    around_answer: Words = NO_WORDS
    number: Words = NO_WORDS  # from nothing on, each by its place
    tens: Words = NO_WORDS  # from twenty on
    ordinal: Words = NO_WORDS
    unit: Words = NO_WORDS  # of time, by what a duration is counted in
    currency: Words = NO_WORDS  # by its code
    weekday: Words = NO_WORDS  # from Monday on, each by its place
    month: Words = NO_WORDS
    day: Words = NO_WORDS  # by how many days it is from today
    holiday: Words = NO_WORDS  # by its month and day, or its name in `holidays`
    holiday_itself: Words = NO_WORDS  # what is a holiday only where the very day is spoken of
    of_a_holiday: Words = NO_WORDS  # what it makes the kind of a thing: a New Year's party
    morning: Words = NO_WORDS
    afternoon: Words = NO_WORDS
    happening: Words = NO_WORDS  # to a person, who need not be the one who tells it
    another: Words = NO_WORDS  # whom it happens to besides
    doubled: Words = NO_WORDS  # with a letter twice that is often typed more often
    simplified: Words = NO_WORDS  # of which a character is only there, as typed and as read
    numbered: Words = NO_WORDS  # what a day of the month may number: 5号楼, the 24th floor
    unit_of_decimal: Words = NO_WORDS  # after 12.24, what shows that it is no day
    after_date: Words = NO_WORDS  # after 12.24, what shows that it is one
    afterwards: Words = NO_WORDS  # that what is spoken of was, and is filed afterwards
    unplanned: Words = NO_WORDS  # what nobody knows of the better part of a year before
    not_money: Words = NO_WORDS  # what 块 counts besides money
    of_money: Words = NO_WORDS  # beside which a number is an amount
    other_money: Words = NO_WORDS  # of which no amounts are read: five of it is no five yuan
    after_number: Words = NO_WORDS  # what it doesn't count
    after_no_duration: Words = NO_WORDS
    long_while: Words = NO_WORDS  # before 半天, that it was a long while
    instead: Words = NO_WORDS  # that one thing is said instead of another
    measured: Words = NO_WORDS
    goes_on: Words = NO_WORDS  # between the start of a stretch of days and its end: 从周三休到周五
    time_off: Words = NO_WORDS
    that_is_all: Words = NO_WORDS
    another_one: Words = NO_WORDS
    approval: Words = NO_WORDS  # of what is there, and no wish for more
    on_the_way: Words = NO_WORDS  # from a cause to the request

    # Said around what matters
    addressee: Words = NO_WORDS  # whom one speaks to
    titled: Words = NO_WORDS  # the same, by a name with a title
    everyone: Words = NO_WORDS
    hello: Words = NO_WORDS
    greeting: Words = NO_WORDS  # hello, and to whom
    thanks: Words = NO_WORDS
    praise: Words = NO_WORDS
    courtesy: Words = NO_WORDS  # thanks, pardons and pleas in a word
    politeness: Words = NO_WORDS  # the same at length, to the end of the sentence
    wish: Words = NO_WORDS  # that it may be granted, and soon
    farewell: Words = NO_WORDS  # what only a name follows
    closing: Words = NO_WORDS
    filler: Words = NO_WORDS  # what leaves the meaning as it is, wherever it stands
    hesitation: Words = NO_WORDS
    repair: Words = NO_WORDS  # with what people put themselves right

    # Several wishes in one message
    another_wish: Words = NO_WORDS  # after a mark: that something else is wished for
    in_passing: Words = NO_WORDS  # the same, wherever it stands
    around_wish: Words = NO_WORDS  # between two wishes, and part of neither
    asks_desk: Words = NO_WORDS  # what is asked of whoever is spoken to
    asks_desk_first: Words = NO_WORDS  # the same, where it begins so
    for_another: Words = NO_WORDS  # what looks so, and is done for somebody, or elsewhere
    granted: Words = NO_WORDS  # what only asks whether what was asked for may be
    told_by: Words = NO_WORDS  # before somebody's words
    works_on: Words = NO_WORDS  # before a colon: a text follows that something is done with

    # Said of what was just answered
    refers: Words = NO_WORDS  # that a message is about what was said before it
    alters: Words = NO_WORDS  # that an answer is wanted otherwise, or is to go on

    # Said about the dialogue itself
    skip: Words = NO_WORDS
    next: Words = NO_WORDS
    nothing: Words = NO_WORDS
    abilities: Words = NO_WORDS  # what can be done here?
    identity: Words = NO_WORDS  # who is this that answers?
    help: Words = NO_WORDS
    repeat: Words = NO_WORDS
    start_over: Words = NO_WORDS
    person: Words = NO_WORDS  # one is wanted, not the desk
    agent: Words = NO_WORDS
    leaves_person: Words = NO_WORDS  # the desk is wanted again, not the person
    calls_skill: Words = NO_WORDS  # before a skill's name, that it is to do what is wanted

    # Asking to have something remembered
    remember: Words = NO_WORDS  # what is to be remembered comes after it
    keep_in_mind: Words = NO_WORDS  # the same, where that is something of one's own
    no_memory: Words = NO_WORDS  # what comes after either and is nothing to be remembered
    of_oneself: Words = NO_WORDS  # what something of one's own begins with
    forget: Words = NO_WORDS  # what is to be remembered no longer comes after it
    memory_itself: Words = NO_WORDS  # that a thing which is remembered is spoken of, after it
    forget_all: Words = NO_WORDS
    memories: Words = NO_WORDS  # what is remembered?
    first_person: Words = NO_WORDS  # that a message is about whoever says it

    # Giving up, going on
    request: Words = NO_WORDS  # what any request is called, and words that point to one
    withdraw: Words = NO_WORDS  # to take back what was handed in
    cancel: Words = NO_WORDS
    not_wanted: Words = NO_WORDS  # what is no longer wanted comes after it
    any_more: Words = NO_WORDS
    determiner: Words = NO_WORDS
    no_more: Words = NO_WORDS  # what is no longer done comes after it
    not_known: Words = NO_WORDS  # an answer that has none to give yet
    do: Words = NO_WORDS  # to go about a request, of any kind
    around_cancel: Words = NO_WORDS
    resume: Words = NO_WORDS  # what is gone on with comes after it
    around_paused: Words = NO_WORDS
    after_paused: Words = NO_WORDS
    none_of_them: Words = NO_WORDS

    # What slots and requests are called
    start: Words = NO_WORDS
    end: Words = NO_WORDS
    reason: Words = NO_WORDS
    amount: Words = NO_WORDS
    category: Words = NO_WORDS
    date: Words = NO_WORDS
    any_kind: Words = NO_WORDS  # what any request is called, whatever it is for
    around_request: Words = NO_WORDS  # said of one without its kind

    # What somebody is off to do
    purpose: Words = NO_WORDS

    # Putting right
    wrong: Words = NO_WORDS
    around_wrong: Words = NO_WORDS
    supplies: Words = NO_WORDS
    opens_correction: Words = NO_WORDS
    leads_to: Words = NO_WORDS  # what a new value comes after
    around_value: Words = NO_WORDS  # what stands around a value that is said anew
    goes_back: Words = NO_WORDS  # stands at the day on which a journey ends
    same_day: Words = NO_WORDS  # it ends on the day on which it began
    telltale: Words = NO_WORDS  # small words that only this language has
    beside_value: Words = NO_WORDS  # what leads to a value, or follows it, and is part of none
    first_day: Words = NO_WORDS
    last_day: Words = NO_WORDS
    around_end: Words = NO_WORDS

    # Moving days
    later: Words = NO_WORDS
    earlier: Words = NO_WORDS
    longer: Words = NO_WORDS
    shorter: Words = NO_WORDS
    around_shift: Words = NO_WORDS

    # Items of a list
    item: Words = NO_WORDS  # what one is called, whatever it is
    counted: Words = NO_WORDS  # what stands after a figure that is no amount
    adds: Words = NO_WORDS
    opens_adding: Words = NO_WORDS
    changes: Words = NO_WORDS
    removes: Words = NO_WORDS
    keeps: Words = NO_WORDS
    around_item: Words = NO_WORDS

    # Whom and what somebody speaks of
    surname: Words = NO_WORDS
    someone: Words = NO_WORDS
    does: Words = NO_WORDS
    colleague: Words = NO_WORDS
    software: Words = NO_WORDS
    wanted: Words = NO_WORDS

    blockers: Mapping[str, BlockerWords] = field(default_factory=dict)
    """What keeps a request from being one, by the reason's name."""


class LexiconError(MisconfiguredError):
    """A word list can't be used; says which file and line, and what to do."""


def read_lexicon(text: str, name: str) -> Lexicon:
    r"""The lists in the text of a file, with the lists that they refer to written out.

    Raises `LexiconError` for a list that nobody knows, an empty one, a word that stands twice in
    one, and a phrase that RE2 doesn't take.

    >>> read_lexicon("greeting: |\n  hi+  hello", "en.yaml").greeting
    ('hi+', 'hello')
    """
    document = read_yaml(text)
    for line, fault in document.faults:
        raise LexiconError(f"{name}:{line}: {fault}")
    lists = {key: _List(key, name, words) for key, words in _lists(document, name)}
    plain = {key: one.written_out(lists) for key, one in lists.items()}
    blockers: dict[str, dict[str, Words]] = {}
    for key in [key for key in plain if key.startswith(_BLOCKERS)]:
        _, blocker, part = key.split(".")
        blockers.setdefault(blocker, {})[part] = plain.pop(key)
    named = {blocker: BlockerWords(**parts) for blocker, parts in blockers.items()}
    return Lexicon(**plain, blockers=named)


_BLOCKERS = "blockers."


def _lists(document: YamlDocument, name: str) -> Iterator[tuple[str, list[tuple[int, str]]]]:
    """Every list by its key, that of a blocker as `blockers.question.signs`, with its lines."""
    for place, value in _texts(document.data, ()):
        line, key = document.line(place), ".".join(place)
        known = _KNOWN[key.startswith(_BLOCKERS)]
        if place[-1] not in known:
            remedy = nearest(place[-1], known) or "make it a field of Lexicon"
            raise LexiconError(f"{name}:{line}: there is no list {place[-1]}; {remedy}")
        rows = enumerate(str(value or "").splitlines(), line + 1)
        words = [(number, w) for number, row in rows for w in _APART.split(row.strip()) if w]
        if not words:
            raise LexiconError(f"{name}:{line}: the list {key} is empty; leave it out")
        yield key, words


_KNOWN = [[field.name for field in fields(kind)] for kind in (Lexicon, BlockerWords)]
"""The lists that there are, and those of a blocker."""


def _texts(value: Any, place: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Any]]:
    if isinstance(value, dict):
        for key, each in value.items():
            yield from _texts(each, (*place, key))
    else:
        yield place, value


@dataclass(frozen=True)
class _List:
    """A list as its file has it: every word with its line."""

    key: str
    file: str
    words: list[tuple[int, str]]

    def written_out(self, lists: Mapping[str, "_List"], above: tuple[str, ...] = ()) -> Words:
        """The words, with those of other lists put in where they are referred to."""
        plain: dict[str, int] = {}
        for line, word in self.words:
            whole = word
            for other in _REFERENCE.findall(word):
                put_in = str(self._other(other, line, lists, above))
                whole = whole.replace(f"{{{other}}}", put_in)
            if whole in plain:
                raise self._error(line, f"{word} stands in {self.key} twice; keep one")
            plain[whole] = line
        words = Words(plain)
        if not above and refused(str(words), bounds=None):
            line, fault = next(
                (n, f) for word, n in plain.items() if (f := refused(word, bounds=None))
            )
            raise self._error(line, f"a phrase of {self.key} {fault}")
        return words

    def _other(
        self, key: str, line: int, lists: Mapping[str, "_List"], above: tuple[str, ...]
    ) -> Words:
        if key not in lists:
            raise self._error(line, f"there is no list {key} to put in; write the words out")
        if key in (self.key, *above):
            raise self._error(line, f"{key} would stand in itself; write the words out")
        return lists[key].written_out(lists, (*above, self.key))

    def _error(self, line: int, what: str) -> LexiconError:
        return LexiconError(f"{self.file}:{line}: {what}")


def _shipped(language: str) -> Lexicon:
    name = f"{language}.yaml"
    return read_lexicon(files(__name__).joinpath(name).read_text(encoding="utf-8"), name)


ZH, EN = _shipped("zh"), _shipped("en")
BOTH = Lexicon(
    **{key: getattr(ZH, key) + getattr(EN, key) for key in _KNOWN[0] if key != "blockers"}
)
"""Every list with the words of both languages; blockers are apart, since English has spaces."""
