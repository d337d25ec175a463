"""Checks of this machine: programs, ports, the data folder."""

import os
import socket
import sys
from pathlib import Path

import httpx

from router.dev import temporal_server
from router.dev.ports import LOOPBACK, Ports
from router.domain.errors import MisconfiguredError
from router.settings import Settings

SECONDS = 3.0
OLDEST, NEWEST = (3, 11), (3, 13)


async def python(_settings: Settings) -> str:
    """The interpreter is one that this project is tested with."""
    version = ".".join(map(str, sys.version_info[:3]))
    if not OLDEST <= sys.version_info[:2] <= NEWEST:
        raise MisconfiguredError(f"{version} isn't supported: use Python 3.11 to 3.13")
    return version


async def temporal_binary(_settings: Settings) -> str:
    """The Temporal server that `dev` starts is installed."""
    return str(temporal_server.binary())


async def data_folder(settings: Settings) -> str:
    """The data folder can be written, or made."""
    there = next(path for path in _upwards(settings.data) if path.exists())
    if not there.is_dir() or not os.access(there, os.W_OK | os.X_OK):
        raise MisconfiguredError(
            f"ROUTER_DATA={settings.data} can't be used, {there} isn't a folder that can be "
            "written: choose another, or correct its permissions"
        )
    return str(settings.data.absolute())


async def api_port(_settings: Settings) -> str:
    """The API's port is free, or it is our API that answers there."""
    return await _free_or_ours(Ports().api, f"{Ports().api_url}/healthz", "--port")


async def ui_port(settings: Settings) -> str:
    """The Temporal UI's port is free, or the UI answers there."""
    return await _free_or_ours(Ports().ui, settings.temporal_ui, "--ui-port")


def _upwards(path: Path) -> list[Path]:
    absolute = path.absolute()
    return [absolute, *absolute.parents]


async def _free_or_ours(port: int, url: str, option: str) -> str:
    if _free(port):
        return f"{LOOPBACK}:{port} is free"
    if await _answers(url):
        return f"answers at {url}"
    raise MisconfiguredError(
        f"port {port} is in use by another program: stop that, or give `intent-router dev` "
        f"another with {option}"
    )


def _free(port: int) -> bool:
    try:
        socket.create_server((LOOPBACK, port)).close()
    except OSError:
        return False
    return True


async def _answers(url: str) -> bool:
    try:
        async with httpx.AsyncClient(timeout=SECONDS, trust_env=False) as client:
            return (await client.get(url, follow_redirects=True)).is_success
    except httpx.HTTPError:
        return False
