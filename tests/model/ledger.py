"""The ledger of effects and the systems that tools reach, as values; the protocol is the product's.

`Ledger` says in a few lines what `router.store.idempotency` says in SQL; a test holds the two
against each other.
"""

import asyncio
import json
from collections.abc import Coroutine
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from pydantic import JsonValue

from activities import tool_caller
from router.contracts.activities import ToolCall
from router.domain.errors import (
    DuplicateKey,
    PermanentToolError,
    RouterError,
    TransientToolError,
)
from router.domain.locale import Localised
from router.domain.records import EffectRecord
from router.flow.engine.context import canonical
from router.flow.engine.run import Run
from router.flow.engine.run_parts.work import Task
from router.tool.tool import Tool

NOW = datetime(2026, 11, 18, 2, 0, tzinfo=UTC)


@dataclass(frozen=True)
class Out:
    """What was done out there, and by which keys systems that honour them know it."""

    effects: tuple[tuple[str, str, str, str], ...] = ()
    """Of each: the tool, its key, its arguments, the key of what it takes back."""

    refused: tuple[str, ...] = ()
    """Keys that a system which honours them has refused: it says the same to whatever comes again.
    """

    def knows(self, tool: Tool, task: Task) -> bool:
        """True where a system that honours keys has done this already."""
        return tool.idempotent and any(key == task.key for _, key, _, _ in self.effects)

    def refusing(self, tool: Tool, task: Task) -> "Out":
        """The same after a call that it refused."""
        known = {*self.refused, task.key} if tool.idempotent else self.refused
        return replace(self, refused=tuple(sorted(known)))

    def done(self, tool: Tool, task: Task) -> "Out":
        """The same after a call; one that comes again by its key is done once."""
        effect = (tool.name, task.key, canonical(task.arguments), task.undoes)
        return self if self.knows(tool, task) else replace(self, effects=(*self.effects, effect))


@dataclass(frozen=True)
class Ledger:
    """What is noted of writes: key, tool, digest, status, failure as JSON."""

    rows: tuple[tuple[str, str, str, str, str | None], ...] = ()


class KeptLedger:
    """What `once` reads and writes, over a value that goes with the world."""

    def __init__(self, kept: Ledger) -> None:
        self.rows = {row[0]: row for row in kept.rows}

    @property
    def kept(self) -> Ledger:
        """The value, as it is by now."""
        return Ledger(tuple(sorted(self.rows.values())))

    async def begin(self, key: str, tool: str, digest: str, **_: object) -> EffectRecord | None:
        """As the store's."""
        known = self.rows.get(key)
        if known is None:
            self.rows[key] = (key, tool, digest, "begun", None)
            return None
        if known[1:3] != (tool, digest):
            raise DuplicateKey(f"the key {key!r} was used before for another call")
        done = known[3] == "done"
        about: dict[str, Any] = {"key": key, "tool": tool, "digest": digest, "status": known[3]}
        failure = json.loads(known[4]) if known[4] else None
        return EffectRecord(**about, result="done" if done else None, failure=failure)

    async def finish(self, key: str, result: JsonValue) -> None:
        """As the store's."""
        self._end(key, "done", None)

    async def fail(self, key: str, failure: dict[str, JsonValue]) -> None:
        """As the store's."""
        self._end(key, "failed", json.dumps(failure))

    async def release(self, key: str) -> None:
        """As the store's."""
        if key in self.rows and self.rows[key][3] == "begun":
            del self.rows[key]

    def _end(self, key: str, status: str, error: str | None) -> None:
        known = self.rows.get(key)
        if known is not None and known[3] == "begun":
            self.rows[key] = (*known[:3], status, error)


class Crash(BaseException):
    """The worker died; what is durable is as it was by then."""

    def __init__(self, ledger: Ledger, out: Out) -> None:
        super().__init__()
        self.ledger, self.out = ledger, out


@dataclass(frozen=True)
class Sent:
    """What a try came to."""

    ledger: Ledger
    out: Out
    value: JsonValue = None
    error: RouterError | None = None


class _Dying(BaseException):
    pass


BEFORE = "the worker dies before it is begun"
BEGUN = "the worker dies once it is begun"
SENT = "the worker dies once it is sent"
NOTED = "the worker dies once it is noted"
HANGS = "hangs once begun"
REFUSED = "is refused"
AWAY = "is out of reach"
FAULTS = (BEFORE, BEGUN, SENT, NOTED, HANGS, REFUSED, AWAY)
GOES_ON = "goes on"
"""What becomes of a try that hung: it is sent after all."""


class Try:
    """One try of a write, through the product's own `once`, with one fault or none."""

    def __init__(self, tool: Tool, task: Task, ledger: Ledger, out: Out, fault: str) -> None:
        # One that hung was begun when nothing was known of it yet.
        self._kept = _BegunBefore(ledger) if fault == GOES_ON else KeptLedger(ledger)
        self._tool, self._task, self._out, self._fault = tool, task, out, fault

    def sent(self, run: Run) -> Sent:
        """What it comes to; raises `Crash` where its worker dies."""
        if self._fault == BEFORE:
            raise Crash(self._kept.kept, self._out)
        task = self._task
        call = ToolCall(
            tool=task.name,
            arguments=task.arguments,
            caller=run.requester,
            key=task.key,
            undoes=task.undoes,
            flow_run=run.id,
            now=NOW,
        )
        ledger: Any = self._kept
        try:
            value = _driven(tool_caller.once(ledger, self._tool, call, self._send))
        except _Dying:
            raise Crash(self._kept.kept, self._out) from None
        except RouterError as error:
            return Sent(self._kept.kept, self._out, error=error)
        if self._fault == NOTED:
            raise Crash(self._kept.kept, self._out)
        return Sent(self._kept.kept, self._out, value=value)

    async def _send(self) -> JsonValue:
        tool, task = self._tool, self._task
        if self._fault in (BEGUN, HANGS):
            raise _Dying
        # Who honours keys says to one that comes again what was said before.
        says_no = task.key in self._out.refused or self._fault == REFUSED
        if says_no and not self._out.knows(tool, task):
            self._out = self._out.refusing(tool, task)
            raise PermanentToolError(_say("it says no"))
        if self._fault == AWAY:
            raise TransientToolError(_say("it is away"))
        self._out = self._out.done(tool, task)
        if self._fault == SENT:
            raise _Dying
        return "done"


class _BegunBefore(KeptLedger):
    async def begin(self, key: str, tool: str, digest: str, **_: object) -> EffectRecord | None:
        return None


def _say(words: str) -> Localised:
    return Localised(zh=words, en=words)


_LOOP = asyncio.new_event_loop()


def _driven(work: Coroutine[Any, Any, JsonValue]) -> JsonValue:
    """What comes of work that never waits."""
    return _LOOP.run_until_complete(work)
