"""What rules say against a sentence, before anybody sees it: its form, language, repetitions.

A sentence that is accepted is shown to models later on, as what was once said: it is somebody's
words and may become no instruction.
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from router.domain.locale import LOCALES, Locale
from router.domain.principals import Capability
from router.domain.visible_text import inline, legible
from router.entities.language import language_of
from router.entities.normalisation import normalise

LONGEST = 200
"""Characters: nobody says more to mean one thing."""
LANGUAGES = {"zh": "Chinese", "en": "English"}
_SHOWN = 60
_HAN = re.compile(r"[\u4e00-\u9fff]")
_LATIN = re.compile(r"[A-Za-z]{2}")
_OVERRIDE = re.compile(
    r"\b(?:ignore|disregard|forget|override)\b|忽略|无视|忘掉|不要理会", re.IGNORECASE
)
_RULES = re.compile(
    r"\b(?:instructions?|prompts?|rules)\b|指令|指示|规则|提示词|以上|上面|之前的", re.IGNORECASE
)
_ADDRESS = re.compile(
    r"\bsystem prompt\b|\byou are (?:now )?an? (?:ai|assistant|language model|chatbot)\b"
    r"|系统提示|你现在是一[个名]",
    re.IGNORECASE,
)
_MARKUP = re.compile(r"<[/a-z_|!]|```|\{\{|\{%|https?://", re.IGNORECASE)


@dataclass(frozen=True)
class ExampleRefusal:
    """A sentence that isn't taken, and why."""

    sentence: str
    why: str

    @property
    def shown(self) -> str:
        """The beginning of the sentence, on one line and with nothing that can't be seen."""
        text = inline(self.sentence[: LONGEST + 1])
        return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 1]}…"


def core(text: str) -> str:
    """What two sentences share that say the same word for word: letters and figures alone.

    >>> core("I'd like  TWO days off!") == core("i'd like two days off")
    True
    """
    return "".join(filter(str.isalnum, normalise(text).text))


def spoken_in(sentence: str) -> Locale:
    """The language that a sentence counts as: Chinese where it has any, unless it's English."""
    has_chinese = _HAN.search(sentence) and language_of(sentence) != "en"
    return "zh" if has_chinese else "en"


@dataclass
class SaidBefore:
    """Every sentence there is, by its core, and what it means: no other may say the same."""

    _owners: dict[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, capabilities: Iterable[Capability]) -> "SaidBefore":
        """Those of these capabilities."""
        said = cls()
        for one in capabilities:
            for sentence in one.examples:
                said.add(sentence, one.name)
        return said

    def add(self, sentence: str, owner: str) -> None:
        """Note one more; who said it first keeps it."""
        self._owners.setdefault(core(sentence), owner)

    def objection(self, sentence: str, capability: Capability) -> str | None:
        """Why the sentence says nothing new; None where it does."""
        said = core(sentence)
        if said in {core(capability.title.within(locale)) for locale in LOCALES}:
            return "it only repeats the title"
        owner = self._owners.get(said)
        return None if owner is None else f"{owner} has that example already"


def objection_to_form(sentence: str, locale: Locale | None = None) -> str | None:
    """Why the text can't be an example, in that language where one is given; None where it can."""
    return next(_objections(sentence, locale), None)


def _objections(sentence: str, locale: Locale | None) -> Iterator[str]:
    """The cheap ones first: no more than the first is asked for."""
    if not sentence.strip():
        yield "it is empty"
    if len(sentence) > LONGEST:
        yield f"it has {len(sentence)} characters, and {LONGEST} are the most"
    unseen = next((sign for sign in sentence if unicodedata.category(sign) in {"Cc", "Cs"}), None)
    if unseen is not None:
        yield f"it has the control character U+{ord(unseen):04X}"
    if legible(sentence) != sentence:
        yield "it has characters that can't be seen"
    if not core(sentence):
        yield "it has no word"
    if _is_instruction(sentence):
        yield "it reads like an instruction or markup, not like what a person asks for"
    if locale is not None and not _is_in(sentence, locale):
        yield f"it isn't in {LANGUAGES[locale]}"


def _is_instruction(sentence: str) -> bool:
    """Whether it speaks to a model, or is more than words, as no person does here."""
    overrides = _OVERRIDE.search(sentence) and _RULES.search(sentence)
    return bool(overrides or _ADDRESS.search(sentence) or _MARKUP.search(sentence))


def _is_in(sentence: str, locale: Locale) -> bool:
    if spoken_in(sentence) != locale:
        return False
    return locale == "zh" or _LATIN.search(sentence) is not None
