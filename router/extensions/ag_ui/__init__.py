"""The AG-UI protocol: a run is a turn, and whatever asks a person is an interrupt of the run."""

from router.extension import Extension, Routes


class AgUiEndpoint(Extension):
    """Serves `POST /ag-ui`."""

    name = "ag_ui"

    def routes(self) -> Routes:
        from router.extensions.ag_ui import routes

        return Routes([routes.router], {routes.PATH: routes.MAX_BODY})
