"""What a client asks again, what it makes of answers, and where it takes a stream up."""

import json
from collections.abc import Callable, Sequence
from typing import TypeVar

import pytest
from pydantic import TypeAdapter

from router.client import AsyncClient, Client, Refused, Retries, Unavailable
from router.client import exchange as ops
from router.client.exchange import (
    EventLines,
    Exchange,
    NoAnswer,
    Pause,
    Request,
    Response,
    Subscription,
    answered,
    parsed,
)
from router.client.responses import ApiEvent, ApprovalAnswer
from router.domain.errors import MisconfiguredError, RouterError
from router.domain.messages import ConfirmAction
from tests.table import each_row

T = TypeVar("T")
Outcome = Response | NoAnswer
EVEN = Retries(3, first=1.0, longest=3.0, spread=0.0)
GONE = NoAnswer("no API answers")
LOST = Unavailable("no API answers")
FINE = Response(200, b"{}")


def asked(exchange: Exchange[T], outcomes: Sequence[Outcome]) -> tuple[list[Request | Pause], T]:
    """What was done on the way, and what it came to, where these are the answers in turn."""
    given, steps = list(outcomes), list[Request | Pause]()
    outcome: Outcome | None = None
    while True:
        try:
            steps.append(exchange.send(outcome))
        except StopIteration as end:
            return steps, end.value
        outcome = None if isinstance(steps[-1], Pause) else given.pop(0)


def failed(exchange: Exchange[T], outcomes: Sequence[Outcome]) -> RouterError:
    with pytest.raises(RouterError) as raised:
        asked(exchange, outcomes)
    return raised.value


def problem(status: int, **more: object) -> Response:
    return Response(status, json.dumps({"detail": "That won't do.", **more}).encode())


@each_row(
    "passing",
    [GONE, Response(429, b"{}"), Response(502, b""), Response(503, b"{}"), Response(504, b"<p>")],
    ids=["lost", "too many", "bad gateway", "unavailable", "gateway in vain"],
)
def test_what_may_pass_is_asked_again_and_the_same(passing: Outcome) -> None:
    request = Request("POST", "/v1/conversations", body={}).once()

    steps, response = asked(answered(request, EVEN), [passing, passing, FINE])

    assert steps == [request, Pause(1.0), request, Pause(2.0), request]
    assert response == FINE


@each_row("status", [400, 401, 403, 404, 409, 413, 422, 500])
def test_what_was_refused_is_not_asked_again(status: int) -> None:
    error = failed(answered(Request("GET", "/v1/me"), EVEN), [problem(status)])

    assert isinstance(error, Refused)
    assert (error.status, str(error)) == (status, "That won't do.")


def test_the_server_says_how_long_to_wait_where_that_is_longer() -> None:
    busy = Response(429, b"{}", {"retry-after": "7"})

    steps, _ = asked(answered(Request("GET", "/v1/me"), EVEN), [busy, FINE])

    assert steps[1] == Pause(7.0)


@each_row("said", ["", "-1", "soon", "1e9", "999999999", "Wed, 21 Oct 2026 07:28:00"])
def test_what_is_no_wait_is_not_waited(said: str) -> None:
    busy = Response(503, b"{}", {"retry-after": said})

    steps, _ = asked(answered(Request("GET", "/v1/me"), EVEN), [busy, FINE])

    assert steps[1] == Pause(1.0)


def test_after_so_many_tries_it_is_given_up() -> None:
    error = failed(answered(Request("GET", "/v1/me"), EVEN), [GONE] * 4)

    assert isinstance(error, Unavailable)
    assert str(error) == "no API answers"


def test_what_is_refused_says_which_fields_are_at_fault() -> None:
    fault = {"field": "text", "detail": "it is empty"}

    error = failed(answered(Request("POST", "/v1/route"), EVEN), [problem(422, errors=[fault])])

    assert isinstance(error, Refused)
    assert str(error) == "That won't do. (text it is empty)"
    assert [(each.field, each.detail) for each in error.problems] == [("text", "it is empty")]


@each_row(
    "content",
    [b"<html>Welcome</html>", b"", b"[]", b'{"id": 3}', b"\xff"],
    ids=["a page", "nothing", "a list", "another shape", "no text"],
)
def test_what_is_no_answer_of_the_api_is_said_to_be_none(content: bytes) -> None:
    wanted = TypeAdapter(ApprovalAnswer)

    error = failed(parsed(Request("GET", "/"), wanted, EVEN), [Response(200, content)])

    assert isinstance(error, Unavailable)
    assert "isn't this API" in str(error)


def test_what_a_newer_api_adds_is_left_out() -> None:
    turn = {
        "message_id": "m",
        "turn": 1,
        "route": {"kind": "flow", "by": "slot", "mood": "good"},
        "replies": [{"type": "text", "text": "Hello", "colour": "blue"}],
        "weather": "fine",
    }
    sent = ops.send(EVEN, ops.message("c", "hello", message_id="m"))

    _, answer = asked(sent, [Response(200, json.dumps(turn).encode())])

    assert answer.replies[0].text == "Hello"


def test_a_turn_that_takes_long_is_waited_for_under_the_same_id() -> None:
    running = Response(202, b'{"message_id": "m", "status": "running"}')
    turn = {"message_id": "m", "turn": 1, "route": {"kind": "reply", "by": "llm"}}
    sent = ops.send(EVEN, ops.message("c", "hello"))

    steps, answer = asked(sent, [running, GONE, running, Response(200, json.dumps(turn).encode())])

    requests = [step for step in steps if isinstance(step, Request)]
    assert len({each.body["message_id"] for each in requests}) == 1
    assert answer.turn == 1


def test_a_message_has_what_was_given_and_nothing_else() -> None:
    yes = ConfirmAction(type="confirm", value=True)

    request = ops.message("a/b", yes, ["f1"], "m", on_busy="reject")

    assert request.path == "/v1/conversations/a%2Fb/messages"
    assert request.body == {
        "message_id": "m",
        "action": {"type": "confirm", "value": True},
        "files": ["f1"],
        "on_busy": "reject",
    }


def test_a_decision_is_on_what_the_approval_shows() -> None:
    shown = {"id": "a", "flow_run": "r", "flow": "f", "title": "t", "summary": {}, "requester": "x"}
    approval = ApprovalAnswer.model_validate(
        shown | {"digest": "d1", "since": "2026-11-26T00:00:00Z"}
    )
    state = {"id": "r", "status": "completed", "state": "done"}
    answer = {"id": "a", "decision": "approve", "flow_run": state}

    steps, decided = asked(
        ops.decide(EVEN, approval, "approve", None, None),
        [Response(200, json.dumps(answer).encode())],
    )

    (request,) = steps
    assert isinstance(request, Request)
    assert request.body == {"decision": "approve", "digest": "d1"}
    assert request.headers["Idempotency-Key"]
    assert decided.flow_run.status == "completed"


def lines_of(*events: str) -> list[str]:
    return [line for event in events for line in [*event.split("\n"), ""]]


def heard(subscription: Subscription, *events: str) -> list[ApiEvent]:
    return list(subscription.taken(lines_of(*events), EventLines()))


FIRST = 'id: 1.0\nevent: route\ndata: {"kind": "flow"}'
TURN = 'id: 1.1\nevent: turn\ndata: {"turn": 1}'


def test_a_stream_ends_with_its_turn() -> None:
    stream = Subscription(ops.message("c", "hello"), EVEN)

    names = [event.name for event in heard(stream, FIRST, TURN, FIRST)]

    assert names == ["route", "turn"]
    assert stream.over


def test_a_stream_that_was_lost_tells_nothing_twice() -> None:
    stream = Subscription(ops.message("c", "hello"), EVEN)
    assert [event.id for event in heard(stream, FIRST)] == ["1.0"]

    assert stream.pause(LOST) == 1.0

    assert [event.id for event in heard(stream, FIRST, TURN)] == ["1.1"]


def test_what_is_followed_goes_on_behind_the_last_event() -> None:
    following = Subscription(Request("GET", "/v1/events"), EVEN, after="0")
    assert following.request.headers["Last-Event-ID"] == "0"

    told = heard(following, FIRST, "event: ping\ndata: {}", TURN)

    assert [event.name for event in told] == ["route", "turn"]
    assert not following.over
    assert following.request.headers["Last-Event-ID"] == "1.1"


def test_a_turn_that_failed_raises_what_it_failed_with() -> None:
    stream = Subscription(ops.message("c", "hello"), EVEN)

    with pytest.raises(Refused, match="busy") as raised:
        heard(stream, 'event: error\ndata: {"status": 429, "detail": "It is busy."}')

    assert raised.value.status == 429


def test_a_stream_is_given_up_after_so_many_tries_without_an_event() -> None:
    following = Subscription(Request("GET", "/v1/events"), EVEN)
    assert [following.pause(LOST) for _ in range(3)] == [1.0, 2.0, 3.0]

    with pytest.raises(Unavailable, match="no API answers"):
        following.pause(LOST)


def test_an_event_begins_the_count_of_tries_anew() -> None:
    following = Subscription(Request("GET", "/v1/events"), EVEN)
    assert [following.pause(LOST) for _ in range(3)] == [1.0, 2.0, 3.0]

    heard(following, FIRST)

    assert following.pause(LOST) == 1.0


@each_row(
    "lines",
    [[""], [": a remark", ""], ["event: turn", ""], ['data: {"cut": 1}'], ["id", ""]],
    ids=["nothing", "a remark", "no data", "cut off", "a name alone"],
)
def test_lines_that_are_no_event_are_none(lines: list[str]) -> None:
    assert list(Subscription(Request("GET", "/"), EVEN).taken(lines, EventLines())) == []


def test_data_that_is_no_object_is_not_this_api() -> None:
    with pytest.raises(Unavailable, match="isn't this API"):
        heard(Subscription(Request("GET", "/"), EVEN), "data: 3")


def test_a_stream_that_is_refused_again_and_again_says_why() -> None:
    stream = Subscription(ops.message("c", "hello"), EVEN)
    busy = Refused("Six messages wait already.", 429, retry_after=9.0)
    assert [stream.pause(busy) for _ in range(3)] == [9.0, 9.0, 9.0]

    with pytest.raises(Refused, match="Six messages") as raised:
        stream.pause(busy)

    assert raised.value.status == 429


@each_row("kind", [Client, AsyncClient])
@each_row(
    ("url", "token", "why"),
    [
        ("http://127.0.0.1:8000", "张三", "bearer token"),
        ("http://127.0.0.1:8000", "", "bearer token"),
        ("http://127.0.0.1:8000", "a\nb", "bearer token"),
        ("127.0.0.1:8000", "alice", "no address"),
        ("ftp://127.0.0.1", "alice", "no address"),
        ("http://", "alice", "no address"),
        ("http://[::1", "alice", "no address"),
    ],
    ids=["letters", "none", "two lines", "no scheme", "another scheme", "no host", "broken"],
)
def test_what_is_no_address_or_token_is_said_at_once(
    kind: type[Client] | type[AsyncClient], url: str, token: str, why: str
) -> None:
    with pytest.raises(MisconfiguredError, match=why):
        kind(url, token)


@each_row(
    "call",
    [
        lambda c: c.forget(".."),
        lambda c: c.conversation("."),
        lambda c: c.withdraw(".."),
        lambda c: c.happen("..", "../withdraw", {}),
        lambda c: c.happen("", "paid", {}),
    ],
)
def test_an_id_that_a_stranger_chose_makes_no_other_call_of_it(
    call: Callable[[Client], object],
) -> None:
    # Nobody listens there: a request would be `Unavailable`.
    with Client("http://127.0.0.1:9", "alice") as client, pytest.raises(Refused, match="is no id"):
        call(client)


def test_the_name_of_an_event_stays_one_part_of_the_path() -> None:
    steps = ops.told(EVEN, "r1", "events", "../withdraw", body={})
    request = next(steps)
    assert isinstance(request, Request)
    assert request.path == "/v1/flow-runs/r1/events/..%2Fwithdraw"


def test_a_server_holds_nobody_for_a_day() -> None:
    slow = Response(429, b'{"detail": "later"}', {"retry-after": "86400"})
    error = failed(answered(Request("GET", "/v1/x"), EVEN), [slow])
    assert isinstance(error, Refused)
    assert error.retry_after == 86_400
    stream = Subscription(Request("GET", "/v1/events"), EVEN)
    with pytest.raises(Refused):
        stream.pause(error)


def test_a_list_that_leads_to_itself_ends() -> None:
    with pytest.raises(Unavailable, match="without end"):
        ops.check_progress("here", "here")
    ops.check_progress(None, "here")
    ops.check_progress("here", None)


def test_a_refusal_paints_no_terminal() -> None:
    said = ops.reason({"detail": "\x1b]0;owned\x07no \u202eoN", "errors": [{"field": "\x1b[2J"}]})
    assert "\x1b" not in said
    assert "\x07" not in said
    assert "\u202e" not in said
