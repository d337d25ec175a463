"""What the routes for authors work with, in addition to the services of the API."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Annotated, Protocol, Self, cast

from fastapi import Depends, Request

from router.api.dependencies import AppState, Services
from router.domain.principals import Principal
from router.extensions.authoring.draft_store import FlowDrafts
from router.extensions.authoring.flow_texts import FlowTexts
from router.extensions.authoring.review_store import FlowReviews
from router.extensions.authoring.settings import TrialSettings
from router.extensions.authoring.trials.draft_trials import DraftTrials
from router.extensions.authoring.trials.protocol import PlayedTrial, StoriesReport, TrialPlay

NAME = "authoring"
"""Of the extension."""


class Trials(Protocol):
    """What tries drafts of flows, on a run that touches nothing real."""

    async def play(self, author: Principal, flow: str, text: str, asked: TrialPlay) -> PlayedTrial:
        """What there is to see when this is done with the draft.

        Raises `InvalidInput` for a draft or steps that can't be used, `TooManyRequests` where
        others try theirs, and `Unavailable` where none can be tried.
        """

    async def keep(
        self, author: Principal, flow: str, text: str, stories: str, title: str, asked: TrialPlay
    ) -> str:
        """The story file with what this comes to as a story at its end; raises as `play`."""

    async def run(
        self,
        author: Principal,
        flow: str,
        text: str,
        stories: str,
        *,
        is_submitted: bool = False,
    ) -> StoriesReport:
        """What becomes of all stories of a draft, and how much of it they take.

        What is submitted waits for other submissions alone.
        """

    async def close(self) -> None:
        """End all that is being tried."""


@dataclass(frozen=True, kw_only=True)
class AuthoringServices(Services):
    """The services of the API, and those for authors."""

    flow_texts: FlowTexts
    flow_drafts: FlowDrafts
    flow_reviews: FlowReviews
    trials: Trials

    @classmethod
    def over(cls, services: Services) -> Self:
        """Create those for authors over the services of the API."""
        configuration = services.configuration
        trials = DraftTrials(
            configuration.offered,
            services.directory,
            services.settings.section(TrialSettings),
            work=services.isolated_work,
            author_tools=configuration.tenants.author_tools,
        )
        database = services.store.database
        return cls(
            **vars(services),
            flow_texts=FlowTexts(services.settings, configuration),
            flow_drafts=FlowDrafts(database),
            flow_reviews=FlowReviews(database),
            trials=trials,
        )

    @classmethod
    def of(cls, state: AppState) -> Self:
        """Return those that a process of the API shares among its requests."""
        return cast("Self", state.of_extensions[NAME])


@asynccontextmanager
async def trials_ended(state: AppState) -> AsyncIterator[None]:
    """End all that is being tried when the process stops."""
    yield
    await AuthoringServices.of(state).trials.close()


async def _services(request: Request) -> AuthoringServices:
    return AuthoringServices.of(AppState.of(request))


GivenAuthoring = Annotated[AuthoringServices, Depends(_services)]
