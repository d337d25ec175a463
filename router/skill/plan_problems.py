"""What is wrong with a plan that a model made, said so that the model can mend it. Pure."""

import re
from collections.abc import Iterator, Mapping, Sequence
from graphlib import CycleError, TopologicalSorter

from router.skill.plan import Step

MOST_STEPS = 8
LONGEST_TASK = 600
"""Characters."""

_ID = re.compile(r"[A-Za-z0-9_-]{1,20}")


def problems(steps: Sequence[Step]) -> list[str]:
    """What is wrong with the steps of a plan, for the model to mend; empty where nothing is.

    >>> problems([Step(id="a", task="A", depends_on=("b",))])
    ["step 'a' depends on 'b', which is no step of the plan; there are: a"]
    """
    return [*_of_their_number(steps), *_of_each(steps), *_of_their_order(steps)]


def _of_their_number(steps: Sequence[Step]) -> Iterator[str]:
    if not steps:
        yield "the plan has no steps; give at least one"
    if len(steps) > MOST_STEPS:
        yield f"the plan has {len(steps)} steps; give {MOST_STEPS} at most"


def _of_each(steps: Sequence[Step]) -> Iterator[str]:
    ids = [step.id for step in steps]
    for id_ in dict.fromkeys(ids):
        if ids.count(id_) > 1:
            yield f"{ids.count(id_)} steps have the id {id_[:40]!r}; give each its own"
        if not _ID.fullmatch(id_):
            yield f"the id {id_[:40]!r} won't do; give 1 to 20 letters, digits, - or _"
    for step in steps:
        if not step.task.strip():
            yield f"step {step.id[:40]!r} has no task; say what it is to find out"
        if len(step.task) > LONGEST_TASK:
            yield f"step {step.id[:40]!r}: {len(step.task)} characters; give {LONGEST_TASK} at most"


def _of_their_order(steps: Sequence[Step]) -> Iterator[str]:
    ids = {step.id: None for step in steps}
    known = ", ".join(id_[:20] for id_ in ids)
    for step in steps:
        for other in dict.fromkeys(step.depends_on):
            if other not in ids:
                yield (
                    f"step {step.id[:40]!r} depends on {other[:40]!r}, which is no step of the "
                    f"plan; there are: {known}"
                )
    if circle := _circle({step.id: step.depends_on for step in steps}):
        yield f"the steps wait for each other in a circle: {' ▸ '.join(circle)}"


def _circle(depends_on: Mapping[str, Sequence[str]]) -> list[str]:
    try:
        TopologicalSorter(depends_on).prepare()
    except CycleError as error:
        return [str(id_)[:20] for id_ in error.args[1]]
    return []
