"""What an argument may be, where whoever called left open which: for people to choose from."""

from pydantic import BaseModel, ConfigDict

from router.domain.texts import Localised


class Offer(BaseModel):
    """One value, how it is called on its button, and other words that mean it.

    A day among the `synonyms`, written `2026-12-21`, is meant by whatever names that day.
    """

    model_config = ConfigDict(frozen=True)

    value: str
    label: Localised
    synonyms: tuple[str, ...] = ()


class Offered(BaseModel):
    """The values that an `argument` may have, and the question that they answer."""

    model_config = ConfigDict(frozen=True)

    argument: str
    ask: Localised
    offers: tuple[Offer, ...]
