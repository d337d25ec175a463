"""Heartbeats that go on while the event loop is late.

A worker's own heartbeats come from its event loop. On a busy machine the loop can be late by
seconds, and Temporal then starts the activity again on another worker that is no less busy. So a
thread looks after all activities of the process and heartbeats for those whose loop is late. It
has an event loop of its own and asks Temporal directly.
"""

import asyncio
import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from time import monotonic
from typing import Any

from temporalio import activity
from temporalio.client import AsyncActivityCancelledError, Client
from temporalio.service import RPCError, RPCStatusCode

LOOK_EVERY_S = 0.25
"""How often the thread looks for activities whose loop is late."""
MAX_LATE_S = 60.0
"""After that long the loop is held to be stuck rather than busy, and another worker takes over."""
LATE_SHARE = 0.4
"""A loop is late when it has not beaten for this share of the activity's heartbeat timeout."""

_log = logging.getLogger(__name__)


@dataclass
class Pulse:
    """The heartbeats of one try of an activity."""

    client: Client
    task_token: bytes
    timeout_s: float
    details: list[Any] | None = None
    """What each heartbeat carries to the next try, which the activity may change meanwhile."""
    loop_beat_at: float = field(default_factory=monotonic)
    """When the activity's own event loop has last beaten."""
    beat_at: float = field(default_factory=monotonic)
    """When anything has last beaten for it."""
    is_over: bool = False

    def beat_by_loop(self) -> None:
        """Note that the activity's event loop has sent a heartbeat."""
        self.loop_beat_at = self.beat_at = monotonic()

    def is_due(self, now: float) -> bool:
        """True if the loop is late and somebody else has to heartbeat."""
        is_late = now - self.beat_at >= self.timeout_s * LATE_SHARE
        return is_late and not self.is_over and now - self.loop_beat_at < MAX_LATE_S


class HeartbeatThread:
    """Heartbeats for registered activities whose event loop is late.

    The thread starts with the first activity, and rests while there is none.
    """

    def __init__(self) -> None:
        self._pulses: dict[int, Pulse] = {}
        self._lock = threading.Lock()
        self._has_work = threading.Event()
        self._thread: threading.Thread | None = None

    def add(self, pulse: Pulse) -> None:
        """Look after this activity until `remove`."""
        with self._lock:
            self._pulses[id(pulse)] = pulse
            if self._thread is None or not self._thread.is_alive():
                self._thread = threading.Thread(
                    target=self._run, name="heartbeats of late event loops", daemon=True
                )
                self._thread.start()
        self._has_work.set()

    def remove(self, pulse: Pulse) -> None:
        """Stop looking after this activity, which has ended."""
        pulse.is_over = True
        with self._lock:
            self._pulses.pop(id(pulse), None)
            if not self._pulses:
                self._has_work.clear()

    def _run(self) -> None:
        with asyncio.Runner() as runner:
            while True:
                self._has_work.wait()
                runner.run(self._beat_for_late_loops())

    async def _beat_for_late_loops(self) -> None:
        now = monotonic()
        with self._lock:
            due = [pulse for pulse in self._pulses.values() if pulse.is_due(now)]
        for error in await asyncio.gather(*map(_beat, due), return_exceptions=True):
            if error is not None:
                _log.error("a heartbeat for a late event loop failed", exc_info=error)
        await asyncio.sleep(LOOK_EVERY_S)


async def _beat(pulse: Pulse) -> None:
    handle = pulse.client.get_async_activity_handle(task_token=pulse.task_token)
    pulse.beat_at = monotonic()
    try:
        await handle.heartbeat(
            *(pulse.details or ()), rpc_timeout=timedelta(seconds=pulse.timeout_s)
        )
    except AsyncActivityCancelledError:
        # The activity's own loop hears of the cancellation with its next heartbeat.
        return
    except RPCError as error:
        if error.status is RPCStatusCode.NOT_FOUND:
            pulse.is_over = True
            return
        _log.warning("a heartbeat for a late event loop failed: %s", error.message)


_thread = HeartbeatThread()


@contextmanager
def beating_when_late(details: list[Any] | None = None) -> Iterator[Pulse | None]:
    """Have the thread heartbeat, with these details, whenever the activity's event loop is late.

    Yields what the loop notes its own heartbeats in; `None` if nobody waits for heartbeats.
    """
    info = activity.info()
    if info.heartbeat_timeout is None or info.is_local:
        yield None
        return
    timeout_s = info.heartbeat_timeout.total_seconds()
    pulse = Pulse(activity.client(), info.task_token, timeout_s, details)
    _thread.add(pulse)
    try:
        yield pulse
    finally:
        _thread.remove(pulse)
