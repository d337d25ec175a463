"""Saying something, and ending."""

from collections.abc import Iterator
from typing import ClassVar

from router.domain.locale import Localised
from router.domain.messages import EndStatus
from router.flow.definition import Next, Outline, State, register_state_kind
from router.flow.engine.context import StepContext
from router.flow.engine.events import Say
from router.flow.engine.run_parts.work import Ending
from router.flow.engine.slots import forget
from router.flow.validation.unchecked import complaint
from router.formats.validation import Complaint
from router.formats.yaml_document import Place


@register_state_kind
class SayState(State):
    """Says something, ends the run, or both."""

    kind: ClassVar[str] = "say"
    may: ClassVar[tuple[str, ...]] = ("next",)
    label: ClassVar[Localised] = Localised(zh="告知", en="says")
    about: ClassVar[Localised] = Localised(
        zh="告诉申请人一句话，也可以在这里结束。",
        en="Tells the requester something, and may end the flow.",
    )
    outline: ClassVar[Outline] = Outline(mermaid=("(", ")"), radius=8)

    say: Localised | None = None
    """Says it."""
    forget: tuple[str, ...] = ()
    """Slots that are emptied."""
    end: EndStatus | None = None
    """How the run ends."""
    keep: bool = False
    """With an `end` other than `completed`: what was done isn't undone."""
    next: Next = ()
    """Where it goes on."""

    @property
    def texts(self) -> dict[tuple[str, ...], Localised]:
        """What is said."""
        return {("say",): self.say} if self.say else {}

    def execute(self, context: StepContext) -> bool:
        """Say it, and go on or end: other than as completed with nothing left done."""
        run = context.run
        if self.say is not None:
            context.effects.append(Say(text=context.render(self.say)))
        forget(context, self.forget)
        if self.end is None:
            context.leave("next")
        elif self.end != "completed" and not self.keep:
            run.work.pending = Ending(status=self.end)
        elif run.recovery.withdraws is not None and self.end == "completed":
            run.recovery.done = [*run.recovery.withdraws.done, *run.recovery.done]
            run.work.pending = Ending(status=self.end)
        else:
            context.end(self.end)
        return True

    def complaints(self, place: Place) -> Iterator[Complaint]:
        """That it does neither or both, or keeps what stays anyway."""
        if bool(self.next) == bool(self.end):
            what = "goes on and ends at once" if self.end else "neither goes on nor ends"
            yield complaint(place, f"{place[-1]} {what}", "write either next: or end:")
        if self.keep and self.end in (None, "completed"):
            what = "what was done stays done there anyway"
            yield complaint((*place, "keep"), what, "leave keep: out, or end otherwise")
