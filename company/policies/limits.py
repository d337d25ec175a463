"""What may be claimed at most: by what it is for, where, and by whose grade. Read from a file."""

from collections.abc import AsyncIterator, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import Field, ValidationError, model_validator

from activities import provided
from company.policies.book import SHIPPED
from router.domain.errors import MisconfiguredError
from router.domain.locale import Localised
from router.domain.value import Value
from router.formats.yaml_document import Unreadable, read_text, read_yaml
from router.settings import Settings
from router.tool.context import Depends, provider

FILE = "limits.yaml"
LARGEST = 256 * 1024

Category = Literal[
    "hotel", "trip_meals", "overtime_meal", "client_meal", "phone", "office_supplies"
]
Grade = Literal["staff", "director"]


class _Closed(Value, extra="forbid"):
    """A part of the file; a key that nobody knows is a slip."""


class LimitPlace(_Closed):
    """Where limits may hold: in these cities, or wherever no other place names the city."""

    label: Localised
    cities: tuple[str, ...] = ()
    within: str | None = None
    """The place around it, whose limits hold where it has none of its own."""


class Limit(_Closed):
    """One amount, and the section of a policy that says so."""

    category: Category
    amount: Annotated[Decimal, Field(gt=0, max_digits=12, decimal_places=2)]
    per: Literal["night", "day", "month", "person", "item"]
    policy: str
    heading: Localised
    place: str | None = None
    grades: tuple[Grade, ...] = ()

    def is_for(self, category: Category | None, grade: Grade | None) -> bool:
        """True where it is for both; None is any."""
        by_grade = not self.grades or grade is None or grade in self.grades
        return by_grade and category in (None, self.category)


class ExpenseLimits(_Closed):
    """All limits of a file."""

    currency: Annotated[str, Field(pattern="^[A-Z]{3}$")] = "CNY"
    places: dict[str, LimitPlace] = {}
    limits: tuple[Limit, ...] = ()

    @classmethod
    def load(cls, folder: Path | None = None) -> Self:
        """Those of `limits.yaml` in the policies' folder, if any; raises `MisconfiguredError`."""
        file = (folder or SHIPPED) / FILE
        if not file.exists():
            return cls()
        try:
            document = read_yaml(read_text(file, LARGEST, "take limits out of it"))
        except Unreadable as error:
            raise MisconfiguredError(f"{file}:{error.line}: {error}") from None
        try:
            return cls.model_validate(document.data)
        except ValidationError as error:
            told = "\n".join(
                f"{file}:{document.line(fault['loc'])}: {_named(fault['loc'])}{fault['msg']}"
                for fault in error.errors()
            )
            raise MisconfiguredError(told) from None

    def holding(
        self, category: Category | None, city: str | None, grade: Grade | None
    ) -> list[Limit]:
        """The limits that hold; None is any. Of an unlisted city, all that it may have."""
        found = [limit for limit in self.limits if limit.is_for(category, grade)]
        if city is None or not city.strip():
            return found
        return [limit for limit in found if limit.place in self._places_of(limit, city, found)]

    def names(self, city: str) -> bool:
        """True where a place names the city."""
        return self._named(city) is not None

    def _places_of(self, limit: Limit, city: str, among: Sequence[Limit]) -> tuple[str | None, ...]:
        around = self._named(city)
        if around is None:
            return (None, *(name for name, place in self.places.items() if not place.cities))
        with_own = {other.place for other in among if other.category == limit.category}
        seen: set[str | None] = set()
        while around is not None and around not in with_own and around not in seen:
            seen.add(around)
            around = self.places[around].within
        return (None, None if around in seen else around)

    def _named(self, city: str) -> str | None:
        wanted = city.strip().casefold().removesuffix("市")
        for name, place in self.places.items():
            if wanted in (known.casefold() for known in place.cities):
                return name
        return None

    @model_validator(mode="after")
    def _names_places(self) -> Self:
        named = {limit.place for limit in self.limits} | {p.within for p in self.places.values()}
        if strangers := sorted(named - {None, *self.places}, key=str):
            raise ValueError(f"{', '.join(map(str, strangers))}: there is no such place; add it")
        return self


@provider()
async def expense_limits(
    settings: Annotated[Settings, Depends(provided.settings)],
) -> AsyncIterator[ExpenseLimits]:
    """The limits of the settings' folder of policies; what tools name them by."""
    yield ExpenseLimits.load(settings.policies)


def _named(place: tuple[int | str, ...]) -> str:
    return f"{'.'.join(map(str, place))}: " if place else ""
