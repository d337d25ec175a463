"""Ports for the servers that tests start."""

import secrets
import socket


def free_ports(count: int) -> list[int]:
    """Return ports of loopback that nobody listens on.

    They are below the range from which the system gives ports to connections, and drawn at random:
    neither a connection nor another process of the run takes one before its server does.
    """
    free: list[int] = []
    while len(free) < count:
        port = secrets.choice(range(15_000, 32_000))
        if port not in free and _is_free(port):
            free.append(port)
    return free


def free_port_before_another() -> int:
    """Return such a port of which the next one is such a port, too."""
    while True:
        (first,) = free_ports(1)
        if _is_free(first + 1):
            return first


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True
