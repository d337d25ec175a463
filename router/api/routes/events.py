"""What happens in a conversation, as it happens and later."""

from typing import Annotated, Any

from fastapi import APIRouter, Header
from fastapi.responses import Response

from router.api.accept import EVENTS
from router.api.body import StrictRoute
from router.api.deps import Given, OwnConversation
from router.api.following import Following, Position
from router.api.problems import problems
from router.api.streaming import EventStream

router = APIRouter(
    prefix="/v1/conversations/{conversation}/events", tags=["events"], route_class=StrictRoute
)

_EVENTS: dict[int | str, dict[str, Any]] = {
    200: {
        "content": {EVENTS: {"schema": {"type": "string"}}},
        "description": (
            "`message`, `thinking`, `tool_started`, `tool_finished`, `text_delta`, `route`, "
            "`flow`, `reply`, `turn` and `ping`, without an end. All but `text_delta`, `ping` and "
            "words of progress have an `id`. `thinking` has `{status, task, skill, step, attempt, "
            "message_id}`, and once its `status` is `finished` also `{milliseconds, "
            "prompt_tokens, completion_tokens, model}`."
        ),
    }
}


@router.get("", response_class=Response, responses={**_EVENTS, **problems(404)})
async def follow(
    services: Given,
    record: OwnConversation,
    last_event_id: Annotated[
        str | None,
        Header(description="The id of the last event that was seen, or of a transcript's item."),
    ] = None,
) -> Response:
    """Follow the conversation from now on, or from behind an event, missing nothing.

    `Last-Event-ID: 0` begins with its first word.
    """
    after = Position.of(last_event_id) if last_event_id else None
    store = services.store
    events = Following(store.live, store.log, record, after).events()
    return EventStream(events, await anext(events))
