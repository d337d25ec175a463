"""Branches of a run side by side, until they join."""

from collections.abc import Iterator, Mapping
from collections.abc import Set as AbstractSet
from typing import ClassVar, Literal

from router.domain.locale import Localised
from router.flow.definition import Batching, FlowDefinition, Next, State, register_state_kind
from router.flow.engine import parallel
from router.flow.engine.context import StepContext
from router.flow.validation.graph import reached_from
from router.flow.validation.unchecked import complaint
from router.formats.validation import Complaint
from router.formats.yaml_document import Place

MOST_AT_ONCE = 10


@register_state_kind
class ParallelState(State):
    """Goes on in several branches at once."""

    kind: ClassVar[str] = "parallel"
    needs: ClassVar[tuple[str, ...]] = ("join",)
    may: ClassVar[tuple[str, ...]] = ("otherwise",)
    fails: ClassVar[bool] = True
    label: ClassVar[Localised] = Localised(zh="同时进行", en="side by side")
    about: ClassVar[Localised] = Localised(
        zh="同时做几件事，再汇合。", en="Does several things at once, and joins them."
    )

    parallel: tuple[str, ...]
    """The states at which branches begin; each ends where it comes to `join`."""
    wait_for: Literal["all", "any"] | None = None
    """Whether all branches have to come to `join`, or one is enough."""
    rest: Literal["stop", "finish"] | None = None
    """What becomes of the other branches once it is decided without them."""
    save: str | None = None
    """The name that the result has in `results`."""
    join: Next = ()
    """The state at which the branches are done."""
    otherwise: Next = ()
    """Where it goes on after any other end."""

    @property
    def batch(self) -> Batching | None:
        """The branches."""
        return Batching(branches=self.parallel, wait_for=self.wait_for, rest=self.rest)

    def execute(self, context: StepContext) -> bool:
        """Have the branches run, and go on when they have joined or ended."""
        return parallel.go_on(context)

    def complaints(self, place: Place) -> Iterator[Complaint]:
        """Branches that are none, and that never join."""
        here = (*place, "parallel")
        if len(self.parallel) < 2 or len(set(self.parallel)) < len(self.parallel):  # noqa: PLR2004
            what = "branches are two or more different ones"
            yield complaint(here, what, "name their first states")
        if any(branch.condition for branch in self.join):
            what = "branches join in one state"
            yield complaint((*place, "join"), what, "write join: <state>, and branch there")

    def complaints_of_ways(self, place: Place, whole: FlowDefinition) -> Iterator[Complaint]:
        """Branches that never join, that begin anew, or in which slots change."""
        if not self.join:
            return
        here, join, states = (*place, "parallel"), self.join[0].to, whole.states
        inner = {n: s.targets() & set(states) if n != join else set() for n, s in states.items()}
        for number, branch in enumerate(self.parallel):
            if branch in states:
                yield from _branch(states, (*here, number), branch, join, inner)

    @property
    def shown(self) -> Localised | str:
        """The states at which the branches begin."""
        return ", ".join(self.parallel)


def _branch(
    states: Mapping[str, State],
    place: Place,
    branch: str,
    join: str,
    inner: Mapping[str, AbstractSet[str]],
) -> Iterator[Complaint]:
    within = reached_from(branch, inner)
    if branch == join or join not in within:
        what = f"the branch {branch} never comes to {join}, where the branches join"
        yield complaint(place, what, f"lead some state after {branch} to {join}")
    owner = str(place[1])
    if owner in within - {join}:
        what = f"the branch {branch} comes back to {owner}, and would begin itself again"
        yield complaint(place, what, f"lead it to {join} instead")
    for name in sorted(within - {join}):
        for key, slots in (("collect", states[name].collects), ("forget", states[name].forgets)):
            if slots:
                what = f"{name} stands in a branch of {owner}, where slots stay as they are"
                yield complaint(("states", name, key), what, f"ask before {owner}, or after {join}")


def each_complaints(
    whole: FlowDefinition, place: Place, each: str | None, at_once: int | None
) -> Iterator[Complaint]:
    """What is wrong with the list for whose items a state does something."""
    if each is None:
        if at_once is not None:
            yield complaint((*place, "at_once"), "one thing is always at once", "add each: slots.…")
        return
    before, _, name = each.strip().partition("slots.")
    slot = whole.slots.get(name) if not before else None
    if slot is not None and slot.kind.made_of != "of":
        what = f"{each} is no list but of type {slot.type}"
        yield complaint((*place, "each"), what, "name a slot of type list, or leave each out")
    if at_once is not None and not 1 <= at_once <= MOST_AT_ONCE:
        what = f"{at_once} at once can't be"
        yield complaint((*place, "at_once"), what, f"from 1 to {MOST_AT_ONCE}")
