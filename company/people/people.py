"""The people system: a small real one, for a company to replace with its own.

Whatever takes its place offers `leave`, `adjustments`, `claims`, `trips` and `stock` with the
methods of the books here; the tools and the lookup `claimed` use nothing else.
"""

from collections.abc import AsyncIterator
from functools import partial
from typing import Annotated

from activities import provided
from company.people.claims import ClaimBook
from company.people.leave import AdjustmentBook, LeaveBook
from company.people.stock import StockBook
from company.people.tables import PEOPLE
from company.people.trips import TripBook
from router.domain.principals import FLOW_ROLE
from router.store.database import Database
from router.tool.context import Depends, provider
from router.tool.tool import tool


class PeopleSystem:
    """Leave, claims, trips and equipment of everyone; `migrate` before first use."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self.leave = LeaveBook(database)
        self.adjustments = AdjustmentBook(database)
        self.claims = ClaimBook(database)
        self.trips = TripBook(database)
        self.stock = StockBook(database)

    async def migrate(self) -> None:
        """Bring the tables up to date; raises as `Database.migrate` does."""
        await self._database.migrate(PEOPLE)


@provider()
async def human_resources(
    database: Annotated[Database, Depends(provided.database)],
) -> AsyncIterator[PeopleSystem]:
    """The people system, migrated: `Annotated[PeopleSystem, Depends(human_resources)]`."""
    people = PeopleSystem(database)
    await people.migrate()
    yield people


HumanResources = Annotated[PeopleSystem, Depends(human_resources)]
"""The people system, as tools ask for it."""

of_flows = partial(tool, permission="write", roles=[FLOW_ROLE], retries=None)
"""Declares a write that only flows may call. It is tried until it works: a system that is down for
a night changes nothing about what was agreed."""
approved = partial(of_flows, approval=True)
"""Declares a write that a run may call only after people have approved what the run holds."""
