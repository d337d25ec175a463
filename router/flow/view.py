"""What a conversation is told of a run: what to say, what is asked, how it stands."""

from collections.abc import Mapping

from pydantic import JsonValue

from router.domain.locale import Localised
from router.domain.messages import ASKING, ENDED, FlowStatus, FlowSummary, Reply
from router.domain.value import Value
from router.flow.slot_types.slot import Slot

STATUSES: dict[str, Localised] = {
    "collecting": Localised(zh="填写中", en="in progress"),
    "confirming": Localised(zh="待确认", en="to be confirmed"),
    "running": Localised(zh="办理中", en="being processed"),
    "waiting_approval": Localised(zh="审批中", en="waiting for approval"),
    "waiting": Localised(zh="等待中", en="waiting"),
    "completed": Localised(zh="已完成", en="completed"),
    "rejected": Localised(zh="已驳回", en="rejected"),
    "cancelled": Localised(zh="已取消", en="cancelled"),
    "failed": Localised(zh="失败", en="failed"),
    "expired": Localised(zh="已过期", en="expired"),
}


class FlowView(Value):
    """A run as its conversation sees it after an event."""

    id: str
    flow: str
    title: Localised
    version: int
    status: FlowStatus
    state: str
    question: str
    awaiting: list[str] = []
    slots: dict[str, JsonValue] = {}
    latest: list[str] = []
    """The slots that the requester gave last, all with one word."""
    slot_set: str = ""
    """Which slots a person may fill, as `name_slots` names them: all runs that have the same share
    one definition of them. Empty if there are none."""
    replies: list[Reply] = []
    events: int = 0
    no_matches: int = 0
    """Answers in a row that didn't answer what is asked."""
    amends: bool = False
    """True where it asks whether a change of what waits for approval is to be made."""
    whole: str | None = None
    """Of a branch: the run that it is a part of, by public id."""
    reading: list[str] = []
    """The files that were offered and that it waits to be read, by id."""
    kept: dict[str, JsonValue] | None = None
    """What a run that expired without a word was told; another one can go on from there."""
    skipped: list[str] = []
    """The slots that the requester of such a run had left empty."""

    @property
    def ended(self) -> bool:
        """True where nothing can happen to the run any more."""
        return self.status in ENDED

    @property
    def asking(self) -> bool:
        """True where the run waits for a word from its requester."""
        return self.status in ASKING

    @property
    def shown_question(self) -> str | None:
        """What the question that is shown is named; None where it is asked in words alone."""
        named = (getattr(reply, "question", None) for reply in self.replies)
        return next((name for name in named if name), None)

    @property
    def summary(self) -> FlowSummary:
        """The part that a turn shows."""
        return FlowSummary(
            id=self.id,
            name=self.flow,
            status=self.status,
            state=self.state,
            awaiting=self.awaiting,
            slots=self.slots,
        )

    def with_slots(self, slot_sets: Mapping[str, dict[str, Slot]]) -> "FormView":
        """Return the view with the slots of its `slot_set`; with none if that isn't known."""
        return FormView(**dict(self), fillable=slot_sets.get(self.slot_set, {}))


class FormView(FlowView):
    """A run's view with the definitions of the slots that a person may fill.

    The definitions are those that the run began with: its flow's file may have changed since. They
    are several times as large as the view, so that a view is kept and sent without them.
    """

    fillable: dict[str, Slot]

    def without_slots(self) -> FlowView:
        """Return the view as it is kept and sent."""
        return FlowView(**{name: value for name, value in self if name != "fillable"})

    def label_of(self, slot: str) -> Localised:
        """What people call a slot; its own name where the file has no label for it."""
        known = self.fillable.get(slot)
        return known.label if known and known.label else Localised(zh=slot, en=slot)
