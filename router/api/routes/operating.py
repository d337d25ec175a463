"""What operators do to runs: each a line of the audit trail, and then the act."""

from typing import Annotated

from fastapi import APIRouter, Depends
from pydantic import BaseModel, ConfigDict, Field

from router.api.body import StrictRoute
from router.api.deps import OPERATOR, Caller, Given, Witnessed
from router.api.idempotency import IdempotencyKey, claim
from router.api.plain import Comment
from router.api.problems import problems
from router.api.routes.acting import Remark, cancelled
from router.api.run_access import VisibleRun
from router.api.run_words import word_of
from router.contracts import runs
from router.contracts.runs import RunStanding
from router.domain.errors import FieldProblem, Forbidden, InvalidInput
from router.domain.records import RunRecord
from router.flow.events import Cancelled, Reassigned, Retried

router = APIRouter(prefix="/v1/flow-runs", tags=["flow runs"], route_class=StrictRoute)

PersonId = Annotated[str, Field(min_length=1, max_length=64)]


class NewApprover(BaseModel):
    """Who is to decide, and in whose place."""

    model_config = ConfigDict(extra="forbid")

    to: PersonId
    instead_of: PersonId
    comment: Comment | None = None


async def _operated_run(record: VisibleRun, caller: Caller) -> RunRecord:
    if OPERATOR not in caller.roles:
        raise Forbidden("Only an operator may do this to a flow run.")
    return record


OperatedRun = Annotated[RunRecord, Depends(_operated_run)]


@router.post("/{run}/retry", responses=problems(400, 403, 404, 409, 413, 415))
async def retry(
    services: Given,
    witness: Witnessed,
    record: OperatedRun,
    key: IdempotencyKey,
    body: Remark | None = None,
) -> RunStanding:
    """Operators: make the call again that failed and that the run is held for."""
    await claim(services, witness.person, key, f"retry {record.id}")
    comment = body.comment if body else None
    await witness.note("run.retry", record.id, whose=record.requester, reason=comment)
    word = word_of("retry", witness.person, key)
    return await runs.operate(services.temporal, record, Retried(by=witness.person.id), word)


@router.post("/{run}/terminate", responses=problems(400, 403, 404, 409, 413, 415))
async def terminate(
    services: Given,
    witness: Witnessed,
    record: OperatedRun,
    key: IdempotencyKey,
    body: Remark | None = None,
) -> RunStanding:
    """Operators: end a run, whoever's it is; what it did already is undone.

    What could not be undone before is left as it is.
    """
    caller, comment = witness.person, body.comment if body else None
    await claim(services, caller, key, f"terminate {record.id}", comment)
    await witness.note("run.terminate", record.id, whose=record.requester, reason=comment)
    event = Cancelled(by=caller.id, comment=comment, final=True)
    return await cancelled(services, caller, record, event, word_of("terminate", caller, key))


@router.post("/{run}/reassign", responses=problems(400, 403, 404, 409, 413, 415))
async def reassign(
    services: Given,
    witness: Witnessed,
    record: OperatedRun,
    key: IdempotencyKey,
    body: NewApprover,
) -> RunStanding:
    """Operators: have someone else decide, in place of one whom the run waits for."""
    caller = witness.person
    if await services.directory.find(caller.tenant, body.to) is None:
        raise InvalidInput(
            "`to` names nobody in the directory.", [FieldProblem("to", "nobody has this id")]
        )
    await claim(services, caller, key, f"reassign {record.id}", body.model_dump(mode="json"))
    passed = f"{body.instead_of} ▸ {body.to}"
    await witness.note(
        "run.reassign", record.id, whose=record.requester, reason=body.comment, detail=passed
    )
    event = Reassigned(by=caller.id, **body.model_dump())
    word = word_of("reassign", caller, key)
    return await runs.operate(services.temporal, record, event, word)
