"""A message as the policies of the reader see it: with what was found in it, and what is known."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from router.domain.locale import Locale
from router.domain.principals import Capability
from router.entities.utterance import Utterance
from router.flow.definition import FlowDefinition
from router.flow.paused import PausedRun, Situation
from router.flow.slot_types.slot import Slot, slot_at
from router.flow.view import FlowView, FormView
from router.understanding import actions
from router.understanding import dialogue_acts as acts
from router.understanding.names import FlowNames
from router.understanding.skill_calls import SkillNames
from router.understanding.triggers.patterns import Match, PatternIndex, PhraseIndex


@dataclass(frozen=True)
class Known:
    """What messages are read against."""

    flows: Mapping[str, FlowDefinition] = field(default_factory=dict)
    names: Mapping[str, FlowNames] = field(default_factory=dict)
    index: PatternIndex = field(default_factory=lambda: PatternIndex(()))
    phrases: PhraseIndex = field(default_factory=PhraseIndex)
    capabilities: Sequence[Capability] = ()
    skills: SkillNames = field(default_factory=SkillNames)

    def names_of(self, run: FlowView | PausedRun) -> FlowNames:
        """What a run's flow is called: by its title alone where the flow is gone, or a form."""
        return self.names.get(run.flow) or FlowNames(run.flow, run.title)


@dataclass(frozen=True)
class ParsedMessage:
    """A message with everything that was found in it before anybody judged it."""

    known: Known
    utterance: Utterance
    situation: Situation
    matches: Sequence[Match]
    tools: Sequence[Match] = ()
    """Sentences that ask for a tool."""
    skill: str = ""
    """The skill that it is addressed to, if to one."""

    @property
    def text(self) -> str:
        """Its words, normalised."""
        return self.utterance.text

    @property
    def locale(self) -> Locale:
        """The language of its answer."""
        return self.situation.locale

    @property
    def asking(self) -> FormView | None:
        """The run that asks something, if one does."""
        return actions.asking(self.situation)

    @property
    def slot(self) -> Slot | None:
        """What it asks for."""
        view = self.asking
        return slot_at(view.fillable, view.awaiting[0]) if view and view.awaiting else None

    @cached_property
    def starting(self) -> dict[str, list[Match]]:
        """The patterns that no blocker overrules, by flow."""
        by_flow: dict[str, list[Match]] = {}
        for match in self.matches:
            if match.hit.blocked_by is None:
                by_flow.setdefault(match.hit.flow, []).append(match)
        return by_flow

    def cancels(self, view: FlowView) -> bool:
        """True where it gives up this run."""
        return acts.cancels(self.text, self.known.names_of(view)) or acts.withdraws(self.text)

    def as_typed(self, start: int, end: int) -> str:
        """A part of the normalised text, as somebody typed it."""
        return self.utterance.normalised.as_typed(start, end)

    @classmethod
    def of(
        cls, known: Known, utterance: Utterance, situation: Situation, skill: str = ""
    ) -> "ParsedMessage":
        """The utterance, with all that is found in it."""
        who = (situation.roles, situation.entitlement)
        matches = known.index.find(utterance.normalised, *who)
        tools = known.phrases.find(utterance.normalised, *who)
        return cls(known, utterance, situation, matches, tools, skill)

    @property
    def names_its_starts(self) -> bool:
        """True where the run that asks is of a flow that words start, and no tool's form."""
        flow = self.known.flows.get(self.asking.flow) if self.asking else None
        return flow is not None and bool(flow.triggers.patterns or flow.triggers.topics)

    @property
    def may_be_answer(self) -> bool:
        """True where something is asked, or it is about what a skill has just answered."""
        known = self.situation
        return bool(self.asking or known.skill or (known.answered and acts.refers(self.text)))

    def part(self, start: int, end: int) -> "ParsedMessage":
        """A part of the message, as if it were the whole."""
        return ParsedMessage.of(self.known, self.utterance.part(start, end), self.situation)
