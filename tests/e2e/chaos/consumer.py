"""Another system that is told of everything, and doesn't take every second event at once."""

import json
import random
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from tests.e2e.chaos.checker import OVER, Finding, Records, by
from tests.fakes.web_server import Drop, Reply, json_reply
from tests.fakes.webhook_consumer import SECRET, VARIABLE, WebhookConsumer

Event = dict[str, Any]
AWAY = "http://127.0.0.1:9/hooks"
"""Of a consumer that is never there: the others don't wait for it."""
FAULTS = (500, 503, 429)
MOST_REFUSED = 2
"""Tries of one event that come to nothing: each costs three times the wait of the one before."""


class WaywardConsumer(WebhookConsumer):
    """Takes what it is told at the third try at the latest."""

    def __init__(self, draws: random.Random) -> None:
        super().__init__(self._drawn)
        self._draws = draws
        self._refused = Counter[str]()
        self.faults = 0

    def _drawn(self, _: Event) -> Reply:
        id_ = self.ids[-1]
        if self._refused[id_] >= MOST_REFUSED or self._draws.random() < 0.6:
            return json_reply({}, 204)
        self._refused[id_] += 1
        self.faults += 1
        if self._draws.random() < 0.3:
            return Reply([Drop()], 503)
        return json_reply({}, self._draws.choice(FAULTS))


def variables(url: str, file: str) -> dict[str, str]:
    """What a house is told of it, and of one that is away."""
    origins = [address.removesuffix("/hooks") for address in (url, AWAY)]
    allow = json.dumps(origins)
    return {"ROUTER_WEBHOOKS": file, VARIABLE: SECRET, "ROUTER_WEBHOOK_ALLOW": allow}


def entries(url: str) -> str:
    """The file of webhooks."""
    about = {"secret_env": VARIABLE, "events": ["*"]}
    return json.dumps([{"url": address, **about} for address in (url, AWAY)])


def of_webhooks(told: Sequence[Event], records: Records) -> Iterator[Finding]:
    """Each run is told from its beginning to its end, and each decision, in order and once."""
    first: dict[str, Event] = {}
    for event in told:
        first.setdefault(event["id"], event)
    rows = [{"run": e["data"].get("flow_run"), "event": e} for e in first.values()]
    events = by(rows, "run")
    approvals = by(records.approvals, "run")
    for row in records.runs:
        mine = [each["event"] for each in events[row["id"]]]
        yield from _of_run(f"run {row['id']}", row["status"], mine)
        yield from _of_approvals(f"run {row['id']}", approvals[row["id"]], mine)


def _of_run(about: str, status: str, mine: list[Event]) -> Iterator[Finding]:
    names = [event["type"] for event in mine if event["type"].startswith("flow.")]
    if not names:
        yield Finding("lost", f"nobody was told of {about}")
        return
    if names[0] != "flow.started":
        yield Finding("wrong", f"{about} was told in this order: {names}")
    if names.count("flow.started") > 1:
        yield Finding("doubled", f"{about} was told to have started: {names}")
    if status in OVER and names[-1] != f"flow.{status}":
        yield Finding("lost", f"{about} is {status}, and was told as {names}")


def _of_approvals(about: str, rows: list[dict[str, Any]], mine: list[Event]) -> Iterator[Finding]:
    requests, decisions = (
        [event["data"]["approval"] for event in mine if event["type"] == f"approval.{what}"]
        for what in ("requested", "decided")
    )
    asked, decided = ([each["id"] for each in told] for told in (requests, decisions))
    # Who agreed isn't asked the same again: that is told as decided alone.
    carried = {
        later["id"]
        for number, later in enumerate(decisions)
        for earlier in decisions[:number]
        if (earlier["person"], earlier["verdict"]) == (later["person"], "approve")
    }
    order = [event["type"] for event in mine]
    for row in rows:
        id_, verdict = row["id"], row["verdict"]
        if verdict in {"approve", "reject", "return"} and id_ not in decided:
            yield Finding("lost", f"approval {id_} of {about}, {verdict}, isn't in {order}")
        if decided.count(id_) > 1:
            yield Finding("doubled", f"approval {id_} of {about} was told twice: {order}")
        if id_ in decided and id_ not in [*asked, *carried]:
            yield Finding("lost", f"approval {id_} of {about} was never asked for: {order}")
