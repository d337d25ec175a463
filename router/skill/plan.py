"""A plan: the steps of a skill's work, what they came to, and what is wrong with one. Pure.

A plan is only ever replaced, never changed: every method answers the plan as it is then. That is
what lets a run go on in a new one, or another day, from exactly where it was. What is wrong with a
plan that a model made is said so that the model can mend it.
"""

import re
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from graphlib import CycleError, TopologicalSorter
from typing import Annotated, Literal

from pydantic import Field

from router.domain.locale import Locale, Localised
from router.domain.messages import ConfirmReply, digest_of
from router.domain.value import Value
from router.skill.loop import one_line

MOST_RETRIES = 2
MOST_REPLANS = 2
LONGEST_RESULT = 2_000
"""Characters of a step's result that the steps after it, and the reflection, are told."""
LONGEST_WHY = 400

Fate = Literal["done", "missing", "stopped", "skipped"]
"""With a result; for want of something that only the employee knows; at a limit; not begun,
since the employee said something meanwhile."""


class PlanModel(Value):
    """Base of what a plan is made of."""


class PlanStep(PlanModel):
    """One step: what to find out, once those that it `depends_on` have their results."""

    id: str
    task: str
    depends_on: tuple[str, ...] = ()


class StepResult(PlanModel):
    """What a step came to: its answer, or why it has none."""

    fate: Fate
    text: str = ""


class StepBrief(PlanModel):
    """What the sub-agent of one step is told: its task, what it builds on, and earlier tries."""

    id: str
    task: str
    results: dict[str, str] = {}
    tries: tuple[str, ...] = ()


class Accept(PlanModel):
    """The results do: this is the answer."""

    type: Literal["accept"] = "accept"
    result: str


class RetryStep(PlanModel):
    """One step is to be tried again."""

    type: Literal["retry"] = "retry"
    step: str
    why: str


class Replan(PlanModel):
    """What is left is to be planned anew."""

    type: Literal["replan"] = "replan"
    why: str


class Ask(PlanModel):
    """Only the employee knows."""

    type: Literal["ask"] = "ask"
    text: str


class GoOn(PlanModel):
    """An answer that was made without a plan misses something."""

    type: Literal["go_on"] = "go_on"
    missing: str


PlanVerdict = Annotated[Accept | RetryStep | Replan | Ask | GoOn, Field(discriminator="type")]


class Plan(PlanModel):
    """Steps in the order in which they were planned, and the results by the steps' ids.

    `tries` says of each step why earlier results of it didn't do. While `revising` says why, no
    step is begun: the plan waits to be made anew. It was `proposed` where the employee was shown it
    and no step has begun since; they have `agreed` to it, or to one that this came from.
    """

    steps: tuple[PlanStep, ...] = ()
    results: dict[str, StepResult] = {}
    tries: dict[str, tuple[str, ...]] = {}
    replans: int = 0
    revising: str = ""
    proposed: bool = False
    agreed: bool = False

    def ready(self, begun: Collection[str] = ()) -> list[PlanStep]:
        """The steps that can begin now: not begun, and all that they depend on is done."""
        if self.revising:
            return []
        open_ = (step for step in self.steps if step.id not in self.results)
        done = self.done
        return [s for s in open_ if s.id not in begun and all(d in done for d in s.depends_on)]

    @property
    def done(self) -> dict[str, str]:
        """The results of the steps that have one."""
        return {id_: one.text for id_, one in self.results.items() if one.fate == "done"}

    @property
    def open(self) -> int:
        """How many steps have come to nothing yet, neither good nor bad."""
        return len(self.steps) - len(self.results)

    @property
    def may_be_retried(self) -> list[str]:
        """The steps that have come to something and may be tried again, in their order."""
        tried = (step.id for step in self.steps if step.id in self.results)
        return [id_ for id_ in tried if len(self.tries.get(id_, ())) < MOST_RETRIES]

    @property
    def may_be_replanned(self) -> bool:
        """False where it was made anew as often as it may be."""
        return self.replans < MOST_REPLANS

    def part(self, step: PlanStep) -> StepBrief:
        """What the step's sub-agent is told."""
        done = self.done
        results = {id_: done[id_] for id_ in step.depends_on}
        return StepBrief(
            id=step.id, task=step.task, results=results, tries=self.tries.get(step.id, ())
        )

    def having(self, step: str, result: StepResult) -> "Plan":
        """With what a step came to; of a long result its beginning."""
        kept = result.replace(text=_cut(result.text, LONGEST_RESULT))
        return self.replace(results={**self.results, step: kept})

    def retrying(self, retry: RetryStep) -> "Plan":
        """With the step to be done again, and whatever was built on what it had."""
        again = {retry.step, *self._built_on(retry.step)}
        tries = (*self.tries.get(retry.step, ()), _cut(retry.why, LONGEST_WHY))
        left = {id_: one for id_, one in self.results.items() if id_ not in again}
        tried = {**self.tries, retry.step: tries}
        return self.replace(results=left, tries=tried)

    def replanning(self, replan: Replan) -> "Plan":
        """With what is left to be planned anew, once more."""
        why = _cut(replan.why, LONGEST_WHY)
        return self.replace(revising=why, replans=self.replans + 1)

    def hearing(self) -> "Plan":
        """Once the employee has said something: what wasn't begun is skipped, tries count anew."""
        skipped = {s.id: StepResult(fate="skipped") for s in self.steps if s.id not in self.results}
        results = {**self.results, **skipped}
        return self.replace(results=results, tries={}, replans=0)

    def proposing(self) -> "Plan":
        """As the employee is shown it."""
        return self.replace(proposed=True)

    def agreeing(self) -> "Plan":
        """As the employee has agreed to it."""
        return self.replace(agreed=True)

    def concluded(self) -> "Plan":
        """Once its answer is given: what is planned for another is to be agreed to anew."""
        return self.replace(agreed=False)

    def resuming(self, why: str) -> "Plan":
        """Taken up again by a new run: what is done stays done, the rest is planned anew.

        One that was proposed runs where it was agreed to, and is planned anew by what was said.
        """
        if self.proposed:
            why = "" if self.agreed else OTHERWISE
            return self.replace(revising=why, proposed=not self.agreed)
        return self.hearing().replace(revising=why)

    def revised(self, proposed: Sequence[PlanStep]) -> "Plan":
        """The plan that goes on with these steps.

        A finished step keeps its result where it is listed with its task as it was, or without
        one, or where another step builds on it. Under another task it is another step.
        """
        finished = {s.id: s for s in self.steps if s.id in self.done}
        listed = {step.id for step in proposed}
        kept = {s.id: finished[s.id] for s in proposed if _same(s, finished.get(s.id))}
        needed = {id_ for step in proposed if step.id not in kept for id_ in step.depends_on}
        kept |= {id_: s for id_, s in finished.items() if id_ in needed and id_ not in listed}
        # What a finished step was built on no longer matters, unless that may be tried again.
        built = {id_: tuple(d for d in s.depends_on if d in kept) for id_, s in kept.items()}
        steps = [s.replace(depends_on=built[id_]) for id_, s in kept.items()]
        return Plan(
            steps=(*steps, *(s for s in proposed if not _same(s, finished.get(s.id)))),
            results={id_: self.results[id_] for id_ in kept},
            replans=self.replans,
            agreed=self.agreed,
        )

    def _built_on(self, step: str) -> set[str]:
        """The ids of all steps that depend on this one, by whatever way."""
        found, fresh = set[str](), {step}
        while fresh:
            fresh = {s.id for s in self.steps if fresh & set(s.depends_on)} - found
            found |= fresh
        return found


def _same(step: PlanStep, finished: PlanStep | None) -> bool:
    return finished is not None and (
        not step.task.strip() or step.task.split() == finished.task.split()
    )


def _cut(text: str, longest: int) -> str:
    return text if len(text) <= longest else f"{text[:longest]}… ({len(text)} characters)"


MOST_STEPS = 8
LONGEST_TASK = 600

_ID = re.compile(r"[A-Za-z0-9_-]{1,20}")


def problems(steps: Sequence[PlanStep]) -> list[str]:
    """What is wrong with the steps of a plan, for the model to mend; empty where nothing is."""
    return [*_of_each(steps), *_of_their_order(steps)]


def _of_each(steps: Sequence[PlanStep]) -> Iterator[str]:
    if not steps:
        yield "the plan has no steps; give at least one"
    if len(steps) > MOST_STEPS:
        yield f"the plan has {len(steps)} steps; give {MOST_STEPS} at most"
    for id_, count in Counter(step.id for step in steps).items():
        if count > 1:
            yield f"{count} steps have the id {id_[:40]!r}; give each its own"
        if not _ID.fullmatch(id_):
            yield f"the id {id_[:40]!r} won't do; give 1 to 20 letters, digits, - or _"
    for step in steps:
        if not step.task.strip():
            yield f"step {step.id[:40]!r} has no task; say what it is to find out"
        if len(step.task) > LONGEST_TASK:
            yield f"step {step.id[:40]!r}: {len(step.task)} characters; give {LONGEST_TASK} at most"


def _of_their_order(steps: Sequence[PlanStep]) -> Iterator[str]:
    depends_on = {step.id: step.depends_on for step in steps}
    known = ", ".join(id_[:20] for id_ in depends_on)
    for step in steps:
        for other in dict.fromkeys(step.depends_on):
            if other not in depends_on:
                wrong = f"step {step.id[:40]!r} depends on {other[:40]!r}, which is no step of the"
                yield f"{wrong} plan; there are: {known}"
    try:
        TopologicalSorter(depends_on).prepare()
    except CycleError as error:
        circle = " ▸ ".join(str(id_)[:20] for id_ in error.args[1])
        yield f"the steps wait for each other in a circle: {circle}"


OTHERWISE = "The employee was shown this plan and wants it otherwise: see what they said last."
"""Why one that was proposed is planned anew."""
_PROPOSED = Localised(zh="我打算这样做：", en="This is my plan:")
_GO, _LEAVE = Localised(zh="就这么办", en="Go ahead"), Localised(zh="不办了", en="Leave it")
_MAY_I = Localised(
    zh="这样可以吗？确认就开始，不办了就取消；要改哪一步，直接说就行。",
    en="Is that all right? Yes starts it, no leaves it; or say what should be different.",
)


def card(plan: Plan, locale: Locale) -> ConfirmReply:
    """The plan as the employee is shown it, to be agreed to, called off, or changed in words."""
    steps = {str(number): one_line(step.task) for number, step in enumerate(plan.steps, 1)}
    head = _PROPOSED.within(locale)
    lines = (f"{number}. {task}" for number, task in steps.items())
    return ConfirmReply(
        text="\n".join([head, *lines, _MAY_I.within(locale)]),
        summary=steps,
        told=True,
        question=f"plan:{digest_of([*steps.values()])}",
        yes=_GO.within(locale),
        no=_LEAVE.within(locale),
    )


_DONE = Localised(zh="已经查清：", en="Done so far:")
_OPEN = Localised(zh="还没有完成：", en="Still open:")


def reached(why: str, plan: Plan, locale: Locale) -> str:
    """Why there is no answer, what the finished steps found, and which steps are still open."""
    done = plan.done
    found = [f"- {one_line(s.task)}: {one_line(done[s.id])}" for s in plan.steps if s.id in done]
    open_ = [f"- {one_line(step.task)}" for step in plan.steps if step.id not in done]
    said = [_DONE.within(locale), *found] if found else []
    left = [_OPEN.within(locale), *open_] if open_ else []
    return "\n".join([why, *said, *left])
