"""What the ways that a run stands are called: in lists, pictures, cards and on the page alike."""

from router.domain.texts import Localised

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
