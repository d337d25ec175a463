"""The two languages a person may be addressed in."""

from typing import Literal

from pydantic import BaseModel, ConfigDict

Locale = Literal["zh", "en"]
LOCALES: tuple[Locale, ...] = ("zh", "en")


class Localised(BaseModel):
    """One text in both languages."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    zh: str
    en: str

    def within(self, locale: Locale) -> str:
        """The text in the language of `locale`."""
        return self.zh if locale == "zh" else self.en
