"""Runs that a run has started and waits for: what is said to the whole reaches the part.

People know one request by one id. Its branches and sub-flows have ids of their own, by which
their approvals and events are awaited.
"""

from datetime import datetime

from temporalio.client import Client

from router.contracts import runs
from router.contracts.flow import Hears
from router.domain.errors import NotFound
from router.domain.messages import ENDED
from router.domain.nudging import NotNow, why_not_now
from router.domain.ports import Runs
from router.domain.principals import Principal
from router.domain.records import RunRecord
from router.flow.model import Wait


async def parts_of(kept: Runs, run: RunRecord) -> list[RunRecord]:
    """The runs that this one started and waits for, and those that these did; ended ones too."""
    found: list[RunRecord] = []
    whole = [run]
    while whole:
        started = await kept.started_by(whole.pop(0))
        found += started
        whole += started
    return found


async def to_remind(
    kept: Runs, run: RunRecord, now: datetime
) -> tuple[list[RunRecord], NotNow | None]:
    """The runs whose approvers the requester of this one is to have reminded.

    With why none of them may be now; None where some may, and then they are those.
    """
    asking = [run]
    if run.status not in ENDED and run.status != "waiting_approval":
        parts = await parts_of(kept, run)
        asking = [part for part in parts if part.status == "waiting_approval"] or asking
    why = {part.id: why_not_now(part, now) for part in asking}
    free = [part for part in asking if why[part.id] is None]
    return (free, None) if free else (asking, why[asking[0].id])


async def listening(
    temporal: Client, kept: Runs, run: RunRecord, caller: Principal, name: str, word: str
) -> tuple[RunRecord, Wait]:
    """Which of the run and its parts an outside event is for, and what the flow says of it.

    That is the one that was told it already as `word`, else one that waits for it now, else one
    that will: a part before the whole, for the parts come first.

    Raises:
        NotFound: none of their flows knows the event, or not from the caller.
        Unavailable: Temporal or its worker is out of reach.
    """
    knowing: list[tuple[RunRecord, Hears]] = []
    for one in [*await parts_of(kept, run), run]:
        heard = await runs.heard_by(temporal, one)
        wait = heard.events.get(name)
        if wait is not None and caller.roles & set(wait.roles):
            knowing.append((one, heard))
    if not knowing:
        raise NotFound("There is no such flow run, or it waits for no such event of yours.")
    going_on = [each for each in knowing if each[0].status not in ENDED]
    told = [each for each in knowing if word and word in each[1].heard]
    waiting = [each for each in going_on if each[1].awaited == name]
    will = [each for each in going_on if name in each[1].ahead]
    chosen, hears = [*told, *waiting, *will, knowing[-1]][0]
    return chosen, hears.events[name]
