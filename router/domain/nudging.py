"""Whether those whom a run waits for may be reminded now, at its requester's word. Pure."""

from datetime import datetime, timedelta
from typing import Literal

from router.domain.messages import ENDED
from router.domain.records import RunRecord
from router.domain.texts import Localised

AGAIN_AFTER = timedelta(hours=1)
"""How long those who were reminded by the requester are left in peace."""

NotNow = Literal["reminded_lately", "nobody_awaited", "already_over"]

WHY_NOT: dict[NotNow, Localised] = {
    "reminded_lately": Localised(
        zh="刚刚提醒过审批人，过一小时再试。",
        en="The approvers were reminded within the last hour; try again later.",
    ),
    "nobody_awaited": Localised(
        zh="现在不在等任何人审批。", en="It isn't waiting for anybody's decision."
    ),
    "already_over": Localised(
        zh="它已经结束了，没有任何改变。", en="It is over already; nothing was changed."
    ),
}


def why_not_now(run: RunRecord, now: datetime) -> NotNow | None:
    """Why nobody is reminded now; None where somebody can be."""
    if run.status in ENDED:
        return "already_over"
    if run.status != "waiting_approval":
        return "nobody_awaited"
    # A reminder before others were asked, by escalation say, is none of theirs.
    lately = (line for line in run.history if line.state == run.state and line.event == "nudged")
    return "reminded_lately" if any(now - line.at < AGAIN_AFTER for line in lately) else None
