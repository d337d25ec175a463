"""Asking for slots."""

from collections.abc import Iterator
from typing import ClassVar

from router.domain.locale import Localised
from router.flow.definition import Next, Outline, State, register_state_kind
from router.flow.engine import form
from router.flow.engine.compensation import go_back
from router.flow.engine.context import StepContext
from router.flow.validation.unchecked import complaint
from router.formats.validation import Complaint
from router.formats.yaml_document import Place


@register_state_kind
class CollectState(State):
    """Asks for slots, where they are empty."""

    kind: ClassVar[str] = "collect"
    needs: ClassVar[tuple[str, ...]] = ("next",)
    label: ClassVar[Localised] = Localised(zh="收集", en="collects")
    about: ClassVar[Localised] = Localised(
        zh="向申请人询问还缺的内容。", en="Asks the requester for what is still missing."
    )
    outline: ClassVar[Outline] = Outline(
        mermaid=("[/", "/]"), corners=((-1, 1, -1), (1, 0, -1), (1, -1, 1), (-1, 0, 1))
    )

    collect: tuple[str, ...]
    """The slots that are asked for, in this order, where they are empty."""
    next: Next = ()
    """Where it goes on."""

    def execute(self, context: StepContext) -> bool:
        """Ask for a slot, or go back to where one was asked for that is to be put right."""
        run = context.run
        if run.form.offered_values and go_back(context, form.corrected(context)):
            return True
        known = set(run.form.slots)
        moved = form.collect(context)
        return go_back(context, form.lacking(context, known)) or moved

    def complaints(self, place: Place) -> Iterator[Complaint]:
        """That nothing is asked for."""
        if not self.collect:
            here = (*place, "collect")
            yield complaint(here, "nothing is collected", "name the slots to ask for")
