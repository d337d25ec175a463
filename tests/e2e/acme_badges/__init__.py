"""Badges of Acme: an extension in a distribution of its own."""

from functools import partial
from typing import TYPE_CHECKING

from router.extension import ApiPart, Extension, Routes, WorkerPart, run_in_background

if TYPE_CHECKING:
    from router.api.dependencies import AppState


class BadgeExtension(Extension):
    """Prints badges: over HTTP, by a workflow."""

    name = "badges"

    def routes(self) -> Routes:
        from .routes import router

        return Routes([router])

    def api_part(self, state: "AppState") -> ApiPart:
        from .background import note_that_it_runs

        return ApiPart(
            running=run_in_background(note_that_it_runs, state.services.settings.data / "api.txt")
        )

    def worker_part(self) -> WorkerPart:
        from .background import note_that_the_worker_runs
        from .printing import BadgePrinter
        from .workflows import Printing

        return WorkerPart(
            workflows=[Printing],
            activities={"tools": [BadgePrinter]},
            running=partial(run_in_background, note_that_the_worker_runs),
        )
