"""The OpenAI-compatible endpoint: OpenAI clients and chat UIs talk to the router as to a model."""

from router.extension import Extension, OperationLink, Routes


class OpenAIEndpoint(Extension):
    """Serves `POST /v1/chat/completions` and `GET /v1/models`."""

    name = "openai"

    def routes(self) -> Routes:
        from router.extensions.openai import routes
        from router.extensions.openai.request import Completion

        to_model = OperationLink(
            name="get_models_model",
            operation=("get", "/v1/models"),
            status=200,
            target=("get", "/v1/models/{model}"),
            parameters={"model": "$response.body#/data/0/id"},
        )
        return Routes([routes.router], {routes.PATH: None}, [Completion], [to_model])
