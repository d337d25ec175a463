"""What requesters do to their runs, and what happens outside: taking back, hurrying, telling."""

from datetime import UTC, datetime
from typing import Annotated

from fastapi import APIRouter, Body, Path
from pydantic import BaseModel, ConfigDict

from router.api.body import StrictRoute
from router.api.deps import Caller, Given, Services, known
from router.api.idempotency import IdempotencyKey, claim, claimed
from router.api.plain import Comment, PlainObject
from router.api.problems import problems
from router.api.run_access import OwnRun
from router.api.run_words import word_of
from router.contracts import runs
from router.contracts.parts import listening, to_remind
from router.contracts.runs import RunStanding
from router.contracts.withdrawals import Withdrawing
from router.domain.errors import Conflict, NotFound
from router.domain.messages import ENDED
from router.domain.nudging import WHY_NOT
from router.domain.principals import Principal
from router.domain.records import RunRecord
from router.flow.events import Arrived, Cancelled, Nudged
from router.flow.waiting import unfit

router = APIRouter(prefix="/v1/flow-runs", tags=["flow runs"], route_class=StrictRoute)

_ENDED_OTHERWISE = ENDED - {"cancelled"}


class Remark(BaseModel):
    """Why, if one likes to say."""

    model_config = ConfigDict(extra="forbid")

    comment: Comment | None = None


@router.post("/{run}/withdraw", responses=problems(400, 403, 404, 409, 413, 415))
async def withdraw(
    services: Given,
    caller: Caller,
    record: OwnRun,
    key: IdempotencyKey,
    body: Remark | None = None,
) -> RunStanding:
    """Take a run back; what it did already is undone.

    A completed one is taken back by a run of its own, which asks for approval first: the answer
    is how that stands.
    """
    comment = body.comment if body else None
    if record.withdrawn_by is not None or record.remedy is not None:
        return await _withdraw_completed(services, caller, record, key, comment)
    await claim(services, caller, key, f"withdraw {record.id}", comment)
    event = Cancelled(by=caller.id, comment=comment)
    return await cancelled(services, caller, record, event, word_of("withdraw", caller, key))


async def cancelled(
    services: Services, caller: Principal, record: RunRecord, event: Cancelled, word: str
) -> RunStanding:
    """Cancel the run; `Conflict` where it ended by itself before that."""
    standing = await runs.tell(services.temporal, record, caller, event, word)
    if standing.status in _ENDED_OTHERWISE:
        raise Conflict(f"The run had ended before it could be taken back: it is {standing.status}.")
    return standing


async def _withdraw_completed(
    services: Services, caller: Principal, record: RunRecord, key: str | None, comment: str | None
) -> RunStanding:
    kept = services.store.runs
    share = services.fairness.share(caller.tenant, caller.id)
    withdrawing = Withdrawing(services.temporal, services.settings.task_queue, kept, share)
    repeated = await claimed(services, caller, key)
    await claim(services, caller, key, f"withdraw {record.id}", comment)
    begun = await withdrawing.under_way(record) if repeated else None
    if begun is not None:
        return begun
    word = word_of("withdraw", caller, key)
    return await withdrawing.begin(record, caller, caller.locale, comment, word)


@router.post("/{run}/nudge", responses=problems(403, 404, 409))
async def nudge(
    services: Given, caller: Caller, record: OwnRun, key: IdempotencyKey
) -> RunStanding:
    """Remind those whose decision the run, or a part of it, waits for; once an hour at most."""
    asking, why_not = await to_remind(services.store.runs, record, datetime.now(UTC))
    if why_not is not None and not await claimed(services, caller, key):
        raise Conflict(WHY_NOT[why_not])
    await claim(services, caller, key, f"nudge {record.id}")
    word = word_of("nudge", caller, key)
    standing = RunStanding(id=record.id, status=record.status, state=record.state)
    for one in asking:
        told = await runs.tell(services.temporal, one, caller, Nudged(by=caller.id), word)
        standing = told if one.id == record.id else standing
    return standing


EventName = Annotated[str, Path(pattern="^[a-z][a-z0-9_]{0,63}$")]
EventBody = Annotated[PlainObject | None, Body()]


@router.post("/{run}/events/{name}", responses=problems(400, 404, 409, 413, 415))
async def happen(
    run: str,
    name: EventName,
    services: Given,
    caller: Caller,
    key: IdempotencyKey,
    body: EventBody = None,
) -> RunStanding:
    """Tell a run what happened outside, as the role that its flow names.

    The body has the fields that the flow wants. An event that comes before the run waits for it
    is kept; until it is needed it counts once. Where a branch or sub-flow waits for it, that is
    told, and answered with.
    """
    record = await services.store.runs.find(caller.tenant, known(run, "flow run"))
    if record is None:
        raise NotFound("There is no such flow run, or it waits for no such event of yours.")
    value = body or {}
    word, kept = word_of("event", caller, key), services.store.runs
    concerned, wanted = await listening(services.temporal, kept, record, caller, name, word)
    faulty = unfit(wanted, value)
    if faulty is not None:
        raise faulty
    await claim(services, caller, key, f"event {record.id} {name}", value)
    event = Arrived(by=caller.id, name=name, value=value, word=word)
    return await runs.happen(services.temporal, concerned, caller, event)
