"""Calls of tools that need an approval: none may be reached without one, or act on a stranger's id.

For each state this works out what a run surely has when it arrives there, whichever way it came.
Asking for slots, or emptying them, voids what was approved and made before: the calls after that
would not be about what the approvers saw.
"""

import re
from collections.abc import Iterator, Mapping
from functools import reduce
from typing import NamedTuple, Self

from router.flow.definition import FlowDefinition, State, may_ask
from router.flow.validation.unchecked import UncheckedFlow, complaint
from router.formats.validation import Complaint
from router.formats.yaml_document import Place

MAX_NESTED_BRANCHES = 10
"""Branches within branches that are looked through; what lies deeper counts as not approved."""

_RESULT = re.compile(r"\s*results\.([a-z][a-z0-9_]*)\.([a-z][a-z0-9_]*)\s*")


class SureStanding(NamedTuple):
    """What a run surely has when it arrives in a state."""

    approved: bool = False
    """Somebody approved the slots that it holds."""
    made: frozenset[str] = frozenset()
    """The tools that it has called with the slots that it holds."""
    declined: bool = False
    """An approval may have ended otherwise, or may be open, and nobody has approved since."""

    def meet(self, other: "SureStanding") -> "SureStanding":
        """Return what it surely has if it may come with either."""
        approved, made = self.approved and other.approved, self.made & other.made
        return SureStanding(approved, made, self.declined or other.declined)


def complaints(draft: UncheckedFlow) -> Iterator[Complaint]:
    """Everything wrong with the calls of tools that need an approval."""
    known, states = draft.known, draft.definition.states
    if known.tools is None:
        return
    marked = {tool for tool, *_ in known.made_by} | known.approved
    if not any(marked.intersection(state.tools.values()) for state in states.values()):
        return
    ways = Ways.through(draft.definition)
    for place, state in draft.each_state():
        name = str(place[-1])
        yield from _unapproved(draft, ways, name, state)
        for tool, argument, maker, field in sorted(known.made_by):
            if state.tools.get("call") == tool and argument in state.gives:
                here = (*place, "with", argument)
                standing = ways.standings.get(name, SureStanding())
                yield from _not_its_own(draft, here, standing, (tool, argument, maker, field))


def _unapproved(draft: UncheckedFlow, ways: "Ways", name: str, state: State) -> Iterator[Complaint]:
    place: Place = ("states", name)
    undo, call = state.tools.get("undo"), state.tools.get("call")
    if undo in draft.known.approved:
        what = f"{undo} needs an approval, and an undo is called without one"
        yield complaint((*place, "undo"), what, "name the tool that takes the call back")
    if call in draft.known.approved and not ways.standings.get(name, SureStanding(True)).approved:
        what = f"{call} needs an approval, and none is sure on the way {ways.unapproved_way(name)}"
        remedy = (
            "lead every way to it through approved of an approve state, with nothing asked, "
            "rejected or left open after it"
        )
        yield complaint((*place, "call"), what, remedy)


def _not_its_own(
    draft: UncheckedFlow, here: Place, standing: SureStanding, marked: tuple[str, str, str, str]
) -> Iterator[Complaint]:
    """What is wrong with the argument that names what the tool acts on."""
    tool, argument, maker, field = marked
    states = draft.definition.states
    source = _RESULT.fullmatch(states[str(here[1])].gives[argument])
    saved = {
        name: state.tools.get("call") if state.batch is None else None
        for name, state in states.items()
        if source is not None and source[1] in _saves(state)
    }
    if source is None or source[2] != field or {*saved.values()} != {maker}:
        what = f"{tool} acts on what this run made with {maker}, and {argument} is something else"
        remedy = f"save the call of {maker}, as claim say, and write results.claim.{field}"
        yield complaint(here, what, remedy)
    elif maker not in standing.made:
        what = f"{argument} may be of a call of {maker} that was made with other values"
        remedy = f"lead every way from what is asked to {here[1]} through a call of {maker}"
        yield complaint(here, what, remedy)


def _saves(state: State) -> set[str]:
    """Return the names of the results that a state may fill."""
    event = state.awaits.event if state.awaits else None
    return {name for name in (state.saves, event) if name}


class Ways:
    """The ways through a flow's states, with what a run surely has at each."""

    @classmethod
    def through(cls, definition: FlowDefinition) -> Self:
        """Follow every way from the start of the flow."""
        ways = cls(definition.states)
        ways.follow(definition.start, SureStanding())
        return ways

    def __init__(self, states: Mapping[str, State]) -> None:
        self._states = states
        self._branches: dict[tuple[str, SureStanding, str], SureStanding | None] = {}
        self._first: dict[str, str] = {}
        self._unapproved: dict[str, str] = {}
        self.standings: dict[str, SureStanding] = {}

    def follow(
        self, start: str, standing: SureStanding, join: str = "", depth: int = 0
    ) -> SureStanding | None:
        """Follow every way from a state; return what a run has at `join`, if any leads there."""
        found, waiting = {start: standing}, [start]
        self._meet(start, standing)
        while waiting:
            name = waiting.pop()
            if name == join or name not in self._states:
                continue
            for to, after in self._steps(name, found[name], depth):
                worst = found[to].meet(after) if to in found else after
                if worst != found.get(to):
                    found[to] = worst
                    waiting.append(to)
                    # What it has there is known when all branches have joined.
                    if to != join:
                        self._meet(to, worst, name)
        return found.get(join)

    def unapproved_way(self, name: str) -> str:
        """Return a way to the state on which nobody has approved what the run holds."""
        way = [name]
        before = self._unapproved.get(name)
        while before and before not in way:
            way.insert(0, before)
            before = self._unapproved.get(before) or self._first.get(before)
        return " ▸ ".join(way)

    def _meet(self, name: str, standing: SureStanding, before: str = "") -> None:
        known = self.standings.get(name)
        self.standings[name] = known.meet(standing) if known else standing
        self._first.setdefault(name, before)
        if not standing.approved:
            self._unapproved.setdefault(name, before)

    def approvals_before(self, name: str) -> list[str]:
        """Return the `approve` states whose approval may still hold in the state, in file order."""
        asking = (n for n, state in self._states.items() if state.asks is not None)
        return [each for each in asking if name in self._approved_from(each)]

    def _approved_from(self, name: str) -> set[str]:
        """Return the states that may be reached from `approved`, before anything is asked again."""
        approved = self._states[name].exits().get("approved", ())
        found, waiting = set[str](), [branch.to for branch in approved]
        while waiting:
            each = waiting.pop()
            if each in found or each not in self._states:
                continue
            found.add(each)
            state = self._states[each]
            if state.collects or state.forgets:
                continue
            # After another approval this one still holds, unless that one voids all before it.
            asked = state.exits().get("approved", ()) if state.asks is not None else None
            waiting += [b.to for b in asked] if asked is not None else state.targets()
        return found

    def _steps(
        self, name: str, standing: SureStanding, depth: int
    ) -> Iterator[tuple[str, SureStanding]]:
        state = self._states[name]
        if state.collects or state.forgets:
            standing = SureStanding()
        for exit_, branches in state.exits().items():
            after = self._after(state, exit_, standing, depth)
            if after is not None:
                yield from ((branch.to, after) for branch in branches)

    def _after(
        self, state: State, exit_: str, standing: SureStanding, depth: int
    ) -> SureStanding | None:
        """Return what a run has that leaves the state by this exit; None if it never does."""
        if state.asks is not None:
            agreed = exit_ == "approved"
            return standing._replace(approved=agreed, declined=not agreed)
        if state.kind == "call" and exit_ == "next":
            return standing._replace(made=standing.made | {state.tools["call"]})
        if exit_ == "otherwise":
            # A branch, or a flow that was started, may have ended with a rejection.
            return standing._replace(approved=False, declined=True)
        if state.batch is not None and state.batch.branches:
            return self._joined(state, standing, state.exits()["join"][0].to, depth)
        return standing

    def _joined(
        self, state: State, standing: SureStanding, join: str, depth: int
    ) -> SureStanding | None:
        """Return what a run has when its branches have joined; None if none of them ever does."""
        batch = state.batch
        starts = batch.branches if batch else ()
        if depth >= MAX_NESTED_BRANCHES:
            return SureStanding(declined=True)
        began = standing._replace(declined=False)
        ends = [self._branch(each, began, join, depth + 1) for each in starts]
        known = [end for end in ends if end is not None]
        if not known:
            return None
        if batch and batch.wait_for == "any":
            end = reduce(SureStanding.meet, known)
            # The branches that aren't waited for may have asked somebody who hasn't answered.
            is_open = any(may_ask(self._states, each, join) for each in starts)
            return end._replace(approved=end.approved and not is_open, declined=is_open)
        declined = any(end.declined for end in known)
        # What one branch may have voided the others can't bring back: they only began with it.
        is_voided = declined or (standing.approved and not all(end.approved for end in known))
        approved = any(end.approved for end in known) and not is_voided
        made = frozenset[str]().union(*(end.made for end in known))
        return SureStanding(approved, made, declined or (standing.declined and not approved))

    def _branch(
        self, start: str, standing: SureStanding, join: str, depth: int
    ) -> SureStanding | None:
        key = (start, standing, join)
        if key not in self._branches:
            # One that comes back to where it began is refused elsewhere, and ends here.
            self._branches[key] = None
            self._branches[key] = self.follow(start, standing, join, depth)
        return self._branches[key]
