"""The two languages a person may be addressed in."""

from typing import Literal

from router.domain.value import Value

Locale = Literal["zh", "en"]
LOCALES: tuple[Locale, ...] = ("zh", "en")


class Localised(Value, extra="forbid"):
    """One text in both languages."""

    zh: str
    en: str

    def within(self, locale: Locale) -> str:
        """The text in the language of `locale`."""
        return self.zh if locale == "zh" else self.en
