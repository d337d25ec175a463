"""The routes for authors, a module a noun."""

from router.extension import Routes
from router.extensions.authoring.routes import (
    bpmn,
    drafts,
    gallery,
    publications,
    restoration,
    reviews,
    trials,
)


def authoring_routes() -> Routes:
    """Return the routes of all modules, with the limits of their bodies."""
    modules = (bpmn, drafts, gallery, publications, restoration, reviews, trials)
    return Routes([each.router for each in modules], {**drafts.BODIES, **trials.BODIES})
