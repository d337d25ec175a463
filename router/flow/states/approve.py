"""Asking other people to agree."""

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import ClassVar

from router.domain.locale import Localised
from router.flow.definition import Approve, Next, Outline, State, register_state_kind
from router.flow.engine import approval
from router.flow.engine.context import StepContext
from router.flow.validation.references import approval_complaints
from router.flow.validation.unchecked import complaint
from router.formats.validation import Complaint
from router.formats.yaml_document import Place

APPROVERS: Mapping[str, Localised] = MappingProxyType(
    {
        "manager(requester)": Localised(zh="申请人的上级", en="the requester's manager"),
        "manager(manager(requester))": Localised(
            zh="申请人上级的上级", en="the manager of the requester's manager"
        ),
        "role('{role}')": Localised(zh="角色 {role} 的人", en="whoever holds the role {role}"),
    }
)
"""Who is asked most often, by the expression for `by`; `{role}` stands for a role of the house."""


@register_state_kind
class ApproveState(State):
    """Asks other people."""

    kind: ClassVar[str] = "approve"
    needs: ClassVar[tuple[str, ...]] = ("approved", "rejected")
    may: ClassVar[tuple[str, ...]] = ("returned", "expired")
    label: ClassVar[Localised] = Localised(zh="审批", en="asks for approval")
    about: ClassVar[Localised] = Localised(
        zh="请别人同意、退回或拒绝，也可以提醒和升级。",
        en="Has others agree, send back or refuse, with reminders and escalation.",
    )
    outline: ClassVar[Outline] = Outline(
        mermaid=("[\\", "/]"), corners=((-1, 0, -1), (1, 0, -1), (1, -1, 1), (-1, 1, 1))
    )

    approve: Approve
    """Asks other people."""
    approved: Next = ()
    """Where it goes on when they agreed."""
    rejected: Next = ()
    """Where it goes on after a no."""
    returned: Next = ()
    """Where it goes on when the approver sends it back for changes."""
    expired: Next = ()
    """Where it goes on when nobody has decided in time."""

    @property
    def texts(self) -> dict[tuple[str, ...], Localised]:
        """What the approver reads first."""
        return {("approve", "title"): self.approve.title}

    @property
    def rests(self) -> bool:
        """True: it waits for the decision."""
        return True

    def execute(self, context: StepContext) -> bool:
        """Open the approval, and wait for the verdict."""
        return approval.approve(context)

    def complaints(self, place: Place) -> Iterator[Complaint]:
        """What is wrong with who is asked, and with its expiry."""
        yield from approval_complaints((*place, "approve"), self.approve)
        if self.expired and self.approve.expire_after is None:
            what = "this approval never expires"
            yield complaint((*place, "expired"), what, "add expire_after: P14D to approve")

    @property
    def shown(self) -> Localised | str:
        """Who is asked."""
        return ", ".join(self.approve.by)
