"""The flow run in a path, for those whom it concerns: 404 for everybody else."""

from typing import Annotated

from fastapi import Depends

from router.api.deps import OPERATOR, Caller, Given, Services, Witnessed, known
from router.domain.errors import Forbidden, NotFound
from router.domain.principals import Principal
from router.domain.records import RunRecord


async def _visible_run(run: str, services: Given, caller: Caller) -> RunRecord:
    record = await services.store.runs.find(caller.tenant, known(run, "flow run"))
    visible = record is not None and (
        OPERATOR in caller.roles or await _concerns(services, record, caller)
    )
    if record is None or not visible:
        raise NotFound("There is no such flow run.")
    return record


async def _concerns(services: Services, record: RunRecord, reader: Principal) -> bool:
    """True for the requester, and whoever was asked to decide or told of it."""
    if record.requester == reader.id:
        return True
    return reader.id in await services.store.runs.concerned(record.tenant, record.id)


VisibleRun = Annotated[RunRecord, Depends(_visible_run)]


async def _read_run(
    record: VisibleRun, services: Given, caller: Caller, witness: Witnessed
) -> RunRecord:
    if OPERATOR in caller.roles and not await _concerns(services, record, caller):
        await witness.note("run.read", record.id, whose=record.requester)
    return record


ReadRun = Annotated[RunRecord, Depends(_read_run)]
"""A visible run that is shown: noted where only an operator may see it."""


async def _own_run(record: VisibleRun, caller: Caller) -> RunRecord:
    if record.requester != caller.id:
        raise Forbidden("Only its requester may do this to a flow run.")
    return record


OwnRun = Annotated[RunRecord, Depends(_own_run)]
