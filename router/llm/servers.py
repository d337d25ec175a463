"""Model servers: what each turned out not to do, learned from its own refusals, and its health.

A request uses everything that the server isn't known to refuse. What it is told to have
refused is left out of the next one, and remembered once a request without it was accepted:
each lesson costs one extra request, once.
"""

import asyncio
import json
import logging
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from http import HTTPStatus
from pathlib import Path
from time import monotonic
from typing import Any, Literal, get_args

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
    "pictures",
]
"""What a request may use. `tool_choice` is the parameter whatever its value, `limits` are the
lengths within the schema of a `response_format`, and a server that refuses `max_tokens` wants it
as `max_completion_tokens`."""

FEATURES: tuple[Feature, ...] = get_args(Feature)
Refused = frozenset[Feature]


CHOICES: Refused = frozenset({"tool_choice=required", "tool_choice=auto"})
"""Whoever takes neither is given no functions."""


def way_of_asking(refused: Refused) -> How:
    """The best way of offering functions that the server doesn't refuse."""
    if "tools" not in refused and not refused >= CHOICES:
        return "functions"
    if "json_schema" not in refused:
        return "json_schema"
    return "text" if "json_object" in refused else "json_object"


logger = logging.getLogger(__name__)

UNFIT_AFTER = 3
"""Questions in a row that a model fails on for being asked with functions."""
UNFIT_FOR = timedelta(days=7)
"""Until it is given functions again: servers are updated, and models exchanged."""
LONGEST_NAME = 200
"""Characters of what a server says that its model is called."""


@dataclass(frozen=True)
class UnfitModel:
    """Fails on functions; `since` when, and as which `model` it answered then."""

    since: datetime
    model: str

    @property
    def until(self) -> datetime:
        """When it is tried again."""
        return self.since + UNFIT_FOR


class ServerMemory:
    """What servers refuse and models aren't fit for, by endpoint (a model at a base URL).

    It is kept in a file, if in any. What can't be read or written, or isn't known here, is learned
    again: one extra request each.
    """

    def __init__(
        self, path: Path | None = None, now: Callable[[], datetime] = lambda: datetime.now(UTC)
    ) -> None:
        self._path = path
        self._now = now
        self._refused: dict[str, Refused] = {}
        self._unfit: dict[str, UnfitModel] = {}
        self._failures: Counter[str] = Counter()
        try:
            kept = json.loads(path.read_text("utf-8")) if path else None
        except (OSError, ValueError, RecursionError):
            kept = None  # nothing was learned yet
        for endpoint, learned in kept.items() if isinstance(kept, dict) else ():
            if isinstance(learned, dict):
                listed = learned.get("refused")
                listed = listed if isinstance(listed, list) else []
                self._refused[endpoint] = frozenset(one for one in FEATURES if one in listed)
                if unfit := _unfit(learned.get("unfit")):
                    self._unfit[endpoint] = unfit

    def refused(self, endpoint: str) -> Refused:
        """What the endpoint is asked without; nothing, where it was never asked."""
        refused = self._refused.get(endpoint, frozenset())
        return refused | {"tools"} if self.unfit(endpoint) else refused

    def unfit(self, endpoint: str) -> UnfitModel | None:
        """Its model, where that failed on functions lately."""
        found = self._unfit.get(endpoint)
        return found if found and self._now() < found.until else None

    def learn(self, endpoint: str, features: Iterable[Feature]) -> None:
        """Remember that the endpoint refuses these too."""
        before = self._refused.get(endpoint, frozenset())
        if (refused := before | frozenset(features)) != before:
            self._refused[endpoint] = refused
            self._keep()

    def took_functions(self, endpoint: str) -> None:
        """Remember that it answered a question with functions as it should."""
        self._failures.pop(endpoint, None)

    def failed_on_functions(self, endpoint: str, model: str) -> None:
        """Remember that the endpoint, which is this model, did not; the third time counts."""
        self._failures[endpoint] += 1
        if self._failures[endpoint] >= UNFIT_AFTER and not self.unfit(endpoint):
            del self._failures[endpoint]
            unfit = self._unfit[endpoint] = UnfitModel(self._now(), model[:LONGEST_NAME])
            logger.warning(
                "%s failed on functions %d times in a row: it is asked in JSON until %s",
                *(endpoint, UNFIT_AFTER, unfit.until.date()),
            )
            self._keep()

    def answered(self, endpoint: str, model: str) -> None:
        """Remember as which model it answers: another one may do what the last one couldn't."""
        if (unfit := self._unfit.get(endpoint)) and unfit.model != model[:LONGEST_NAME]:
            del self._unfit[endpoint]
            self._keep()

    def _keep(self) -> None:
        if self._path is None:
            return
        fresh = self._path.with_suffix(".new")
        kept: dict[str, dict[str, Any]] = {
            endpoint: {"refused": sorted(refused)} for endpoint, refused in self._refused.items()
        }
        for endpoint, unfit in self._unfit.items():
            about = {"since": unfit.since.isoformat(), "model": unfit.model}
            kept.setdefault(endpoint, {})["unfit"] = about
        try:
            self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            fresh.write_text(json.dumps(kept, sort_keys=True, ensure_ascii=False), "utf-8")
            fresh.replace(self._path)
        except OSError as error:
            logger.warning("what servers refuse can't be kept in %s: %s", self._path, error)


def _unfit(kept: Any) -> UnfitModel | None:
    if not isinstance(kept, dict):
        return None
    try:
        since = datetime.fromisoformat(kept["since"])
    except (KeyError, TypeError, ValueError):
        return None
    return UnfitModel(since, str(kept.get("model"))) if since.tzinfo else None


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
                found = await asyncio.gather(*map(trouble_at, self._addresses))
                said = [trouble.says if trouble else None for trouble in found]
                self._trouble = dict(zip(self._addresses, said, strict=True))
                self._asked = monotonic()
        return [self._trouble[address] for address in self._addresses]


@dataclass(frozen=True)
class ServerTrouble:
    """What is wrong with a server, for operators; one that `is_away` answers nobody anything."""

    says: str
    is_away: bool = True


async def trouble_at(address: ModelAddress) -> ServerTrouble | None:
    """What is wrong there, by asking for the list of its models; None where nothing is."""
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
        return ServerTrouble(f"{address.base_url} can't be reached ({type(error).__name__})")


def _trouble(address: ModelAddress, answer: httpx2.Response) -> ServerTrouble | None:
    """By its status alone: the list may have no end."""
    if answer.status_code in {HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN}:
        said = f"{address.base_url} refuses the key ({answer.status_code})"
        return ServerTrouble(said, is_away=False)
    if answer.is_redirect:
        said = f"{address.base_url} leads elsewhere ({answer.status_code})"
        return ServerTrouble(said, is_away=False)
    if answer.is_server_error:
        return ServerTrouble(f"{address.base_url} answers {answer.status_code}")
    return None
