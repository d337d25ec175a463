"""Cases of prompts: what a case gives, and what is observed once a model has done it.

An extension describes cases of its `PromptJob` with these; `intent-router prompts eval` reads the
files, asks the model and compares.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Protocol
from zoneinfo import ZoneInfo

from pydantic import JsonValue

from router.domain.locale import Locale
from router.formats.validation import Entry
from router.llm.fallback import LedRole
from router.llm.types import ChatAnswer, ChatRequest
from router.routing.prompts import Prompts

UNUSABLE = "unusable"
"""The route of an answer that the desk could do nothing with."""
HOME = ZoneInfo("Asia/Shanghai")


@dataclass(frozen=True)
class ObservedTool:
    """A tool that was called, and what with."""

    name: str
    arguments: Mapping[str, JsonValue] = field(default_factory=dict)


@dataclass(frozen=True)
class Observed:
    """What an answer came to.

    `route` is where it leads, in a word of the job's: a capability, a tool, a verdict; `text` what
    a person would read; `value` what is structured in it: arguments, steps, fields. `calls` are
    the tools that were called and came to something, in their order; `folder` is where files are
    that a case names.
    """

    route: str
    text: str = ""
    value: JsonValue = field(default_factory=dict)
    calls: Sequence[ObservedTool] = ()
    folder: Path = Path()

    @property
    def words(self) -> str:
        """The text; where there is none the value, as JSON."""
        return self.text or json.dumps(self.value, ensure_ascii=False)


class CaseBench(Protocol):
    """What a case is done with: a version of the job's prompts, and the configured models."""

    @property
    def locale(self) -> Locale:
        """The language of the case."""

    @property
    def prompts(self) -> Prompts:
        """The prompts, with the version that is evaluated in use."""

    async def ask(
        self, role: LedRole | None, request: ChatRequest, user: str, now: datetime
    ) -> ChatAnswer:
        """Return the answer of the model of a role, without one of the usual model.

        Args:
            role: Whose model is asked.
            request: The question.
            user: The id of who asks, in the directory.
            now: The moment at which they ask.
        """


class CaseInput(Entry):
    """What every job's case may give: who speaks, and when.

    A subclass has the fields of its job, and asks the model:

    `async def observed(self, bench: CaseBench) -> Observed`.
    """

    user: str = "alice"
    """A user id of the directory."""
    now: datetime = datetime(2026, 11, 18, 10, tzinfo=HOME)
    """The moment, with its zone; a Wednesday morning where nothing is said."""

    @property
    def moment(self) -> datetime:
        """The moment, in the house's zone where none is written."""
        return self.now if self.now.tzinfo else self.now.replace(tzinfo=HOME)
