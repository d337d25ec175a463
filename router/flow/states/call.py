"""Calling a tool, once or for each item of a list."""

from collections.abc import Iterator
from typing import ClassVar

from pydantic import Field

from router.domain.locale import Localised
from router.flow.definition import (
    Batching,
    FlowDefinition,
    Next,
    Outline,
    Retry,
    State,
    register_state_kind,
)
from router.flow.engine import elicitation, incidents, parallel
from router.flow.engine.context import StepContext
from router.flow.engine.run_parts.work import Task
from router.flow.states.parallel import each_complaints
from router.flow.validation.unchecked import complaint
from router.formats.validation import Complaint
from router.formats.yaml_document import Place

MOST_ATTEMPTS = 100


@register_state_kind
class CallState(State):
    """Calls a tool."""

    kind: ClassVar[str] = "call"
    needs: ClassVar[tuple[str, ...]] = ("next",)
    may: ClassVar[tuple[str, ...]] = ("on_error",)
    fails: ClassVar[bool] = True
    label: ClassVar[Localised] = Localised(zh="调用", en="calls")
    about: ClassVar[Localised] = Localised(
        zh="调用公司系统里的一个工具，并记住结果。",
        en="Calls a tool of the company and keeps what it answers.",
    )
    outline: ClassVar[Outline] = Outline(mermaid=("[[", "]]"), bars=True)

    call: str
    """A tool."""
    arguments: dict[str, str] = Field({}, alias="with")
    """An expression for each argument."""
    save: str | None = None
    """The name that the result has in `results`."""
    undo: str | None = None
    """The tool that takes it back, called with the same arguments."""
    retry: Retry | None = None
    """Beyond what the tool itself tries within its minute."""
    hold: bool = False
    """Where it fails for good the run waits for an operator."""
    each: str | None = None
    """A list, for each `item` of which it is called."""
    at_once: int | None = None
    """With `each`: how many calls may be under way at once."""
    next: Next = ()
    """Where it goes on."""
    on_error: Next = ()
    """Where it goes on when it was refused or failed for good."""

    @property
    def tools(self) -> dict[str, str]:
        """The tool, and the one that takes it back."""
        return {"call": self.call, **({"undo": self.undo} if self.undo else {})}

    @property
    def batch(self) -> Batching | None:
        """The calls for all items."""
        if self.each is None:
            return None
        return Batching(tool=self.call, each=self.each, at_once=self.at_once)

    def execute(self, context: StepContext) -> bool:
        """Have the tool called, unless that is put off."""
        run = context.run
        if self.each is not None:
            return parallel.go_on(context)
        if incidents.rests(run):
            run.status = "waiting"
            return False
        id_ = f"{run.state}:{run.visit}"
        key = f"{context.definition.flow}/{run.requester.tenant}/{run.id}:{id_}"
        key += f":again{run.recovery.again}" if run.recovery.again else ""
        run.work.tasks[id_] = Task(
            id=id_,
            kind="call",
            name=self.call,
            arguments=context.arguments(),
            key=key,
            answers=elicitation.answers(context, run.state),
        )
        run.status = "running"
        return False

    def complaints_within(self, place: Place, whole: FlowDefinition) -> Iterator[Complaint]:
        """What is wrong with its items, and with how it is made again."""
        yield from each_complaints(whole, place, self.each, self.at_once)
        for key in ("retry", "hold") if self.each is not None else ():
            if getattr(self, key):
                what = f"{key} is for one call, and each makes several"
                remedy = f"leave {key} out, or make the call in a flow of its own"
                yield complaint((*place, key), what, remedy)
        if self.retry is None:
            return
        here, attempts = (*place, "retry"), self.retry.attempts
        if not 2 <= attempts <= MOST_ATTEMPTS:  # noqa: PLR2004
            what = f"{attempts} calls in all can't be"
            yield complaint((*here, "attempts"), what, f"from 2 to {MOST_ATTEMPTS}")
        if self.retry.every.total_seconds() < 1:
            yield complaint((*here, "every"), "every is too short", "a second is the least")
