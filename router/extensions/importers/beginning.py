"""A draft with its open questions, and how one is written down.

Whatever checks would refuse in the text is an open question too, so that nothing is wrong with a
beginning that its author isn't told of.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from router.domain.errors import DefinitionError, InvalidInput, Problem
from router.domain.locale import Localised
from router.domain.visible_text import one_line
from router.flow.loader import LARGEST, Vocabulary, examine_text
from router.flow.validation.phrases import said_in
from router.formats.yaml_document import Place
from router.formats.yaml_style import entry

LONGEST_NAME = 48
"""Characters of a name that is made of a label: room is left for a number behind it."""
LONGEST_TEXT = 300
"""Characters of a label or text that is taken over."""
MOST_SAID = 200
"""Questions, and things without a place, that are told; of more there is how many."""


class OpenQuestion(NamedTuple):
    """What the author has to decide, and where in the draft that stands."""

    what: Localised
    place: Place = ()


class Unmapped(NamedTuple):
    """What had no place in a flow, and which part of the source it is."""

    what: Localised
    where: str


@dataclass(frozen=True)
class Beginning:
    """A draft, whole: its text loads, but for what a question tells of."""

    flow: str
    text: str
    questions: tuple[OpenQuestion, ...]
    unmapped: tuple[Unmapped, ...]


@dataclass
class FlowSketch:
    """What is known of a flow while it is being put together."""

    title: str
    description: str = ""
    title_en: str = ""
    """The title in English, where the source has one besides; so for the description."""
    description_en: str = ""
    name: str = ""
    """What its name is made of; empty: its title."""
    is_translated: bool = False
    """True where all texts are there in both languages."""
    slots: dict[str, dict[str, Any]] = field(default_factory=dict)
    start: str = ""
    states: dict[str, dict[str, Any]] = field(default_factory=dict)
    questions: list[OpenQuestion] = field(default_factory=list)
    unmapped: list[Unmapped] = field(default_factory=list)

    def ask(self, zh: str, en: str, *place: str | int) -> None:
        """Leave something to the author."""
        self.questions.append(OpenQuestion(Localised(zh=zh, en=en), place))

    def leave_out(self, where: str, zh: str, en: str) -> None:
        """Name something that has no place in a flow."""
        self.unmapped.append(Unmapped(Localised(zh=zh, en=en), where))


def both(text: str, en: str = "") -> dict[str, str]:
    """A text in both languages; where there is one alone, whoever publishes it translates it.

    >>> both("{{ secrets }}"), both("金额", "amount")
    ({'zh': '{ { secrets }}', 'en': '{ { secrets }}'}, {'zh': '金额', 'en': 'amount'})
    """
    return {"zh": _inert(text or en), "en": _inert(en or text)}


def _inert(text: str) -> str:
    plain = one_line(text, LONGEST_TEXT)
    # What stands in braces would be filled in.
    return re.sub(r"\{(?=[{%#])", "{ ", plain)


_WORDS = re.compile(r"[A-Za-z][A-Za-z0-9]*|[0-9]+")
_SLOT = re.compile(r"[a-z][a-z0-9_]{0,47}")
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


def name_of(label: str, known: Iterable[str] = (), otherwise: str = "") -> str:
    """A name for the label, such as no other has; made of `otherwise` where it has no words.

    >>> name_of("Approve the invoice!"), name_of("审批", otherwise="approve"), name_of("a", ["a"])
    ('approve_the_invoice', 'approve', 'a_2')
    """
    words = "_".join(_WORDS.findall(_CAMEL.sub("_", label))).lower()
    plain = words[:LONGEST_NAME].strip("_")
    if not plain or not plain[0].isalpha() or _mostly_unsaid(label, plain):
        plain = otherwise or f"n_{plain}".strip("_")
    taken, name, number = set(known), plain, 1
    while name in taken:
        number += 1
        name = f"{plain}_{number}"
    return name


def _mostly_unsaid(label: str, name: str) -> bool:
    """True where most of the label is in letters that no name has: 提交 OA 审批 isn't `oa`."""
    strange = sum(1 for char in label if char.isalpha() and not char.isascii())
    return strange > len(name) / 2


UNTRANSLATED = OpenQuestion(
    Localised(
        zh="原件只有一种语言，标题和文字在中英文里是一样的：请补上另一种语言。",
        en="The source speaks one language, so titles and texts are the same in both: "
        "translate them.",
    ),
    ("title",),
)
UNASKED = OpenQuestion(
    Localised(
        zh="人们会怎样说起这件事？请在 triggers 里写上他们的话。",
        en="What do people say who want this? Write their words under triggers.",
    ),
    ("triggers",),
)


@dataclass(frozen=True)
class BeginningContext:
    """What a beginning stands among."""

    known: Vocabulary = field(default_factory=Vocabulary)
    """What its states may name."""
    taken: frozenset[str] = frozenset()
    """The names of flows that there are already."""
    roles: frozenset[str] = frozenset()
    """Those that somebody holds."""


def written(sketch: FlowSketch, around: BeginningContext) -> Beginning:
    """The sketch as a flow file; what checks refuse of it becomes a question.

    Raises:
        InvalidInput: the file would be larger than one may be.
    """
    flow = name_of(sketch.name or sketch.title, around.taken, name_of("new_flow", around.taken))
    title = both(sketch.title or flow, sketch.title_en)
    about = both(sketch.description or title["zh"], sketch.description_en or title["en"])
    head: dict[str, Any] = {
        "flow": flow,
        "version": 1,
        "title": title,
        "description": about,
        "triggers": {"examples": list(dict.fromkeys(title.values()))},
    }
    text = "".join(f"{entry(key, value, 0)}\n" for key, value in head.items())
    for key, value in (("slots", sketch.slots), ("start", sketch.start), ("states", sketch.states)):
        between = "" if key == "states" else "\n"
        text += f"{between}{entry(key, value, 0)}\n" if value else ""
    if len(text.encode()) > LARGEST:
        zh = "写成流程后太大了：请把它分成几个流程。"
        en = "As a flow it is too large: split the process in several."
        raise InvalidInput(Localised(zh=zh, en=en))
    asked = [UNASKED, *sketch.questions]
    if not sketch.is_translated:
        asked.insert(0, UNTRANSLATED)
    asked += _unexplained(asked, _problems(flow, text, around.known))
    return Beginning(flow, text, _bounded_questions(asked), _bounded_parts(sketch.unmapped))


def _problems(flow: str, text: str, known: Vocabulary) -> Sequence[Problem]:
    try:
        return examine_text(Path(f"{flow}.yaml"), text, known).problems
    except DefinitionError as error:
        return error.problems


def _unexplained(
    asked: Iterable[OpenQuestion], problems: Iterable[Problem]
) -> Iterable[OpenQuestion]:
    places = [each.place for each in asked if each.place]
    for problem in problems:
        if not any(problem.place[: len(place)] == place for place in places):
            what, remedy = problem.what, problem.remedy
            zh = f"{said_in('zh', what)}：{said_in('zh', remedy)}。"
            en = f"{what}: {remedy}."
            yield OpenQuestion(Localised(zh=zh, en=en), problem.place)


def _bounded_questions(asked: Sequence[OpenQuestion]) -> tuple[OpenQuestion, ...]:
    unique = tuple(dict.fromkeys(asked))
    more = len(unique) - MOST_SAID
    if more <= 0:
        return unique
    zh, en = f"还有 {more} 个问题没有列出。", f"There are {more} questions more."
    return (*unique[:MOST_SAID], OpenQuestion(Localised(zh=zh, en=en)))


def _bounded_parts(parts: Sequence[Unmapped]) -> tuple[Unmapped, ...]:
    unique = tuple(dict.fromkeys(parts))
    more = len(unique) - MOST_SAID
    if more <= 0:
        return unique
    zh, en = f"还有 {more} 处没有对应。", f"{more} parts more have no place."
    return (*unique[:MOST_SAID], Unmapped(Localised(zh=zh, en=en), ""))


def slot_name(identity: str) -> str:
    """The name of a field as a slot: as it is, where a slot may be called so.

    >>> slot_name("amount"), slot_name("netIncome"), slot_name("金额")
    ('amount', 'net_income', 'field')
    """
    if _SLOT.fullmatch(identity):
        return identity
    return name_of(identity, otherwise="field")


MOST_CHOICES = 200


def choices_of(labels: Mapping[str, str]) -> dict[str, Any]:
    """Choices of a slot by their values, called so."""
    some = list(labels.items())[:MOST_CHOICES]
    return {value: {"label": both(label or value)} for value, label in some}
