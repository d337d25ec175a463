"""Model servers: what each turned out not to do, learned from its own refusals, and its health.

A request uses everything that the server isn't known to refuse. What it is told to have
refused is left out of the next one, and remembered once a request without it was accepted:
each lesson costs one extra request, once.
"""

import asyncio
import json
import logging
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
from time import monotonic
from typing import Literal, get_args

import httpx2

from router.domain.loopback import may_be_proxied
from router.llm.types import How

Feature = Literal[
    "strict",
    "parallel_tool_calls",
    "tool_choice",
    "tool_choice=required",
    "tool_choice=auto",
    "tools",
    "limits",
    "json_schema",
    "json_object",
    "max_tokens",
    "temperature",
    "stream_options",
]
"""What a request may use. `tool_choice` is the parameter whatever its value, `limits` are the
lengths within the schema of a `response_format`, and a server that refuses `max_tokens` wants it
as `max_completion_tokens`."""

FEATURES: tuple[Feature, ...] = get_args(Feature)
Refused = frozenset[Feature]


def way_of_asking(refused: Refused) -> How:
    """The best way of offering functions that the server doesn't refuse."""
    if "tools" not in refused and not {"tool_choice=required", "tool_choice=auto"} <= refused:
        return "functions"
    if "json_schema" not in refused:
        return "json_schema"
    return "text" if "json_object" in refused else "json_object"


logger = logging.getLogger(__name__)


class ServerMemory:
    """What every server refuses, by endpoint (a model at a base URL); kept in a file, if in any.

    What can't be read or written, or isn't known here, is learned again: one extra request each.
    """

    def __init__(self, path: Path | None = None) -> None:
        self._path = path
        self._refused: dict[str, Refused] = {}
        try:
            kept = json.loads(path.read_text("utf-8")) if path else None
        except (OSError, ValueError, RecursionError):
            kept = None  # nothing was learned yet
        for endpoint, features in kept.items() if isinstance(kept, dict) else ():
            listed = features if isinstance(features, list) else []
            self._refused[endpoint] = frozenset(one for one in FEATURES if one in listed)

    def refused(self, endpoint: str) -> Refused:
        """What the endpoint is known to refuse; nothing, where it was never asked."""
        return self._refused.get(endpoint, frozenset())

    def learn(self, endpoint: str, features: Iterable[Feature]) -> None:
        """Remember that the endpoint refuses these too."""
        before = self.refused(endpoint)
        if (refused := before | frozenset(features)) != before:
            self._refused[endpoint] = refused
            if self._path:
                self._keep(self._path)

    def _keep(self, path: Path) -> None:
        fresh = path.with_suffix(".new")
        kept = {endpoint: sorted(refused) for endpoint, refused in self._refused.items()}
        try:
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            fresh.write_text(json.dumps(kept, sort_keys=True, ensure_ascii=False), "utf-8")
            fresh.replace(path)
        except OSError as error:
            logger.warning("what servers refuse can't be kept in %s: %s", path, error)


PATIENCE = 1.5
"""Seconds for one server."""
FRESH = 10.0
"""Seconds that an answer counts: whoever watches asks often."""


@dataclass(frozen=True)
class ModelAddress:
    """A server, and the key that it is asked with."""

    base_url: str
    api_key: str | None = None


class ModelHealth:
    """Asks each server at most once in `FRESH` seconds.

    Any answer counts that isn't an error of the server or a refusal of the key: many servers
    know no list of models, and answer all the same.
    """

    def __init__(self, addresses: Sequence[ModelAddress]) -> None:
        self._addresses = list(dict.fromkeys(addresses))
        self._asked = -FRESH
        self._trouble: dict[ModelAddress, str | None] = {}
        self._asking = asyncio.Lock()

    async def trouble(self) -> list[str | None]:
        """What is wrong with each server, in order; None where nothing is."""
        async with self._asking:
            if monotonic() - self._asked >= FRESH:
                found = await asyncio.gather(*map(_ask, self._addresses))
                self._trouble = dict(zip(self._addresses, found, strict=True))
                self._asked = monotonic()
        return [self._trouble[address] for address in self._addresses]


async def _ask(address: ModelAddress) -> str | None:
    headers = {"Authorization": f"Bearer {address.api_key}"} if address.api_key else {}
    proxied = may_be_proxied(address.base_url)
    try:
        async with (
            httpx2.AsyncClient(timeout=PATIENCE, trust_env=proxied) as client,
            client.stream("GET", f"{address.base_url}/models", headers=headers) as answer,
        ):
            return _trouble(address, answer)
    except (httpx2.HTTPError, ImportError, ValueError) as error:
        # The latter two for a proxy of the environment that httpx2 can't speak to.
        return f"{address.base_url} can't be reached ({type(error).__name__})"


def _trouble(address: ModelAddress, answer: httpx2.Response) -> str | None:
    """By its status alone: the list may have no end."""
    if answer.status_code in {HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN}:
        return f"{address.base_url} refuses the key ({answer.status_code})"
    if answer.is_redirect:
        return f"{address.base_url} leads elsewhere ({answer.status_code})"
    if answer.is_server_error:
        return f"{address.base_url} answers {answer.status_code}"
    return None
