"""What happens in a conversation, or to the caller, as it happens and later."""

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Header, Request
from fastapi.responses import Response
from pydantic import WithJsonSchema
from pydantic.json_schema import SkipJsonSchema

from router.api.auth import CallerSession
from router.api.dependencies import Caller, EventHub, Given, OwnConversation
from router.api.errors import problems
from router.api.events import PATTERN, FeedPosition, Following, conversation_feed, person_feed
from router.api.params import StrictRoute, events
from router.api.streams import EventStream
from router.domain.errors import Unauthenticated


async def _check_session(request: Request, caller: Caller) -> None:
    """Refuse a token that is over: requests are answered a little longer, for clocks differ."""
    del caller
    session: CallerSession = request.state.session
    if session.seconds_left is not None and session.seconds_left <= 0:
        raise Unauthenticated(
            "Nothing can be followed with a token whose time (exp) is over: sign in again, or get "
            "a new one."
        )


router = APIRouter(
    prefix="/v1",
    tags=["events"],
    route_class=StrictRoute,
    dependencies=[Depends(_check_session)],
)


def _events(description: str) -> dict[int | str, dict[str, Any]]:
    return {200: {"content": events("`data` is JSON."), "description": description}}


_OF_A_CONVERSATION = _events(
    "`message`, `thinking`, `plan`, `tool_started`, `tool_finished`, `text_delta`, `route`, "
    "`flow`, `reply`, `turn`, `handoff` and `ping`, without an end. All but `text_delta`, `ping` "
    "and words of progress have an `id`. `thinking` has `{status, task, skill, step, attempt, "
    "message_id}`, and once its `status` is `finished` also `{milliseconds, "
    "prompt_tokens, completion_tokens, model}`. `plan` has `{status, skill, id, number, steps, "
    "title, message_id}`, and once its `status` is `finished` also `fate`. `handoff` has `{event, "
    "hand_off, state, cause, agent, ending, requester}`, with the `event` `requested`, `taken`, "
    "`reminded` or `closed`; what a person who helps says is a `reply` with its `author`."
)
_OF_THE_CALLER = _events(
    "`approval`, `flow`, `message`, `handoff` and `ping`, without an end; all but `ping` have an "
    "`id`. "
    "`approval` has `{at, reason, approval, flow_run, flow, title, requester}`: with the `reason` "
    "`asked`, `reminded`, `nudged`, `escalated`, `delegated` or `added` a decision of the caller's "
    "is awaited; with `decided`, `withdrawn`, `changed`, `expired`, `passed_on` or `lost` and an "
    "`approval` it no longer is; `copied`, and `decided` where `approval` is null, only tell. "
    "`flow` has `{at, flow_run, flow, title, status, state, conversation}` of a run of the "
    "caller's own that now stands elsewhere. `message` has `{conversation, id, at, role, text, "
    "message_id}` of what "
    "was said in a conversation of the caller's, at most 200 letters of it, with the `author` if "
    "that is a person who helps. `handoff` is for who "
    "takes what is handed to people: `{at, event, hand_off, conversation, state, cause, agent, "
    "ending, requester, message_id}`, with the `event` `said` once its employee has said more."
)

_Id = Annotated[str, WithJsonSchema({"type": "string", "pattern": PATTERN})]


async def _after(
    last_event_id: Annotated[
        _Id | SkipJsonSchema[None],
        Header(description="The id of the last event that was seen, or of a transcript's item."),
    ] = None,
) -> FeedPosition | None:
    return FeedPosition.of(last_event_id) if last_event_id else None


After = Annotated[FeedPosition | None, Depends(_after)]


@router.get(
    "/conversations/{conversation}/events",
    response_class=Response,
    responses={**_OF_A_CONVERSATION, **problems(404)},
)
async def follow(services: Given, hub: EventHub, record: OwnConversation, after: After) -> Response:
    """Follow the conversation from now on, or from behind an event, missing nothing.

    `Last-Event-ID: 0` begins with its first word.
    """
    store = services.store
    feed = conversation_feed(store.live, store.log, store.conversations, record)
    reader = record.tenant, record.owner
    return await EventStream.begun(hub.counted(reader, Following(hub, feed, after).events()))


@router.get("/events", response_class=Response, responses={**_OF_THE_CALLER, **problems()})
async def follow_caller(services: Given, hub: EventHub, caller: Caller, after: After) -> Response:
    """Follow what happens to the caller from now on, or from behind an event, missing nothing.

    Approvals, their own runs, and what is said in their conversations. `Last-Event-ID: 0` begins
    with the first of it.
    """
    store, besides = services.store, services.offered.of(caller.tenant).look_ups()
    feed = person_feed(store.live, store.log, caller, besides)
    reader = caller.tenant, caller.id
    return await EventStream.begun(hub.counted(reader, Following(hub, feed, after).events()))
