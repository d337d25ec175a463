"""People who use the API while workers die: they ask again until they have been answered."""

import asyncio
import time
from collections import defaultdict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any, TypeVar
from uuid import uuid4

import httpx

AT_ONCE = 8
"""Words under way, of all people together: the other requests wait, as most do at any time."""
PATIENCE = 120.0
"""Seconds until somebody takes it that they won't be answered any more."""
PAUSE = 0.25
FRESH = 0.4
"""Seconds for which a list of approvals needn't be fetched anew."""

Out = TypeVar("Out")


async def until(what: str, ask: Callable[[], Awaitable[Out | None]]) -> Out:
    """Ask until there is an answer; fails, saying `what` never came, after `PATIENCE`."""
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        answer = await ask()
        if answer is not None:
            return answer
        await asyncio.sleep(PAUSE)
    raise AssertionError(f"after {PATIENCE:.0f} s still waiting for {what}")


@dataclass
class Inbox:
    """What waits for one person, fetched once for all who ask at the same time."""

    waiting: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    at: float = -FRESH
    fetching: asyncio.Lock = field(default_factory=asyncio.Lock)


class Desk:
    """The API, as everybody reaches it."""

    def __init__(self, http: httpx.AsyncClient) -> None:
        self._http = http
        self.places = asyncio.Semaphore(AT_ONCE)
        self._inboxes: dict[str, Inbox] = defaultdict(Inbox)
        self.retries = 0
        self.decisions = 0
        self.failed_turns = 0

    async def get(self, user: str, path: str) -> Any:
        answer = await self._answered("GET", user, path)
        assert answer.status_code == 200, answer.text
        return answer.json()

    async def post(
        self, user: str, path: str, body: dict[str, Any] | None = None
    ) -> httpx.Response:
        """The answer that settles it. Repeats carry the same key, so that they do nothing twice."""
        return await self._answered("POST", user, path, body or {}, uuid4().hex)

    async def say(self, user: str, conversation: str, body: dict[str, Any]) -> dict[str, Any]:
        """The turn that answers a message."""
        path = f"/v1/conversations/{conversation}/messages?wait=10"
        answer = await self.post(user, path, body)
        assert answer.status_code == 200, answer.text
        turn: dict[str, Any] = answer.json()
        return turn

    async def approval(self, person: str, run: str, but: set[str]) -> dict[str, Any]:
        """What the person is asked to decide in this run, besides what they have decided."""

        async def ask() -> dict[str, Any] | None:
            found = (await self._waiting(person)).get(run, [])
            return next((each for each in found if each["id"] not in but), None)

        return await until(f"{person} to be asked about {run}", ask)

    async def _waiting(self, person: str) -> dict[str, list[dict[str, Any]]]:
        inbox = self._inboxes[person]
        async with inbox.fetching:
            if time.monotonic() - inbox.at > FRESH:
                inbox.waiting = await self.awaited(person)
                inbox.at = time.monotonic()
        return inbox.waiting

    async def awaited(self, person: str) -> dict[str, list[dict[str, Any]]]:
        """Everything that waits for the person, by run."""
        found, after = defaultdict(list), ""
        while True:
            page = await self.get(person, f"/v1/approvals?limit=200{after}")
            for each in page["items"]:
                found[each["flow_run"]].append(each)
            if page["next"] is None:
                return found
            after = f"&after={page['next']}"

    async def _answered(
        self,
        method: str,
        user: str,
        path: str,
        body: dict[str, Any] | None = None,
        key: str = "",
    ) -> httpx.Response:
        headers = {"Authorization": f"Bearer {user}"} | ({"Idempotency-Key": key} if key else {})

        async def ask() -> httpx.Response | None:
            answer = await self._sent(method, path, headers, body)
            self.retries += answer is None
            return answer

        return await until(f"an answer to {user}'s {method} {path}", ask)

    async def _sent(
        self, method: str, path: str, headers: dict[str, str], body: dict[str, Any] | None
    ) -> httpx.Response | None:
        """The answer, where it is one: neither lost, nor that it is still to come."""
        answer = await self._exchanged(method, path, headers, body)
        unsettled = answer is None or answer.status_code in (202, 429, 503)
        return None if unsettled else answer

    async def _exchanged(
        self, method: str, path: str, headers: dict[str, str], body: dict[str, Any] | None
    ) -> httpx.Response | None:
        """Whatever was answered; None where that was lost, or the request was."""
        try:
            return await self._http.request(method, path, headers=headers, json=body)
        except httpx.TransportError:
            return None
