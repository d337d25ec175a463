"""Taking back a run that was completed: a run of its own, that asks for approval and then undoes.

It holds what the first one did apart until that is agreed to: rejected, expired or given up
it leaves everything as it is.
"""

from collections.abc import Sequence
from datetime import datetime

from pydantic import JsonValue

from router.domain.texts import Localised
from router.flow.history import Happening, History
from router.flow.model import FlowDefinition, State
from router.flow.run import Done, Run, Withdraws
from router.flow.triggers import Triggers

ASKED, AGREED, REFUSED, LAPSED = "withdrawal", "taken_back", "kept", "lapsed"

_TAKEN_BACK = Localised(
    zh="已同意撤回，正在取消已经办了的事。",
    en="The withdrawal was agreed to; what had been done is being undone.",
)
UNDONE = Localised(
    zh="已经撤回，之前办了的事都取消了。",
    en="It is taken back: everything that had been done has been undone.",
)
_KEPT = Localised(
    zh="撤回没有获批，原来的申请不变。"
    "{% if results.decision.comment %}审批意见：{{ results.decision.comment }}{% endif %}",
    en="The withdrawal was not approved; the request stands as it was."
    "{% if results.decision.comment %} The comment was: {{ results.decision.comment }}{% endif %}",
)
_LAPSED = Localised(
    zh="没有人审批这次撤回，原来的申请不变。",
    en="Nobody decided on the withdrawal; the request stands as it was.",
)


def can_be_withdrawn(definition: FlowDefinition, run: Run) -> bool:
    """True for a completed run that did something its file has a way to take back."""
    return definition.withdrawal is not None and run.status == "completed" and bool(run.done)


def definition_of(definition: FlowDefinition) -> FlowDefinition:
    """The flow that takes back a completed run of this one; its file must have a `withdrawal`."""
    if definition.withdrawal is None:
        raise TypeError(f"{definition.flow} has no withdrawal")
    ask = definition.withdrawal.approve
    states: dict[str, dict[str, object]] = {
        ASKED: {"approve": ask, "approved": AGREED, "rejected": REFUSED},
        AGREED: {"say": _TAKEN_BACK, "end": "completed"},
        REFUSED: {"say": _KEPT, "end": "rejected"},
    }
    if ask.expire_after is not None:
        states[ASKED]["expired"] = LAPSED
        states[LAPSED] = {"say": _LAPSED, "end": "expired"}
    title = definition.title
    return definition.model_copy(
        update={
            "title": Localised(zh=f"撤回{title.zh}", en=f"Withdrawal: {title.en}"),
            "triggers": Triggers(),
            "start": ASKED,
            "states": {name: State.model_validate(state) for name, state in states.items()},
            "withdrawal": None,
        }
    )


def with_what_it_undoes(  # noqa: PLR0913 - a run is made of all these
    run: Run,
    *,
    withdraws: str,
    done: Sequence[Done],
    slots: dict[str, JsonValue],
    results: dict[str, JsonValue],
    files: dict[str, str],
    comment: str | None,
    now: datetime,
) -> Run:
    """The new run as it begins, knowing what the run `withdraws` knew."""
    asked = Happening(
        at=now, state="", event="withdrawal asked", by=run.requester.id, comment=comment
    )
    return run.model_copy(
        update={
            "slots": slots,
            "results": results,
            "files": files,
            "withdraws": Withdraws(run=withdraws, done=list(done)),
            "history": History([asked]),
        }
    )
