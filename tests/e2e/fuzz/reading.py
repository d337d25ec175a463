"""Reading what a list or a stream of the API has, to its end."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from tests.e2e.house import Person


@dataclass(frozen=True)
class Event:
    """One event of a stream, as it came."""

    name: str
    id: str | None
    data: Any


def pages(person: Person, path: str, limit: int) -> list[dict[str, Any]]:
    """All items of a list, page by page."""
    found: list[dict[str, Any]] = []
    after = ""
    while True:
        page = person.get(f"{path}?limit={limit}{after}")
        assert len(page["items"]) <= limit
        found += page["items"]
        if page["next"] is None:
            return found
        assert len(page["items"]) == limit
        after = f"&after={page['next']}"


def events(person: Person, path: str, after: str, last_turn: str) -> list[Event]:
    """Those behind the id `after`, up to the turn of the message `last_turn`, but passing ones."""
    found: list[Event] = []
    with person.http.stream("GET", path, headers={"Last-Event-ID": after}) as answer:
        assert answer.status_code == 200
        for event in _parsed(answer.iter_lines()):
            if event.id is not None:
                found.append(event)
            if event.name == "turn" and event.data["message_id"] == last_turn:
                return found
    raise AssertionError(f"the stream ended before the turn of {last_turn}: {found}")


def _parsed(lines: Iterator[str]) -> Iterator[Event]:
    fields: dict[str, str] = {}
    for line in lines:
        if line:
            name, _, value = line.partition(":")
            fields[name] = value.removeprefix(" ")
        elif "data" in fields:
            yield Event(
                fields.get("event", "message"), fields.get("id"), json.loads(fields["data"])
            )
            fields = {}
        else:
            fields = {}
