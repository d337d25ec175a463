"""What the API needs to know of Temporal: where it is, and where its UI shows a run."""

import asyncio
from collections.abc import Sequence
from urllib.parse import quote

from temporalio.client import Client, Plugin
from temporalio.runtime import Runtime
from temporalio.service import RetryConfig

from router.domain.errors import Unavailable
from router.secrecy.codec import data_converter
from router.settings import Settings

_CLIENT_RETRIES = RetryConfig(max_elapsed_time_millis=2000)
"""The client itself retries for so long; `router.contracts.reaching.persistently` comes on top."""


async def connect(
    settings: Settings, plugins: Sequence[Plugin] = (), runtime: Runtime | None = None
) -> Client:
    """A client for the Temporal server that the settings name.

    `plugins` carry traces along, `runtime` shows Temporal's own metrics: see
    `router.dev.observed`.

    Raises:
        Unavailable: it doesn't answer.
    """
    try:
        return await Client.connect(
            settings.temporal_address,
            namespace=settings.temporal_namespace,
            data_converter=data_converter(settings.payload_keys),
            retry_config=_CLIENT_RETRIES,
            plugins=plugins,
            runtime=runtime,
        )
    except RuntimeError as error:
        raise Unavailable(
            f"No Temporal server answers at ROUTER_TEMPORAL_ADDRESS={settings.temporal_address}: "
            "start it, or correct the address"
        ) from error


class Connection:
    """A client that is made when it is first asked for, and kept.

    For those who may never need one: a command that calls one tool, say.
    """

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._connecting = asyncio.Lock()
        self._client: Client | None = None

    async def __call__(self) -> Client:
        """The client; raises `Unavailable` as `connect` does, and tries anew the next time."""
        async with self._connecting:
            if self._client is None:
                self._client = await connect(self._settings)
            return self._client


def history_url(settings: Settings, workflow_id: str, run_id: str) -> str:
    """Where the Temporal UI shows this run.

    >>> history_url(Settings(), "leave_request/default/7h2k", "r1").rpartition("/workflows/")[2]
    'leave_request%2Fdefault%2F7h2k/r1/history'
    """
    namespace, workflow, run = (
        quote(part, safe="") for part in (settings.temporal_namespace, workflow_id, run_id)
    )
    return f"{settings.temporal_ui}/namespaces/{namespace}/workflows/{workflow}/{run}/history"
