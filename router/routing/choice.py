"""What a model chose, held against what is near to the message, and why that, in a sentence.

A small model calls something where nothing fits, and retrieval seldom has the right one behind the
third place: a choice from beyond, or where nothing is near, is put to the person, as buttons.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from router.domain.commands import (
    CallTool,
    Clarify,
    Command,
    FillSlots,
    HandOff,
    ReplyText,
    RunSkill,
    StartFlow,
)
from router.domain.locale import Locale, Localised
from router.domain.messages import Option
from router.domain.principals import Capability
from router.retrieval.selection import RetrievedCandidate, Selection, Thresholds

NEAREST = 3
"""Buttons of what is nearest."""
OF_FLOWS = 2
"""So many times as near as what is only looked up a flow has to be: whoever is asked the questions
of a wrong one has lost more than by one question."""
OF_SILENCE = 0.9
"""So near something has to be for giving up to be doubted. On development rows 1 of 12 requests
that nobody here deals with is, and of those that something is there for 174 of 209; of rows that
were held out 2 of 6, and 124 of 154. A model that gives up is mostly right, so the few count."""
MEANT = Localised(
    zh="我不太确定你要办哪一件，选一个就行：",
    en="I'm not sure which of these you mean. Just choose one:",
)


def chosen(command: Command, active: str | None) -> str | None:
    """The capability that the command is for; None for words, and for the flow that asks."""
    match command:
        case StartFlow(flow=name) if name != active:
            return name
        case CallTool(tool=name) | RunSkill(skill=name):
            return name
    return None


@dataclass(frozen=True)
class Nearness:
    """What was found near a message: by its words, and by those that it was searched with besides.

    `parts` is what was found near each of its clauses, where it may wish for several things.
    `answering` is the flow that asks, where the message is a question: that may fill nothing.
    `in_play` are the capabilities that what is being talked about came from: they are near to
    whoever refers to it; `looked_up` are those that may be called though they aren't near, for what
    was found before says so: none of them begins as a form. Of the `unindexed` nearness says
    nothing: they came with the message. `wishes` are as many as the model took the message for. It
    asks for none of `unwanted`, however near they are: who takes something back begins nothing. Nor
    does one that `asks` how, what or who begin a flow, where it says no more.
    """

    found: Sequence[Selection]
    parts: Sequence[Selection] = ()
    in_play: frozenset[str] = frozenset()
    looked_up: frozenset[str] = frozenset()
    unindexed: frozenset[str] = frozenset()
    wishes: int = 1
    unwanted: frozenset[str] = frozenset()
    answering: str | None = None
    asks: bool = False
    locale: Locale = "en"

    @property
    def candidates(self) -> Sequence[RetrievedCandidate]:
        """Those that the message's own words found, nearest first."""
        return self.found[0].candidates

    @property
    def thresholds(self) -> Thresholds:
        """Where what is near ends."""
        return self.found[0].thresholds

    def score(self, name: str) -> float | None:
        """How near it is, 0 to 1; None where it isn't among what was found."""
        every = (*self.found, *self.parts)
        found = (c.score for one in every for c in one.candidates if c.name == name)
        return max(found, default=None)

    def doubts(self, name: str, *, starts: bool = False) -> bool:
        """True where this isn't among the nearest, or nothing at all is near.

        What `starts` a flow, or a form, has to be the nearest: a model that takes a question for a
        request chooses one that stands behind what answers it. Not where something is taken back:
        what is nearest then is what can't be meant.

        Never where words alone were searched: too many right ones share none with the message.
        """
        if name in self.unindexed:
            return False
        if name in self.unwanted or (starts and self._only_asks(name)):
            return True
        if name in self.in_play or self.found[0].notes or (name in self.looked_up and not starts):
            return False
        first = starts and not self.unwanted
        places = 1 if first else self.thresholds.places
        least = self.thresholds.choice * (OF_FLOWS if starts else 1)
        near = {c.name for one in self.found for c in one.candidates[: places * self.wishes]}
        near |= {c.name for one in self.parts for c in one.candidates[:places]}
        return name not in near or (self.score(name) or 0.0) < least

    def _only_asks(self, name: str) -> bool:
        """True where the message is a question alone, and this is a flow and no tool's form."""
        kinds = {c.name: c.kind for one in self.found for c in one.candidates}
        return self.asks and self.wishes == 1 and kinds.get(name) == "flow"

    def contradicts(self, command: Command) -> bool:
        """True where it only talks though it is clear enough that more is wanted, or gives up.

        Words that say nothing wrong do no harm: for them something has to be near indeed. So it
        has for a question to be none that the flow which asks is to have as its answer.
        """
        if isinstance(command, FillSlots):
            near = self.found[0].is_probable and self.answering is not None
            return near and self.candidates[0].name != self.answering
        if isinstance(command, HandOff) and self.candidates:
            return self.candidates[0].score >= OF_SILENCE
        talks = isinstance(command, ReplyText) and not (self.in_play or self.looked_up)
        return talks and self.found[0].is_probable

    def question(self, doubted: Sequence[str], among: Sequence[Capability]) -> Clarify:
        """The question which is meant: the nearest, and what the model chose, as buttons."""
        named = [*(c.name for c in self.candidates[:NEAREST]), *doubted]
        names = named or [one.name for one in among[:NEAREST]]
        titles = {one.name: one.title.within(self.locale) for one in among}
        usable = (name for name in dict.fromkeys(names) if name in titles)
        options = [Option(label=titles[name] or name, value=name) for name in usable]
        return Clarify(text=MEANT.within(self.locale), options=options)

    def confidence(self, name: str | None) -> float | None:
        """How often such a choice was right where that was measured; None where it wasn't."""
        score = self.score(name) if name else None
        return None if score is None else self.thresholds.confidence(score)


_WHY: dict[str, Localised] = {
    "first": Localised(
        zh="“{title}”离这句话最近{like}，其次是“{other}”；{model} 选了它",
        en="“{title}” is nearest to what was said{like}, before “{other}”; {model} chose it",
    ),
    "alone": Localised(
        zh="这里只有“{title}”和这句话有关{like}；{model} 选了它",
        en="Only “{title}” is near what was said{like}; {model} chose it",
    ),
    "behind": Localised(
        zh="{model} 选了“{title}”{like}，而不是更近的“{other}”",
        en="{model} chose “{title}”{like} rather than “{other}”, which is nearer",
    ),
    "far": Localised(
        zh="{model} 选了“{title}”，而它不在最近的几项里，最近的是“{other}”",
        en="{model} chose “{title}”, which isn't among the nearest; the nearest is “{other}”",
    ),
    "words": Localised(
        zh="{model} 认为这句话不用办什么，最近的是“{other}”",
        en="{model} took it for nothing to be done; “{other}” would be the nearest",
    ),
    "answer": Localised(
        zh="{model} 把这句话看作对正在问的事的回答",
        en="{model} took it for an answer to what is being asked",
    ),
    "amendment": Localised(
        zh="{model} 认为这句话要改一件在等审批的事",
        en="{model} took it for a change of what waits for approval",
    ),
    "nothing": Localised(
        zh="{model} 这样决定，这里没有与这句话相近的",
        en="{model} decided so, and nothing here is near what was said",
    ),
}
_LIKE = Localised(zh="（有人说过“{}”）", en=" (others said “{}”)")
_ASKED = Localised(zh="，所以先问一下", en=", so it is asked about")
_BY = Localised(zh="（提示词 {}）", en=" (asked by {})")


@dataclass(frozen=True)
class ChoiceExplanation:
    """Which model chose, with which prompt, and what it could have chosen."""

    model: str
    prompt: str
    near: Nearness

    @property
    def of_answer(self) -> str:
        """Why it goes to the flow that asks."""
        said = _WHY["answer"].within(self.near.locale).format(model=self.model)
        return f"{said}{_BY.within(self.near.locale).format(self.prompt)}"

    @property
    def of_amendment(self) -> str:
        """Why it changes what waits for approval."""
        said = _WHY["amendment"].within(self.near.locale).format(model=self.model)
        return f"{said}{_BY.within(self.near.locale).format(self.prompt)}"

    def of(self, name: str | None, *, doubted: bool = False) -> str:
        """Why this and not the runner-up, in a sentence; `doubted` where it is asked about."""
        ranked = list(self.near.candidates)
        own = next((one for one in ranked if one.name == name), None)
        other = next((one for one in ranked if one.name != name), None)
        words = {
            "model": self.model,
            "title": self._title(own) if own else name or "",
            "other": self._title(other) if other else "",
            "like": self._like(own.example) if own and own.example else "",
        }
        said = _WHY[self._case(name, own, ranked)].within(self.near.locale).format(**words)
        asked = _ASKED.within(self.near.locale) if doubted else ""
        return f"{said}{asked}{_BY.within(self.near.locale).format(self.prompt)}"

    def _case(
        self,
        name: str | None,
        own: RetrievedCandidate | None,
        ranked: Sequence[RetrievedCandidate],
    ) -> str:
        if not ranked:
            return "nothing"
        if name is None:
            return "words"
        if own is None or own not in ranked[: self.near.thresholds.places]:
            return "far"
        if own is not ranked[0]:
            return "behind"
        return "first" if len(ranked) > 1 else "alone"

    def _like(self, example: str) -> str:
        return _LIKE.within(self.near.locale).format(example)

    def _title(self, one: RetrievedCandidate) -> str:
        return one.capability.title.within(self.near.locale) or one.name
