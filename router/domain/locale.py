"""The two languages a person may be addressed in."""

from typing import Literal

from pydantic import BaseModel

Locale = Literal["zh", "en"]
LOCALES: tuple[Locale, ...] = ("zh", "en")


class Localised(BaseModel, frozen=True, extra="forbid"):
    """One text in both languages."""

    zh: str
    en: str

    def within(self, locale: Locale) -> str:
        """The text in the language of `locale`."""
        return self.zh if locale == "zh" else self.en
