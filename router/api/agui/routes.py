"""`POST /ag-ui`: the Agent User Interaction Protocol 1.0, in which a run is a turn."""

from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import Response

from router.api.agui.input import RunInput, planned
from router.api.agui.run import AguiRun
from router.api.conversations import standing, thread, thread_id
from router.api.dependencies import Given, OpenTurns, Person
from router.api.errors import problems
from router.api.params import StrictRoute, events
from router.api.routes.messages import check_result

PATH = "/ag-ui"
CHANNEL = "ag-ui"
MAX_BODY = 1024 * 1024
BODIES = {PATH: MAX_BODY}
"""Bytes of an input: it carries a chat's whole history each time, and small pictures."""

router = APIRouter(tags=["ag-ui"], route_class=StrictRoute)

_EVENTS: dict[int | str, dict[str, Any]] = {
    200: {
        "content": events("`data` is one of AG-UI's events, as JSON."),
        "description": "AG-UI's events, from `RUN_STARTED` to `RUN_FINISHED` or `RUN_ERROR`.",
    }
}


@router.post(
    PATH,
    response_class=Response,
    responses={**_EVENTS, **problems(400, 403, 404, 409, 413, 415, 429)},
)
async def run(
    request: Request, services: Given, caller: Person, turns: OpenTurns, body: RunInput
) -> Response:
    """Run the desk for a thread: say something, answer interrupts, or look how things stand.

    The same `runId` again is the same answer. What is refused before the run begins is a
    problem with its status; afterwards it is a `RUN_ERROR`.
    """
    store = services.store
    id_ = thread_id(caller, CHANNEL, body.thread_id)
    before = await standing(services.temporal, store.conversations, caller.tenant, id_)
    plan = await planned(services, caller, body, before)
    record = await thread(store.conversations, caller, CHANNEL, body.thread_id)
    for message in plan.messages:
        await check_result(
            message, services.offered, services.temporal, store.conversations, record
        )
    return await AguiRun(request, services, turns, caller, record, body, plan, before).response()
