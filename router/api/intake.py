"""Load shedding: when this process takes no further messages, and when to send them again.

A message that is taken while others wait only makes all of them wait longer. So a new message is
refused early, with 429 and `Retry-After`, before anything is written or sent to Temporal. Two
things are measured: how long messages wait until a worker takes them in, and how long the fastest
quarter of the answers takes, of those that need neither a model nor a tool. The time that models
and tools take doesn't count: a slow model isn't a busy machine.

As soon as messages wait for half of what is allowed, the number of open messages is limited to as
many as are answered in that time. So messages wait for that long on average, however many come, and
workers always have enough to do. None is let in only at the full limit.
"""

import random
from collections import deque
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from math import ceil, inf
from time import monotonic
from typing import NamedTuple

from router.domain.errors import TooManyRequests
from router.domain.locale import Localised
from router.telemetry.loop_stalls import LATENESS, LoopLateness
from router.telemetry.metrics import REFUSED

MIN_WAITING = 4
"""Conversations in which a message waits, below which nobody is refused: a few wait because
something is wrong with them, and say nothing of the others."""
MIN_ANSWERS = 4
"""Answers without a model below which the fastest quarter of them says nothing."""
ABANDONED_FOR_S = 5.0
"""So long a message counts as waiting that no worker had taken in when its sender was told so."""
RATE_OVER_S = 5.0
"""The rate at which messages are answered is counted over so long."""
MIN_COUNTED_S = 1.0
"""The rate is counted over this long at least, or a single answer would be a high one."""
FAST_OVER_S = 2.0
"""The fastest quarter is that of the answers of so many seconds. The fastest answer alone would say
too little: while a third of the messages waits for ten seconds, a greeting is answered in one."""
LIMITED_SHARE = 0.5
"""The share of the longest wait from which on the number of open messages is limited."""
LIMITED_FOR_S = 30.0
"""It is unlimited again when messages haven't waited for that share for so many seconds."""
MIN_OPEN = 8
"""So many messages may be open in any case: fewer would leave workers without anything to do."""
MACHINE_BOUND_S = 6.0
"""A message that has been open for longer waits for a model, a tool or a document rather than for
the machine, so it doesn't count."""
MIN_RETRY_S, MAX_RETRY_S = 1, 30
PATIENCE_FOR_ANSWERS = 3.0
"""An answer to a question (a button, a form, the result of a front end's tool) is refused only at
so many times the limit: it ends something that is under way."""


@dataclass(frozen=True)
class IntakeLimits:
    """What a new message is refused for."""

    wait_s: float = 3.0
    """Seconds until a worker takes messages in."""
    lateness_s: float = 1.0
    """Seconds by which the event loop is late."""


@dataclass(frozen=True)
class IntakeState:
    """What is known of the messages that wait for a worker now."""

    ages: tuple[float, ...] = ()
    """Seconds that messages have waited for a worker: the oldest message of each conversation."""
    lateness_s: float = 0.0
    """How late this process's event loop is."""
    open_conversations: int = 0
    """Conversations with a message that has no answer yet, taken in or not."""
    answers_s: tuple[float, ...] = ()
    """How long the latest answers took that had only to wait for the machine: for no model, tool or
    document, nor for an earlier message of the conversation."""

    @property
    def wait_s(self) -> float:
        """Estimate how many seconds a message that came now would wait."""
        return max(self._wait_for_a_worker_s, self._fast_answers_s)

    @property
    def _fast_answers_s(self) -> float:
        if self.open_conversations < MIN_WAITING or len(self.answers_s) < MIN_ANSWERS:
            return 0.0
        return sorted(self.answers_s)[len(self.answers_s) // 4]

    @property
    def _wait_for_a_worker_s(self) -> float:
        if len(self.ages) < MIN_WAITING:
            return 0.0
        return sorted(self.ages, reverse=True)[MIN_WAITING - 1]


def retry_after(state: IntakeState, limits: IntakeLimits, patience: float = 1.0) -> int | None:
    """Return after how many seconds to send a message again; `None` if it can be taken now.

    >>> retry_after(IntakeState(ages=(5.2, 5.1, 5.0, 4.9)), IntakeLimits())
    5
    >>> retry_after(IntakeState(ages=(60.0,)), IntakeLimits()) is None
    True
    """
    wait = state.wait_s
    is_late = state.lateness_s >= limits.lateness_s * patience and len(state.ages) >= MIN_WAITING
    if wait < limits.wait_s * patience and not is_late:
        return None
    return min(max(ceil(wait), MIN_RETRY_S), MAX_RETRY_S)


def max_open(answers_per_s: float, wait_s: float) -> int:
    """Return how many messages can be open if each is to wait for so many seconds on average.

    This is Little's law: what is in a queue is what leaves it per second, times the wait.

    >>> max_open(answers_per_s=20.0, wait_s=1.5)
    30
    """
    return max(ceil(answers_per_s * wait_s), MIN_OPEN)


class _OpenMessage(NamedTuple):
    began: float
    is_first: bool
    """True if no earlier message of the conversation was open."""


@dataclass
class Intake:
    """The messages that this process has sent to Temporal, until they are answered."""

    limits: IntakeLimits = field(default_factory=IntakeLimits)
    clock: Callable[[], float] = monotonic
    lateness: LoopLateness = LATENESS
    _waiting: dict[Hashable, dict[str, float]] = field(default_factory=dict)
    _abandoned: dict[Hashable, float] = field(default_factory=dict)
    """When it was last given up to wait for a worker to take in a message, by conversation."""
    _open: dict[Hashable, dict[str, _OpenMessage]] = field(default_factory=dict)
    """Messages that have no answer yet, by conversation and update."""
    _answered_at: deque[float] = field(default_factory=deque)
    _plain_answers: deque[tuple[float, float]] = field(default_factory=deque)
    _slow_at: float = -inf
    """When messages last waited for so long that the number of open ones is limited."""

    def begin(self, conversation: Hashable, update: str) -> None:
        """Note that a message waits for a worker from now on."""
        now = self.clock()
        self._waiting.setdefault(conversation, {})[update] = now
        messages = self._open.setdefault(conversation, {})
        messages[update] = _OpenMessage(now, is_first=not messages)

    def note_taken(self, conversation: Hashable, update: str) -> None:
        """Note that a worker has taken a message in."""
        waiting = self._waiting.get(conversation, {})
        waiting.pop(update, None)
        if not waiting:
            self._waiting.pop(conversation, None)

    def end(
        self, conversation: Hashable, update: str, *, is_taken: bool, is_plain: bool = False
    ) -> None:
        """Note that nobody waits for a message any longer; `is_taken` if a worker took it in.

        `is_plain` if its answer took neither a model, nor a tool, nor a document.
        """
        now = self.clock()
        if not is_taken and update in self._waiting.get(conversation, {}):
            # Nobody waits for it here any more, but it still does for a worker.
            self._abandoned[conversation] = now
        self.note_taken(conversation, update)
        message = self._close(conversation, update)
        if is_taken:
            self._answered_at.append(now)
        if is_plain and message is not None and message.is_first:
            self._plain_answers.append((now, now - message.began))

    def check(self, patience: float = 1.0) -> None:
        """Return if a message can be taken now; raises `TooManyRequests` if it can't."""
        state = self.state()
        seconds = retry_after(state, self.limits, patience)
        if self._is_full(state) and patience <= 1:
            seconds = seconds or MIN_RETRY_S
        if seconds is None:
            return
        REFUSED.labels("busy").inc()
        # Not all at the same moment: they would only meet again.
        later = min(ceil(seconds * random.uniform(1, 2)), MAX_RETRY_S)  # noqa: S311
        raise TooManyRequests(_busy(later), retry_after=later)

    def _is_full(self, state: IntakeState) -> bool:
        now, slow_s = self.clock(), self.limits.wait_s * LIMITED_SHARE
        if state.wait_s >= slow_s:
            self._slow_at = now
        if now - self._slow_at >= LIMITED_FOR_S:
            return False
        ages = (now - each.began for messages in self._open.values() for each in messages.values())
        machine_bound = sum(age < MACHINE_BOUND_S for age in ages)
        return machine_bound >= max_open(self.answers_per_s(), slow_s)

    def _close(self, conversation: Hashable, update: str) -> _OpenMessage | None:
        messages = self._open.get(conversation, {})
        message = messages.pop(update, None)
        if not messages:
            self._open.pop(conversation, None)
        return message

    def answers_per_s(self) -> float:
        """Return how many messages a second were answered lately."""
        now = self.clock()
        while self._answered_at and now - self._answered_at[0] > RATE_OVER_S:
            self._answered_at.popleft()
        if not self._answered_at:
            return 0.0
        # After an idle time the answers are those of less than `RATE_OVER_S`.
        seconds = min(RATE_OVER_S, now - self._answered_at[0])
        return len(self._answered_at) / max(seconds, MIN_COUNTED_S)

    def state(self) -> IntakeState:
        """What is known now."""
        now = self.clock()
        for conversation, given_up_at in list(self._abandoned.items()):
            if now - given_up_at > ABANDONED_FOR_S:
                del self._abandoned[conversation]
        while self._plain_answers and now - self._plain_answers[0][0] > FAST_OVER_S:
            self._plain_answers.popleft()
        return IntakeState(
            ages=tuple(now - min(messages.values()) for messages in self._waiting.values())
            + (self.limits.wait_s,) * len(self._abandoned.keys() - self._waiting.keys()),
            lateness_s=self.lateness.seconds,
            open_conversations=len(self._open),
            answers_s=tuple(took_s for _, took_s in self._plain_answers),
        )


def _busy(seconds: int) -> Localised:
    return Localised(
        zh=f"现在消息太多，有点忙不过来，请 {seconds} 秒后把这条消息再发一次",
        en="There are more messages than can be answered right now; "
        f"send this one again in {seconds} s",
    )
