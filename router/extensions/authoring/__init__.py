"""Flows written by people who aren't programmers: drafted, tried, reviewed and published."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from router.extension import ApiPart, Command, Extension, Routes

if TYPE_CHECKING:
    from router.api.dependencies import AppState
    from router.extensions.authoring.settings import TrialSettings
    from router.store.extension_tables import ExtensionTables

_PACKAGE = "router.extensions.authoring"
_JOBS = ("author_jobs", "flow_difference", "flow_examination")
"""The modules with functions that are run in a child process."""


class AuthoringExtension(Extension):
    """Adds the routes for authors, `flows play`, and the tables of drafts and reviews."""

    name = "authoring"

    def settings(self) -> "type[TrialSettings]":
        from router.extensions.authoring.settings import TrialSettings

        return TrialSettings

    def routes(self) -> Routes:
        from router.extensions.authoring.routes import authoring_routes

        return authoring_routes()

    def api_part(self, state: "AppState") -> ApiPart:
        from router.extensions.authoring.services import AuthoringServices, trials_ended

        state.of_extensions[self.name] = AuthoringServices.over(state.services)
        for module in _JOBS:
            state.services.isolated_work.preload(f"{_PACKAGE}.{module}")
        return ApiPart(running=trials_ended(state))

    def tables(self) -> "ExtensionTables":
        from router.extensions.authoring.tables import TABLES

        return TABLES

    def commands(self) -> Mapping[str, Command]:
        summary = "Chat with a flow file, as everybody who takes part in it."
        return {"flows play": Command(f"{_PACKAGE}.commands.play:play", summary)}
