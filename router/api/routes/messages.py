"""Messages of a conversation: sent, asked after, and read again."""

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Any, Literal, NamedTuple

from fastapi import APIRouter, Depends, Query, Request
from fastapi.responses import JSONResponse, Response
from pydantic import BaseModel, JsonValue

from router.api.conversations import live_standing, standing
from router.api.dependencies import (
    AppState,
    Given,
    Offers,
    OwnConversation,
    Person,
    Services,
    known,
)
from router.api.errors import problems
from router.api.idempotency import IdempotencyKey
from router.api.params import StrictRoute, events, fresh_id, prefers_events
from router.api.streams import EventStream, MessageInProgress, turn_events
from router.api.turns import MessageBody
from router.contracts.conversation import Submission
from router.domain.errors import FieldProblem, InvalidInput, NotFound, RouterError
from router.domain.hand_offs import NamedPerson
from router.domain.messages import Message, Reply, Route, StartAction, ToolResultAction, Turn, Usage
from router.domain.principals import Principal
from router.domain.records import ConversationRecord
from router.store.event_log import LAST_SEQUENCE


def check_start(message: Message, offered: Offers, caller: Principal) -> None:
    """Return where the message starts nothing by name, or what the caller may start.

    Raises `NotFound` where it is none of theirs, `InvalidInput` where it can't be started so.
    Values that a slot can't hold are the flow's to refuse, in words, as a form's are.
    """
    action = message.action
    if not isinstance(action, StartAction):
        return
    flow = offered.startable(action.flow, caller)
    if flow is None:
        raise _not_started(action.flow, offered, caller)
    unknown = [name for name in action.slots if name.split(".")[0] not in flow.slots]
    if unknown:
        known = ", ".join(flow.slots) or "none"
        raise InvalidInput(
            f"{action.flow} has no such slots; it has: {known}.",
            [FieldProblem(f"action.slots.{name}", "isn't known here") for name in unknown],
        )


def _not_started(name: str, offered: Offers, caller: Principal) -> RouterError:
    shown = next((each for each in offered.visible_to(caller) if each.name == name), None)
    if shown is None or shown.kind != "tool":
        return NotFound(f"There is no flow or tool {name!r} that you may start.")
    why = "needs arguments that no form can ask for: say what you want as `text`"
    if shown.client:
        why = (
            "is called by the front end, when a turn has a tool call that is `waiting`; answer "
            "that with an action `tool_result`"
        )
    problem = FieldProblem("action.flow", "can't be started by name")
    return InvalidInput(f"{name} {why}.", [problem])


async def check_result(services: Services, message: Message, record: ConversationRecord) -> None:
    """Return where the message brings no result, or one that its tool declares.

    Raises `InvalidInput` where it is of another type; the call still waits then. That nobody waits
    for it is the conversation's to say: it may be a repeat.
    """
    action = message.action
    if not isinstance(action, ToolResultAction) or action.error is not None:
        return
    stands = await standing(services, record.tenant, record.id)
    tool = stands.waiting_calls.get(action.tool_call_id)
    offered = services.offered.of(record.tenant)
    if tool and (problems := offered.result_problems(tool, action.result)[:10]):
        raise InvalidInput(
            f"The result isn't what {tool} declares that it gives: {'; '.join(problems)}.",
            [FieldProblem("action.result", problem) for problem in problems],
        )


async def names_of_files(
    services: Services, caller: Principal, files: Sequence[str]
) -> dict[str, str]:
    """What these files are called, by their ids; `InvalidInput` names those that aren't theirs."""
    found = [await services.store.files.find(caller.tenant, file) for file in files]
    mine = {one.id: one.name for one in found if one and one.owner == caller.id}
    why = "there is no such file of yours; hand it in by POST /v1/files first"
    wrong = [
        FieldProblem(f"files.{place}", why) for place, file in enumerate(files) if file not in mine
    ]
    if wrong:
        raise InvalidInput(f"{wrong[0].field}: {why}.", wrong)
    return mine


router = APIRouter(
    prefix="/v1/conversations/{conversation}/messages", tags=["messages"], route_class=StrictRoute
)


class Running(BaseModel):
    """The message was taken in; its turn isn't over yet."""

    message_id: str
    status: Literal["running"] = "running"


class AttachedFile(BaseModel):
    """A file that came with a message."""

    id: str
    name: str


class TranscriptItem(BaseModel):
    """One thing that was said, by the person or to them; of files alone `text` is their names."""

    id: str
    at: datetime
    role: Literal["user", "assistant"]
    text: str
    files: list[AttachedFile] | None = None
    replies: list[Reply] | None = None
    structured: dict[str, JsonValue] | None = None
    route: Route | None = None
    message_id: str | None = None
    usage: Usage | None = None
    """Of an answer: what its turn cost, and the `model` that answered last, if one did."""
    author: NamedPerson | None = None
    """Who said it, where that is a person and not the desk."""


_SLOW: dict[int | str, dict[str, Any]] = {
    202: {"model": Running, "description": "It takes longer than `wait`; ask again."}
}
_EVENTS: dict[int | str, dict[str, Any]] = {
    200: {
        "content": events("`data` is JSON; that of the last event, `turn`, is the Turn."),
        "description": "The turn.",
    }
}


class ChosenId(NamedTuple):
    """The id of a message that is being sent."""

    value: str
    is_fresh: bool
    """True where the desk chose it: nobody has sent a message under it before."""


async def _chosen_id(request: Request, body: MessageBody, key: IdempotencyKey) -> ChosenId:
    """Choose the message's id first of all: a refusal says under which one to send it again."""
    given = body.id_with(key)
    chosen = ChosenId(given or fresh_id(), is_fresh=given is None)
    request.state.message_id = chosen.value
    return chosen


async def _submission(
    services: Services,
    message_id: ChosenId,
    body: MessageBody,
    caller: Principal,
    record: ConversationRecord,
) -> Submission:
    message = body.message
    check_start(message, services.offered.of(caller.tenant, caller.id), caller)
    await check_result(services, message, record)
    return Submission(
        message_id=message_id.value,
        fresh=message_id.is_fresh,
        message=message,
        file_names=await names_of_files(services, caller, message.files),
        caller=caller,
        on_busy=body.on_busy,
        seconds=services.settings.llm_turn_seconds,
        response_schema=body.response_schema,
    )


@router.post(
    "",
    response_model=Turn,
    response_model_exclude_none=True,
    responses={**_EVENTS, **_SLOW, **problems(400, 403, 404, 409, 413, 415, 429)},
)
async def send(
    request: Request,
    message_id: Annotated[ChosenId, Depends(_chosen_id)],
    caller: Person,
    record: OwnConversation,
    body: MessageBody,
    wait: Annotated[float, Query(ge=0, le=120, allow_inf_nan=False)] = 30,
) -> Response:
    """Say or do something, and get the turn that answers it.

    Where that takes longer than `wait` seconds the answer is 202, and the turn goes on. With
    `Accept: text/event-stream` what happens in the turn comes as it happens, and last the turn.
    A 429 or 503 has the `message_id` under which the message may be sent again, and where
    `outcome` is `unknown` it may have been accepted all the same: it is never done twice.
    """
    state = AppState.of(request)
    services, turns = state.services, state.turns
    submission = await _submission(services, message_id, body, caller, record)
    if prefers_events(", ".join(request.headers.getlist("accept"))):
        under_way = MessageInProgress(services.store.live, turns, record, submission)
        return await EventStream.begun(turn_events(request, under_way))
    return _answer(submission.message_id, await turns.submit(record, submission, wait))


@router.get(
    "/{message_id:path}",
    response_model=Turn,
    response_model_exclude_none=True,
    responses={**_SLOW, **problems(404)},
)
async def show(services: Given, record: OwnConversation, message_id: str) -> Response:
    """Get the turn that answered a message, however long ago; 202 while it runs."""
    wanted = known(message_id, "message")
    log = services.store.log
    recorded = await log.turn(record.tenant, record.id, wanted)
    if recorded is None:
        now = await live_standing(services.temporal, record.tenant, record.id)
        if now is not None and wanted in now.running:
            return _answer(wanted, None)
        # It may have ended between the two questions.
        recorded = await log.turn(record.tenant, record.id, wanted)
    if recorded is None:
        raise NotFound("There is no such message.")
    return _answer(wanted, recorded.turn)


@router.get("", response_model_exclude_none=True, responses=problems(404))
async def transcript(
    services: Given,
    record: OwnConversation,
    after: Annotated[int | None, Query(ge=0, le=LAST_SEQUENCE)] = None,
    limit: Annotated[int, Query(ge=1, le=200)] = 50,
) -> Response:
    """Read the transcript, oldest first; `next` is the `after` of the next page."""
    entries = await services.store.log.transcript(record.tenant, record.id, after, limit + 1)
    shown_ones = ({**e.data, "id": str(e.sequence), "at": e.at} for e in entries[:limit])
    items = [TranscriptItem.model_validate(each) for each in shown_ones]
    shown = [item.model_dump(mode="json", exclude_none=True) for item in items]
    return JSONResponse({"items": shown, "next": items[-1].id if len(entries) > limit else None})


def _answer(message_id: str, turn: Turn | None) -> Response:
    if turn is None:
        return JSONResponse(Running(message_id=message_id).model_dump(), 202)
    return JSONResponse(turn.shown())
