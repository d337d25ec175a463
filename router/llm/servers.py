"""Model servers: what each turned out not to do, learned from its own refusals.

A request uses everything that the server isn't known to refuse. What it is told to have
refused is left out of the next one, and remembered once a request without it was accepted:
each lesson costs one extra request, once.
"""

import json
import logging
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Literal, get_args

from router.llm.types import How

NO_KEY = "none"
"""Sent where no key is set: left without, the clients would look for one in the environment."""


@dataclass(frozen=True)
class ModelListing:
    """Where a server lists its models, and what it is asked with."""

    url: str
    headers: dict[str, str] = field(repr=False)


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
    "effort",
    "reasoning_kept",
    "given_signatures",
    "prompt_cache_key",
    "cache_control",
]
"""What a request may use. `tool_choice` is the parameter whatever its value, `limits` are the
lengths within the schema of a `response_format`, and a server that refuses `max_tokens` wants it
as `max_completion_tokens`. `reasoning_kept` asks for thoughts that can be given back, and gives
them back; `given_signatures` stand where another model's calls have none. `prompt_cache_key` and
`cache_control` say what a server is to keep of what it has read."""

FEATURES: tuple[Feature, ...] = get_args(Feature)
RefusedFeatures = frozenset[Feature]


CHOICES: RefusedFeatures = frozenset({"tool_choice=required", "tool_choice=auto"})
"""Whoever takes neither is given no functions."""


def way_of_asking(refused: RefusedFeatures) -> How:
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
        self._refused: dict[str, RefusedFeatures] = {}
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

    def refused(self, endpoint: str) -> RefusedFeatures:
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
