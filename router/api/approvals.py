"""Deciding what waits for the caller's decision: the one way to it, whichever front end asks."""

import asyncio
from typing import Self
from zoneinfo import ZoneInfo

from pydantic import BaseModel, ConfigDict, JsonValue, model_validator

from router.api.dependencies import Caller, Given, Services, known
from router.api.idempotency import claim
from router.api.params import Comment, KeyParameter, PersonId
from router.api.runs import word_of
from router.domain.errors import (
    ApprovalClosed,
    Conflict,
    FieldProblem,
    InvalidInput,
    NotFound,
    Unavailable,
)
from router.domain.locale import LOCALES, Localised
from router.domain.principals import Principal
from router.domain.records import ApprovalRecord
from router.flow.engine.decisions import CHANGED, DONE, decided_already
from router.flow.engine.events import Decided
from router.flow.engine.run_parts.approvals import Position, Verdict
from router.gateway import run_updates
from router.gateway.run_updates import RunStanding

AGAIN_AFTER = (0.1, 0.2, 0.4, 0.8, 1.6, 3.2)
"""Seconds between tries to decide what lists show to be awaited, and the run doesn't."""

_NOBODY: JsonValue = {"type": "null"}
_SOMEBODY: JsonValue = {"type": "string", "minLength": 1}
_ENDING: JsonValue = {"enum": ["approve", "reject", "return"]}
_SHAPES: list[JsonValue] = [
    {"properties": {"decision": _ENDING, "to": _NOBODY, "position": _NOBODY}},
    {
        "properties": {"decision": {"const": "delegate"}, "to": _SOMEBODY, "position": _NOBODY},
        "required": ["to"],
    },
    {"properties": {"decision": {"const": "add"}, "to": _SOMEBODY}, "required": ["to"]},
]
"""Which fields go with which decision, for OpenAPI; `_someone_where_one_is_needed` holds them."""


class DecisionBody(BaseModel):
    """A decision; `to` is whom to ask instead (`delegate`) or as well (`add`).

    Whoever is added decides `before` the caller, who is then asked again, or `after`: then
    the caller agrees by adding them.
    """

    model_config = ConfigDict(extra="forbid", json_schema_extra={"oneOf": _SHAPES})

    decision: Verdict
    comment: Comment | None = None
    to: PersonId | None = None
    position: Position | None = None
    digest: KeyParameter
    """The `digest` of the approval as shown. If that has changed since, nothing is decided."""

    @model_validator(mode="after")
    def _someone_where_one_is_needed(self) -> Self:
        passed_on = self.decision in {"delegate", "add"}
        if passed_on and not self.to:
            raise ValueError(f"decision {self.decision!r} needs `to`: whom it is passed to")
        if not passed_on and self.to is not None:
            raise ValueError(f"decision {self.decision!r} takes no `to`")
        if self.decision != "add" and self.position is not None:
            raise ValueError(f"decision {self.decision!r} takes no `position`")
        return self


async def own_approval(services: Given, caller: Caller, approval: str) -> ApprovalRecord:
    """The approval that the caller was asked for, decided or not; `NotFound` where it isn't."""
    record = await services.store.runs.find_approval(caller.tenant, known(approval, "approval"))
    if record is None or record.person != caller.id:
        raise NotFound("There is no such approval.")
    return record


async def check_person(services: Services, caller: Principal, to: str | None) -> None:
    """Return where `to` is somebody of the caller's tenant, or nobody is named; else raise."""
    if to is not None and await services.directory.find(caller.tenant, to) is None:
        raise InvalidInput(
            "`to` names nobody in the directory.", [FieldProblem("to", "nobody has this id")]
        )


async def decide(
    services: Services,
    caller: Principal,
    record: ApprovalRecord,
    body: DecisionBody,
    key: str | None,
) -> RunStanding:
    """Decide, once, and say where the run stands; the same key gets the first answer again.

    Raises `InvalidInput` where `to` names nobody, and what `settle` raises.
    """
    await check_person(services, caller, body.to)
    await claim(services, caller, key, f"decide {record.id}", body.model_dump(mode="json"))
    event = Decided(
        by=caller.id,
        name=caller.name,
        approval=record.id,
        verdict=body.decision,
        comment=body.comment,
        to=body.to,
        position=(body.position or "after") if body.decision == "add" else None,
        digest=body.digest,
    )
    return await settle(services, record, event, word_of("decide", caller, key))


async def what_changed(services: Services, record: ApprovalRecord) -> Conflict:
    """That its requester changed what was to be decided, and what is different by now."""
    words = dict.fromkeys(LOCALES, "")
    for one in await services.store.runs.awaited(record.tenant, [record.run]):
        for locale in LOCALES:
            changed = one.changes_since(record, locale)
            each = (f"{change.label}: {change.worded}" for change in changed)
            words[locale] = "; ".join(each)
    zh, en = (f"{CHANGED.within(locale)} {words[locale]}".strip() for locale in LOCALES)
    return Conflict(Localised(zh=zh, en=en))


async def settle(
    services: Services, record: ApprovalRecord, event: Decided, word: str
) -> RunStanding:
    """Where the run stands with the decision; `word` makes it one, however often it is sent.

    The same decision of the same person on the same digest, sent again under another `word`, is
    answered as the first one was. A run whose worker died right after it published the approval
    comes to it again within seconds. Until then it knows of none: only what is closed for lists
    too was closed.

    Raises:
        Conflict: something else was decided before, or what is decided on has changed.
        Unconfirmed: it isn't known in time whether the decision was counted.
        Unavailable: the run isn't back after six seconds.
    """
    try:
        return await _settled(services, record, event, word)
    except Conflict as error:
        # A run that has gone on doesn't know the decision any more, its row does. Without an answer
        # of the run the row proves nothing: a server that dies may forget what was written.
        now = await services.store.runs.find_approval(record.tenant, record.id) or record
        if await _has_counted(services, now, event):
            run = await services.store.runs.find(now.tenant, now.run)
            if run is not None:
                return RunStanding(id=run.id, status=run.status, state=run.state)
        if now.verdict not in DONE:
            made = await find_decision(services, now)
            is_closed = isinstance(error, ApprovalClosed | run_updates.RunOver)
            if made is None or made[0] not in DONE or not is_closed:
                raise
            raise decided_already(made[0], None, made[1]) from error
        person = await services.directory.find(now.tenant, now.person)
        raise already_decided(now, person) from error


async def find_decision(services: Services, record: ApprovalRecord) -> tuple[str, str] | None:
    """Return the verdict by which somebody closed an approval, and their name; None if unknown."""
    run = await services.store.runs.find(record.tenant, record.run)
    since = [line for line in run.history if line.at >= record.since] if run else []
    made = next((line for line in since if line.event in DECISIONS and line.by), None)
    if made is None or made.by is None:
        return None
    decider = await services.directory.find(record.tenant, made.by)
    return made.event, decider.name if decider else made.by


DECISIONS = frozenset({*DONE, "escalated"})
"""Events of a run's history by which an approval is somebody's no longer."""


def already_decided(record: ApprovalRecord, person: Principal | None) -> Conflict:
    """Build the refusal of another decision by this person, who has decided before."""
    zone = ZoneInfo(person.timezone if person else "UTC")
    at = record.decided_at.astimezone(zone) if record.decided_at else None
    return decided_already(str(record.verdict), at)


async def _has_counted(services: Services, now: ApprovalRecord, event: Decided) -> bool:
    """Return whether the row says that this very decision was counted."""
    if (now.verdict, now.digest) != (event.verdict, event.digest or now.digest):
        return False
    if event.comment not in (None, now.comment):
        return False
    if event.verdict != "delegate":
        return True
    return event.to in await services.store.runs.concerned(now.tenant, now.run)


async def _settled(
    services: Services, record: ApprovalRecord, event: Decided, word: str
) -> RunStanding:
    closed: ApprovalClosed | None = None
    for pause in AGAIN_AFTER:
        try:
            return await run_updates.decide(services.temporal, record, event, word)
        except ApprovalClosed as error:
            now = await services.store.runs.find_approval(record.tenant, record.id)
            if now is not None and now.verdict == "changed":
                raise await what_changed(services, now) from None
            awaited = now is not None and now.active and now.verdict is None
            if now is None or not (awaited or await _has_counted(services, now, event)):
                raise
            closed = None if awaited else error
        except Conflict as error:
            if error.said == CHANGED:
                raise await what_changed(services, record) from error
            raise
        await asyncio.sleep(pause)
    if closed is not None:
        raise closed
    raise Unavailable("The run is being taken up again after a fault; decide once more.")
