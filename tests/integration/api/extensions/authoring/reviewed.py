"""Authors and operators of a tenant of their own, whose stories go as a test says."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace
from itertools import count
from typing import Any

from fastapi import FastAPI
from httpx import AsyncClient, Response

from router.api.dependencies import AppState, Services
from router.domain.principals import Principal
from router.extensions.authoring.reviews import PartCount, StoryCoverage
from router.extensions.authoring.services import NAME, AuthoringServices, Trials
from router.extensions.authoring.trials.protocol import (
    PlayedTrial,
    StoriesReport,
    StoryVerdict,
    TrialPlay,
)
from tests.integration.api.test_configuration import Company, ok
from tests.unit.runtime.documents import overtime

STORIES = "- story: one\n"
COVERAGE = StoryCoverage(
    share=75.0,
    states=PartCount(taken=4, of=5),
    transitions=PartCount(taken=2, of=3),
    missing=("tell_no", "review.rejected ▸ tell_no"),
)
_NUMBERS = count()


@dataclass
class StoriesThatGo:
    """Runs no stories: they go as is said here."""

    failing: list[str] = field(default_factory=list)
    ran: list[tuple[str, str]] = field(default_factory=list)

    async def run(
        self,
        author: Principal,
        flow: str,
        text: str,
        stories: str,
        *,
        is_submitted: bool = False,
    ) -> StoriesReport:
        self.ran.append((text, stories))
        verdicts = [StoryVerdict(name=n, ok=False, told=("it ended",)) for n in self.failing]
        well = StoryVerdict(name="one", ok=True, told=())
        return StoriesReport(
            passed=1,
            failed=len(verdicts),
            stories=(well, *verdicts),
            coverage=COVERAGE,
        )

    async def play(self, author: Principal, flow: str, text: str, asked: TrialPlay) -> PlayedTrial:
        raise NotImplementedError

    async def keep(
        self, author: Principal, flow: str, text: str, stories: str, title: str, asked: TrialPlay
    ) -> str:
        raise NotImplementedError

    async def close(self) -> None:
        """Nothing is open."""


class Person:
    """Somebody at the API of their tenant."""

    def __init__(self, client: AsyncClient) -> None:
        self.client = client

    async def save(self, text: str, stories: str = STORIES, flow: str = "overtime") -> Any:
        """Save a draft, by somebody who has looked at what holds."""
        path = f"/v1/flow-drafts/{flow}"
        before = await self.client.get(path)
        shown = before.json() if before.is_success else {}
        over = shown["holds"]["digest"] if shown else None
        revision = shown.get("revision", 0)
        body = {"text": text, "stories": stories, "revision": revision, "over": over}
        return ok(await self.client.put(path, json=body))

    async def submit(self, flow: str = "overtime", **more: Any) -> Response:
        return await self.client.post("/v1/flow-reviews", json={"flow": flow, **more})

    async def submitted(self, text: str, flow: str = "overtime", **more: Any) -> Any:
        await self.save(text, flow=flow)
        answer = await self.submit(flow, **more)
        assert answer.status_code == 201, answer.text
        return answer.json()

    async def decide(self, review: Any, decision: str = "approve", **more: Any) -> Response:
        path = f"/v1/flow-reviews/{review['id']}/decision"
        return await self.client.post(path, json={"decision": decision, **more})

    async def review(self, review: Any) -> Any:
        return ok(await self.client.get(f"/v1/flow-reviews/{review['id']}"))

    async def publish(self, review: Any, flow: str = "overtime", **more: Any) -> Response:
        path = f"/v1/flow-publications/{flow}"
        return await self.client.post(path, json={"review": review["id"], **more})

    async def publications(self, flow: str = "overtime") -> Any:
        return ok(await self.client.get(f"/v1/flow-publications/{flow}"))


@dataclass
class Room:
    """The people of one tenant."""

    company: Company
    stories: StoriesThatGo
    anna: Person
    ann: Person
    both: Person
    olga: Person
    alice: Person

    async def approved(self, text: str, flow: str = "overtime") -> Any:
        """A review of anna's that ann has approved."""
        review = await self.anna.submitted(text, flow)
        return ok(await self.ann.decide(review))

    async def published(self, text: str = "", flow: str = "overtime", **more: Any) -> Any:
        """The same, published by ann."""
        review = await self.approved(text or overtime(), flow)
        return ok(await self.ann.publish(review, flow, **more))


def use_trials(app: FastAPI, trials: Trials) -> None:
    """Have the API try drafts with these."""
    state: AppState = app.state.shared
    state.of_extensions[NAME] = replace(AuthoringServices.of(state), trials=trials)


@asynccontextmanager
async def room(services: Services) -> AsyncIterator[Room]:
    """A tenant that nobody else has."""
    stories = StoriesThatGo()
    company = Company(services, f"r{next(_NUMBERS)}")
    use_trials(company.app, stories)
    async with AsyncExitStack() as stack:
        people = {
            name: Person(await stack.enter_async_context(company(name)))
            for name in ("anna", "ann", "both", "olga", "alice")
        }
        yield Room(company, stories, **people)
