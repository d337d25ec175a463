"""The ladders of one house: the usual one, and those that a stronger model leads."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from router.llm.ladder import Ladder

if TYPE_CHECKING:  # a house without a model starts without its library
    from router.llm.model import ChatModel


class Ladders:
    """Ladders over the same servers, made once and kept.

    `models` are the usual one and its fallbacks. `make` gives a model of another name at the
    first server; `for_skills` is the name of the one that skills are led by.
    """

    def __init__(
        self,
        models: "Sequence[ChatModel]" = (),
        make: "Callable[[str], ChatModel] | None" = None,
        for_skills: str | None = None,
    ) -> None:
        self.usual = Ladder(models) if models else None
        self._models = list(models)
        self._make = make
        self._for_skills = for_skills
        self._led: dict[str, Ladder] = {}

    def for_skill(self, model: str | None) -> Ladder | None:
        """The ladder of a skill that wants this model, or has no wish; None without any model."""
        name = model or self._for_skills
        if self.usual is None or self._make is None or name is None:
            return self.usual
        if name not in self._led:
            leader = self._make(name)
            self._models.append(leader)
            self._led[name] = self.usual.below(leader)
        return self._led[name]

    @property
    def states(self) -> dict[str, str]:
        """How the circuit breaker of each model stands, by the model's name for people."""
        ladders = [*self._led.values(), *([self.usual] if self.usual else [])]
        return {name: state for ladder in ladders for name, state in ladder.states.items()}

    async def aclose(self) -> None:
        """Give all sockets back."""
        for model in self._models:
            await model.aclose()
