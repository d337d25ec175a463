"""Starting another flow, once or for each item of a list."""

from collections.abc import Iterator
from typing import ClassVar

from pydantic import Field

from router.domain.locale import Localised
from router.flow.definition import Batching, FlowDefinition, Next, State, register_state_kind
from router.flow.engine import parallel
from router.flow.engine.context import StepContext
from router.flow.states.parallel import each_complaints
from router.flow.validation.unchecked import complaint
from router.formats.validation import Complaint
from router.formats.yaml_document import Place


@register_state_kind
class SubFlowState(State):
    """Has another flow of the catalogue run for the same requester."""

    kind: ClassVar[str] = "flow"
    may: ClassVar[tuple[str, ...]] = ("completed", "otherwise", "next")
    fails: ClassVar[bool] = True
    label: ClassVar[Localised] = Localised(zh="办理另一流程", en="starts a flow")
    about: ClassVar[Localised] = Localised(
        zh="为申请人办理另一个流程，等它结束。",
        en="Starts another flow for the requester and waits for it.",
    )

    flow: str
    """Another flow of the catalogue, run for the same requester."""
    arguments: dict[str, str] = Field({}, alias="with")
    """An expression for each slot."""
    save: str | None = None
    """The name that the result has in `results`."""
    detached: bool = False
    """What becomes of it is not waited for."""
    each: str | None = None
    """A list, for each `item` of which it is run."""
    at_once: int | None = None
    """With `each`: how many may be under way at once."""
    completed: Next = ()
    """Where it goes on when its run was completed."""
    otherwise: Next = ()
    """Where it goes on after any other end."""
    next: Next = ()
    """Where one that is `detached` goes on."""

    @property
    def batch(self) -> Batching | None:
        """The runs for all items, or the one."""
        return Batching(
            flow=self.flow, each=self.each, at_once=self.at_once, detached=self.detached
        )

    def execute(self, context: StepContext) -> bool:
        """Have the runs made, and go on when they have ended."""
        return parallel.go_on(context)

    def complaints_within(self, place: Place, whole: FlowDefinition) -> Iterator[Complaint]:
        """What is wrong with its items, and which way out it lacks or never takes."""
        yield from each_complaints(whole, place, self.each, self.at_once)
        detached, awaited = ("next", "completed", "otherwise"), ("completed", "next")
        needed, *wrong = detached if self.detached else awaited
        exits = self.exits()
        if needed not in exits:
            what = f"{place[-1]} can't be left: it has no {needed}"
            yield complaint(place, what, f"add {needed}: <state>")
        ways = "a flow that is detached leaves by next, any other by completed and otherwise"
        for name in (name for name in wrong if name in exits):
            yield complaint((*place, name), f"{place[-1]} never leaves by {name}", ways)
