"""Deciding what no rule could: an activity of its own, since it may take its time."""

from temporalio import activity

from router.contracts import activities
from router.deciding import without_model
from router.flow.catalog import Catalog


class Decider:
    """Decides over what the caller may use."""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog

    @activity.defn(name=activities.DECIDE.name)
    async def decide(self, given: activities.Decide) -> activities.Decided:
        """A route and its commands, for every message there is."""
        route, commands = without_model.decide(
            given.message, given.situation, self._catalog.capabilities(given.caller)
        )
        return activities.Decided(route=route, commands=commands)
