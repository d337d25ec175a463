from router.api.params import prefers_events
from tests.table import each_row

EVENTS = [
    *("text/event-stream", "TEXT/Event-Stream", "  text/event-stream  "),
    *("text/event-stream;charset=utf-8", "text/event-stream; q=0.1"),
    *("text/event-stream, application/json", "application/json, text/event-stream"),
    *("text/event-stream, */*", "*/*;q=0.1, text/event-stream;q=0.5"),
    *("application/json;q=0.5, text/event-stream;q=0.501", ",,;,text/event-stream"),
]
WEIGHTS = ("0", "0.000", "", "nan", "inf", "-1", "2", "1e0", "0.1234", "١")
ONE_ANSWER = [
    *("", "*/*", "text/*", "application/json", "q=1", ";;;===,,,", "\x00\xff"),
    "application/json, text/event-stream;q=0.9",
    *(f"text/event-stream;q={weight}" for weight in WEIGHTS),
    *("text/event-streams", "text/event", "event-stream", "text/event stream"),
    'text/plain;title="text/event-stream"',
    'text/plain;title="a, text/event-stream, b"',
    *(";q=" * 10_000, "a/b," * 10_000, '"' * 10_001),
]


@each_row("accept", [*EVENTS, *ONE_ANSWER], ids=lambda accept: accept[:40])
def test_events_are_for_those_who_name_them(accept: str) -> None:
    assert prefers_events(accept) == (accept in EVENTS)
