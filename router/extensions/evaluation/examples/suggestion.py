"""Sentences for capabilities, asked of a model and checked before anybody sees them.

One question each, one after the other. Nothing is written here.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from router.domain.errors import Unavailable
from router.domain.locale import LOCALES, Locale
from router.domain.principals import Capability
from router.extensions.evaluation.examples.nearness import Neighbourhood
from router.extensions.evaluation.examples.objection import (
    ExampleRefusal,
    SaidBefore,
    objection_to_form,
    spoken_in,
)
from router.extensions.evaluation.examples.proposal import Proposal
from router.extensions.evaluation.examples.question import (
    Parameters,
    Rules,
    Suggested,
    Wanted,
    request,
    suggested,
)
from router.llm.fallback import FallbackChain
from router.llm.types import AccessRefused, ModelUnavailable, NoModelAnswered

SECONDS = 120.0
"""For one question: nobody waits at a conversation."""

RuledOut = Callable[[str, Capability], str | None]
"""Why the sentence never gets as far as being compared, or None: what rules make of it."""


@dataclass
class SpentTokens:
    """Questions that were answered, and the tokens of them."""

    calls: int = 0
    prompt: int = 0
    completion: int = 0

    def __str__(self) -> str:
        return f"{self.calls} calls, {self.prompt} + {self.completion} tokens"


@dataclass
class Suggester:
    """Asks the chain; `rules` gives the prompt in a language, `parameters` what something takes."""

    chain: FallbackChain
    neighbourhood: Neighbourhood
    rules: Callable[[Locale], Rules]
    parameters: Callable[[Capability], Parameters]
    ruled_out: RuledOut
    spent: SpentTokens = field(default_factory=SpentTokens)
    _said: SaidBefore = field(init=False)

    def __post_init__(self) -> None:
        self._said = SaidBefore.of(self.neighbourhood.capabilities)

    async def proposal(self, capability: Capability, file: Path, count: int) -> Proposal:
        """What a model suggests for it, parted into what may be taken and what is refused.

        A model that doesn't answer, or not in the form that it was asked for, is the proposal's
        trouble. Raises `NoModelAnswered` where the key is refused: so would be the next question.
        """
        wanted = Wanted.of(count)
        try:
            came = await self._asked(capability, wanted)
        except ModelUnavailable as error:
            if _is_hopeless(error):
                raise
            return Proposal(capability, file, (), trouble=str(error))
        return await self._checked(capability, file, came)

    async def _asked(self, capability: Capability, wanted: Wanted) -> Suggested:
        neighbours = await self.neighbourhood.neighbours(capability)
        language = spoken_in(capability.description.en)
        asked = request(
            capability, self.parameters(capability), neighbours, wanted, self.rules(language)
        )
        answer = (await self.chain.answer(asked, SECONDS)).answer
        self.spent.calls += 1
        self.spent.prompt += answer.usage.prompt_tokens
        self.spent.completion += answer.usage.completion_tokens
        return suggested(answer, wanted)

    async def _checked(self, capability: Capability, file: Path, came: Suggested) -> Proposal:
        taken: list[str] = []
        refused: list[ExampleRefusal] = []
        for locale in LOCALES:
            for given in came.sentences.get(locale, ()):
                sentence = given.strip(" ") if isinstance(given, str) else str(given)
                why = "it isn't text" if not isinstance(given, str) else None
                why = why or await self._objection(capability, sentence, locale)
                if why is None:
                    taken.append(sentence)
                    self._said.add(sentence, capability.name)
                else:
                    refused.append(ExampleRefusal(sentence, why))
        return Proposal(capability, file, tuple(taken), tuple(refused), came.trouble)

    async def _objection(self, capability: Capability, sentence: str, locale: Locale) -> str | None:
        return (
            objection_to_form(sentence, locale)
            or self._said.objection(sentence, capability)
            or self.ruled_out(sentence, capability)
            or await self.neighbourhood.objection(capability, sentence)
        )


def _is_hopeless(error: Unavailable) -> bool:
    failures = error.failures if isinstance(error, NoModelAnswered) else ()
    return any(isinstance(failure.error, AccessRefused) for failure in failures)
