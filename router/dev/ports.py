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


def listening(host: str, port: int) -> socket.socket:
    """A socket for an HTTP server, listening from now on, that sends what it has at once.

    asyncio switches Nagle's algorithm off for sockets that name their protocol only, and one
    of `create_server` doesn't: the last piece of an answer would wait up to 40 ms, until the
    client acknowledges the first. Connections inherit it.

    Raises:
        OSError: the port is in use, or isn't ours to open.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    opened = socket.create_server((host, port), family=family, backlog=BACKLOG)
    opened.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return opened


@contextmanager
def opened(ports: Ports) -> Iterator[socket.socket]:
    """The API's socket, listening from now on; the other two ports are free as it is opened.

    Temporal opens its ports itself, so those can only be tried. The API's is kept: the ports
    that Temporal picks for its inner parts can't fall on it.

    Raises:
        MisconfiguredError: one of them is in use, or isn't ours to open.
    """
    with _opened(ports.api, "the API", "--port") as api:
        with ExitStack() as tried:
            tried.enter_context(_opened(ports.temporal, "Temporal", "--temporal-port"))
            tried.enter_context(_opened(ports.ui, "the Temporal UI", "--ui-port"))
        yield api


def _opened(port: int, whose: str, option: str) -> socket.socket:
    try:
        return listening(LOOPBACK, port)
    except OSError as error:
        raise MisconfiguredError(
            f"port {port} for {whose} can't be opened ({_reason(error)}): "
            f"choose another with {option}"
        ) from None


def _reason(error: OSError) -> str:
    return str(error.strerror or error).partition(" (")[0].lower()
