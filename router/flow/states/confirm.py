"""Asking the requester yes or no."""

from typing import ClassVar

from router.domain.locale import Localised
from router.flow.definition import Next, Outline, State, hexagon, register_state_kind
from router.flow.engine.changes import CHANGE
from router.flow.engine.compensation import go_back
from router.flow.engine.context import StepContext
from router.flow.engine.run import Run
from router.flow.engine.slots import root


@register_state_kind
class ConfirmState(State):
    """Shows a text and the slots, and asks yes or no."""

    kind: ClassVar[str] = "confirm"
    needs: ClassVar[tuple[str, ...]] = ("confirmed", "declined")
    label: ClassVar[Localised] = Localised(zh="请申请人确认", en="asks to confirm")
    about: ClassVar[Localised] = Localised(
        zh="把内容念给申请人听，等他确认。",
        en="Reads everything back to the requester and waits for a yes.",
    )
    outline: ClassVar[Outline] = Outline(mermaid=("{", "}"), corners=hexagon(1.2))

    confirm: Localised
    """Shows this and the slots, and asks yes or no."""
    confirmed: Next = ()
    """Where it goes on after a yes."""
    declined: Next = ()
    """Where it goes on after a no."""

    @property
    def texts(self) -> dict[tuple[str, ...], Localised]:
        """What is shown."""
        return {("confirm",): self.confirm}

    @property
    def rests(self) -> bool:
        """True: it waits for the answer."""
        return True

    def execute(self, context: StepContext) -> bool:
        """Wait for the answer, or go back to where a slot was asked for that is put right."""
        run = context.run
        # The slots that are being put right, and the one that is to be asked for anew.
        offered = [*run.form.offered_values, run.form.offered_values.get(CHANGE)]
        put_right = {root(path) for path in offered if isinstance(path, str)}
        if run.form.offered_values and go_back(context, put_right):
            return True
        if run.approvals.confirmed_slots == run.form.slots and _confirmed_before(run):
            context.leave("confirmed", run.requester.id)
            return True
        run.status, run.form.offered_values, run.approvals.confirmed_slots = "confirming", {}, None
        return False


def _confirmed_before(run: Run) -> bool:
    """True where the requester has confirmed in this state, before they changed what was said."""
    lines = zip(run.history, run.history[1:], strict=False)
    return any(there.state == run.state and then.event == "confirmed" for there, then in lines)
