"""Routing labelled lines, a few at once, and keeping what each came to."""

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from router.api.explanation import values_of
from router.cli.explaining import moment
from router.cli.rehearsal import Rehearsal, Routed
from router.domain.commands import Clarify, Command
from router.domain.principals import Principal
from router.evaluation.labels import label_of
from router.evaluation.lines import Labelled, LabelledEntity
from router.evaluation.results import Result
from router.llm.errors import AccessRefused, ModelUnavailable, NoModelAnswered
from router.selection.selected import Selection

AT_ONCE = 4
"""Lines that are routed at the same time: enough to keep a model busy, and no flood."""

LONGEST_WAIT = 5.0
"""Seconds; what Temporal waits for a busy model at most, before it does without."""

Tick = Callable[[int, int], None]
"""Told how many lines are done, and of how many."""


@dataclass(frozen=True)
class Trial:
    """Lines are said by `user` at `now`, unless they say otherwise."""

    rehearsal: Rehearsal
    people: Mapping[str, Principal]
    user: str
    now: str | None
    labels: frozenset[str]
    """All labels of the file."""

    async def results(self, lines: Sequence[Labelled], tick: Tick) -> list[Result]:
        """What each line came to, in the order of the lines.

        Raises:
            ModelUnavailable: the model wants another key; it would answer no line.
        """
        await self.rehearsal.learn()
        free, done = asyncio.Semaphore(AT_ONCE), 0

        async def one(labelled: Labelled) -> Result:
            nonlocal done
            async with free:
                result = await self._result(labelled)
            done += 1
            tick(done, len(lines))
            return result

        try:
            async with asyncio.TaskGroup() as group:
                tasks = [group.create_task(one(labelled)) for labelled in lines]
        except ExceptionGroup as group:
            raise group.exceptions[0] from None
        return [task.result() for task in tasks]

    async def found(self, labelled: Labelled) -> Selection | None:
        """What is searched for the line's text; None where rules take it."""
        return await self.rehearsal.found(labelled.line.text, *self._said(labelled))

    async def _result(self, labelled: Labelled) -> Result:
        began = time.perf_counter()
        routed, unanswered = await self._routed(labelled)
        decided = routed.decided
        found = routed.reading.entities
        return Result(
            labelled=labelled,
            got=label_of(decided.route, self.labels),
            by=decided.route.by,
            reason=decided.route.reason,
            offered=_offered(decided.commands),
            candidates=tuple(one.name for one in decided.route.candidates),
            values=values_of(decided.commands),
            entities=[LabelledEntity(type=one.type, value=one.value) for one in found],
            usage=decided.usage,
            seconds=time.perf_counter() - began,
            unanswered=unanswered,
        )

    async def _routed(self, labelled: Labelled) -> tuple[Routed, bool]:
        """The line routed, as Temporal would have it: tried again once, then without the model."""
        said = (labelled.line.text, *self._said(labelled))
        try:
            return await self.rehearsal.routed(*said), False
        except ModelUnavailable as error:
            _check_access(error)
            await asyncio.sleep(min(_wait(error), LONGEST_WAIT))
        failures: list[ModelUnavailable] = []
        routed = await self.rehearsal.routed(*said, failures.append)
        return routed, bool(failures)

    def _said(self, labelled: Labelled) -> tuple[Principal, datetime]:
        speaker = self.people[labelled.line.user or self.user]
        return speaker, moment(labelled.line.now or self.now, speaker.timezone)


def _check_access(error: ModelUnavailable) -> None:
    """Go no further where every other line would fare the same."""
    failures = error.failures if isinstance(error, NoModelAnswered) else ()
    for failure in failures:
        if isinstance(failure.error, AccessRefused):
            raise error


def _wait(error: ModelUnavailable) -> float:
    return 1.0 if error.retry_after is None else error.retry_after


def _offered(commands: Sequence[Command]) -> tuple[str, ...]:
    asked = [command for command in commands if isinstance(command, Clarify)]
    return tuple(str(option.value) for command in asked for option in command.options)
