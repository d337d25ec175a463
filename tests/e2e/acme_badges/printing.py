"""The printer of badges."""

from prometheus_client import Counter
from temporalio import activity

from router.extension import WorkerServices

PRINTED = Counter("badges_printed", "Badges printed.", ("site",))


class BadgePrinter:
    """Activities that print badges."""

    def __init__(self, services: WorkerServices) -> None:
        self._site = services.settings.temporal_namespace

    @activity.defn(name="badges.print_badge")
    async def print_badge(self, number: str) -> str:
        """Print a badge, and say where."""
        PRINTED.labels(self._site).inc()
        return f"{number} printed at {self._site}"
