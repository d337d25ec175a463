"""Ports on loopback: taken early, so that nothing is started that would have to be stopped."""

import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

from router.domain.errors import MisconfiguredError

LOOPBACK = "127.0.0.1"
BACKLOG = 512


@dataclass(frozen=True)
class Ports:
    """Where each part listens."""

    api: int = 8000
    temporal: int = 7233
    ui: int = 8233

    @property
    def api_url(self) -> str:
        """The REST API and the chat page."""
        return f"http://{LOOPBACK}:{self.api}"

    @property
    def temporal_address(self) -> str:
        """The Temporal server, as its clients want it named."""
        return f"{LOOPBACK}:{self.temporal}"

    @property
    def ui_url(self) -> str:
        """The Temporal UI."""
        return f"http://{LOOPBACK}:{self.ui}"


@contextmanager
def opened(ports: Ports) -> Iterator[socket.socket]:
    """The API's socket, listening from now on; the other two ports are free as it is opened.

    Temporal opens its ports itself, so those can only be tried. The API's is kept: the ports
    that Temporal picks for its inner parts can't fall on it.

    Raises:
        MisconfiguredError: one of them is in use, or isn't ours to open.
    """
    with _listening(ports.api, "the API", "--port") as api:
        with ExitStack() as tried:
            tried.enter_context(_listening(ports.temporal, "Temporal", "--temporal-port"))
            tried.enter_context(_listening(ports.ui, "the Temporal UI", "--ui-port"))
        yield api


def _listening(port: int, whose: str, option: str) -> socket.socket:
    try:
        return socket.create_server((LOOPBACK, port), backlog=BACKLOG)
    except OSError as error:
        raise MisconfiguredError(
            f"port {port} for {whose} can't be opened ({_reason(error)}): "
            f"choose another with {option}"
        ) from None


def _reason(error: OSError) -> str:
    return str(error.strerror or error).partition(" (")[0].lower()
