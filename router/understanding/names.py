"""Slots and flows by what people call them: `结束日期`, `the amount`; `我的年假`, `my pto`.

A flow is called what its file says: by its title, its `names` and its `verbs`. By these it is
named in between, cancelled, taken up again and asked after. `我要请假` asks for a flow, which is
more than to name it.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

from router.domain.locale import Localised
from router.entities.grammar import compiled, cuts_a_word
from router.entities.normalisation import normalise
from router.flow.definition import FlowDefinition
from router.flow.slot_types.slot import Slot
from router.lexicon import BOTH, EN, ZH, Words

_OF_SLOTS = {"reason": BOTH.reason, "amount": BOTH.amount, "category": BOTH.category}
"""What people call slots of these names, whichever flow has them."""
_OF_PARTS = {"start": BOTH.start, "end": BOTH.end}


def words_of(name: str, slot: Slot) -> list[str]:
    """The words for it in both languages, normalised: its names and label, what such are called."""
    words = [name.replace("_", " "), *slot.names, *_OF_SLOTS.get(name, ())]
    words += BOTH.date if name == "date" else ()
    words += _OF_PARTS.get(slot.part_of_range or "", ())
    if slot.label is not None:
        # What a Chinese noun is comes last: 请假类型 is a 类型.
        words += [slot.label.zh, slot.label.zh[-2:], slot.label.en]
    return [_normalised(word) for word in words]


@lru_cache(maxsize=4096)
def _normalised(word: str) -> str:
    """The word as messages are read; kept, since every message is held against every slot's."""
    return normalise(word).text


def word_in(text: str, words: list[str]) -> str | None:
    """The longest of the words that the text has as a word of its own."""
    for word in sorted(words, key=len, reverse=True):
        start = text.find(word)
        if start >= 0 and not cuts_a_word(text, start) and not cuts_a_word(text, start + len(word)):
            return word
    return None


_AROUND = compiled(
    "^[ \"'“”‘’「」《》]*(?:(?:my|the|this|that)\\b|我?的|[这那](?:个|条|份))?[ \"'“‘「《]*"
    "(?P<name>.+?)[ \"'“”‘’」》.,!。]*$"
)
_WORD = re.compile(r"[a-z]+|[\u4e00-\u9fff]+")
_ANY_KIND = compiled(f"^{BOTH.any_kind}$")
_NO_KIND = compiled(rf"^(?:{ZH.around_request}|{EN.around_request}\b|[ ,.!'_-])+$")
_SHORTEST = 4
"""Letters of a Latin name's beginning that say which is meant; of a Chinese one, two characters."""


def names_no_kind(text: str) -> bool:
    """True where a normalised text is about a request and says not of which kind: `我的申请`."""
    return _NO_KIND.search(text) is not None


@dataclass(frozen=True)
class FlowNames:
    """What people call a flow, and what they do who use it.

    >>> leave = FlowNames("leave_request", Localised(zh="请假申请", en="Leave request"), ("pto",))
    >>> [leave.is_only("my leave request"), leave.is_only("我要请假"), leave.in_text("my pto")]
    [True, False, True]
    """

    flow: str
    title: Localised
    names: Sequence[str] = ()
    verbs: Sequence[str] = ()

    @classmethod
    def of(cls, flow: FlowDefinition) -> "FlowNames":
        """As its file says."""
        return cls(flow.flow, flow.title, flow.names, flow.verbs)

    @cached_property
    def titles(self) -> list[str]:
        """What it is called for files and for people, normalised."""
        names = (self.flow, self.flow.replace("_", " "), self.title.zh, self.title.en)
        return [_normalised(name) for name in names]

    @cached_property
    def words(self) -> Words:
        """The words that say what kind of thing it is: those of its title, and its names."""
        own = [word for title in self.titles for word in _WORD.findall(title)]
        kinds = [w for w in own if w.isascii() and len(w) >= _SHORTEST and not _ANY_KIND.search(w)]
        words = [*self._telling, *kinds, *map(_normalised, self.names)]
        return Words(dict.fromkeys(words))

    @property
    def _telling(self) -> list[str]:
        """Its Chinese title less what any request may be called: `请假申请` ▸ `请假`."""
        title = _normalised(self.title.zh)
        for word in ZH.any_kind:
            title = title.replace(word, "")
        return _WORD.findall(title)

    def is_only(self, text: str) -> bool:
        """True where a normalised text is nothing but what it is called, or how that begins."""
        match = _AROUND.search(text)
        said = match.group("name") if match else ""
        if said in self.words:
            return True
        if len(said) < (_SHORTEST if said.isascii() else 2):
            return False
        return any(f" {said} " in f" {t} " if said.isascii() else said in t for t in self.titles)

    def in_text(self, text: str) -> bool:
        """True where a text has one of its words, or two neighbouring characters of its title."""
        said = f" {' '.join(_WORD.findall(text))} "
        pairs = (word[at : at + 2] for word in self._telling for at in range(len(word) - 1))
        whole = (word for word in self.han if len(word) > 1)
        if any(word in said for word in (*whole, *pairs)):
            return True
        single = [word for word in self.words if len(word) == 1]
        return any(f" {w} " in said or f" {w}s " in said for w in (*self.latin, *single))

    @cached_property
    def latin(self) -> Words:
        """Its words in Latin letters."""
        return Words(word for word in self.words if word.isascii())

    @cached_property
    def han(self) -> Words:
        """Its words in Chinese."""
        return Words(word for word in self.words if not word.isascii())
