"""The settings of chat platforms."""

from typing import ClassVar, Self

from pydantic import model_validator

from router.settings import Section


class PlatformSettings(Section):
    """What a platform needs to be an entrance: all of `NEEDED`, or none of it."""

    NEEDED: ClassVar[tuple[str, ...]]

    @property
    def is_complete(self) -> bool:
        """True where the platform is an entrance."""
        return all(getattr(self, name) for name in self.NEEDED)

    @model_validator(mode="after")
    def _whole_or_not_at_all(self) -> Self:
        """Half a configuration would be a request that nobody can check."""
        missing = [name for name in self.NEEDED if not getattr(self, name)]
        if missing and len(missing) < len(self.NEEDED):
            raise ValueError(
                f"{self.prefix()}{missing[0].upper()} isn't set and the platform's other "
                "variables are: set all of them, or none"
            )
        return self
