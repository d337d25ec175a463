import pytest

from router.api.params import prefers_events

EVENTS = [
    "text/event-stream",
    "TEXT/Event-Stream",
    "  text/event-stream  ",
    "text/event-stream;charset=utf-8",
    "text/event-stream; q=0.1",
    "text/event-stream, application/json",
    "application/json, text/event-stream",
    "text/event-stream, */*",
    "*/*;q=0.1, text/event-stream;q=0.5",
    "application/json;q=0.5, text/event-stream;q=0.501",
    ",,;,text/event-stream",
]
ONE_ANSWER = [
    "",
    "*/*",
    "text/*",
    "application/json",
    "application/json, text/event-stream;q=0.9",
    "text/event-stream;q=0",
    "text/event-stream;q=0.000",
    "text/event-stream;q=",
    "text/event-stream;q=nan",
    "text/event-stream;q=inf",
    "text/event-stream;q=-1",
    "text/event-stream;q=2",
    "text/event-stream;q=1e0",
    "text/event-stream;q=0.1234",
    "text/event-stream;q=١",
    "text/event-streams",
    "text/event",
    "event-stream",
    "text/event stream",
    'text/plain;title="text/event-stream"',
    'text/plain;title="a, text/event-stream, b"',
    "q=1",
    ";;;===,,,",
    "\x00\xff",
    ";q=" * 10_000,
    "a/b," * 10_000,
    '"' * 10_001,
]


@pytest.mark.parametrize("accept", EVENTS)
def test_events_are_for_those_who_name_them(accept: str) -> None:
    assert prefers_events(accept)


@pytest.mark.parametrize("accept", ONE_ANSWER, ids=lambda accept: accept[:40])
def test_everybody_else_gets_one_answer(accept: str) -> None:
    assert not prefers_events(accept)
