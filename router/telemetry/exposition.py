"""`/metrics` on a port of its own, which the API's callers never reach."""

from collections.abc import Iterator
from contextlib import contextmanager

from router.domain.errors import MisconfiguredError


@contextmanager
def exposed(host: str, port: int) -> Iterator[str]:
    """Serve this process's metrics; gives the address. Port 0 is any that is free.

    Raises:
        MisconfiguredError: the port can't be opened.
    """
    from prometheus_client import start_http_server

    try:
        server, thread = start_http_server(port, host)
    except OSError as error:
        raise MisconfiguredError(
            f"ROUTER_METRICS_PORT={port} can't be opened on {host} ({error.strerror}): "
            "choose another, or 0 for any that is free"
        ) from None
    try:
        yield f"http://{host}:{server.server_port}/metrics"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
