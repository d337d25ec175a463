"""Drafts of flows tried by their authors, on a run that touches nothing real.

Nothing is kept between requests: each sends all steps, and a server that has just played most of
them goes on from there. People are the tenant's own, and tools answer what the request says, or
what is made up: none is ever called.
"""

from typing import Annotated

from fastapi import APIRouter
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, WithJsonSchema

from router.api.dependencies import Author, Work
from router.api.errors import problems
from router.api.params import PersonId, PlainJson, PlainObject, StrictRoute
from router.domain.configuration_documents import LARGEST as LARGEST_STORIES
from router.domain.configuration_documents import LONGEST_NAME, rules_of
from router.domain.errors import FaultyValue
from router.extensions.authoring.services import GivenAuthoring
from router.extensions.authoring.trials.protocol import (
    MOST_STEPS,
    PlayedStep,
    StoriesReport,
    TrialPlay,
    TrialStanding,
)
from router.flow.loader import LARGEST as LARGEST_FLOW

PREFIX = "/v1/flow-trials"
_BYTES = 2 * (LARGEST_FLOW + LARGEST_STORIES)
BODIES = {PREFIX: _BYTES, f"{PREFIX}/": _BYTES}
"""A text that is JSON within JSON takes more than itself."""
MOST_ANSWERS = 100
LONGEST_TITLE = 200

router = APIRouter(prefix=PREFIX, tags=["authors"], route_class=StrictRoute)


def _text_of(most: int) -> object:
    def check(text: str) -> str:
        if "\0" in text:
            raise ValueError("it has the character U+0000, which no file may have")
        if (size := len(text.encode())) > most:
            raise FaultyValue(f"it has {size} bytes", f"{most} are the most")
        return text

    schema = {"type": "string", "maxLength": most, "pattern": "^[^\\x00]*$"}
    return AfterValidator(check), WithJsonSchema(schema)


FlowNameField = Annotated[
    str, Field(pattern=f"^{rules_of('flows').pattern.pattern}$", max_length=LONGEST_NAME)
]
FlowTextField = Annotated[str, *_text_of(LARGEST_FLOW)]
StoriesText = Annotated[str, *_text_of(LARGEST_STORIES)]


class _Draft(BaseModel):
    model_config = ConfigDict(extra="forbid")

    flow: FlowNameField
    text: FlowTextField
    """The flow file, to the byte."""


class TrialBody(_Draft):
    """All that is done in a trial, from its beginning."""

    user: PersonId
    """Who talks to the desk: one of the tenant's people."""
    steps: Annotated[list[PlainObject], Field(max_length=MOST_STEPS)] = []
    """As a story file has them: `{"user": "…"}`, `{"approver": "bob", "decides": "approve"}`,
    `{"after": "P1D"}`, `{"tool_fails": {"book_room": "permanent"}}`."""
    answers: Annotated[dict[str, PlainJson], Field(max_length=MOST_ANSWERS)] = {}
    """What tools answer, by name; what others answer is made up."""

    @property
    def asked(self) -> TrialPlay:
        """The same for whoever plays it."""
        return TrialPlay(user=self.user, steps=tuple(self.steps), answers=self.answers)


class KeptStoryBody(TrialBody):
    """What was played, to be kept as a story."""

    stories: StoriesText
    """The story file so far, to the byte; empty where there is none."""
    title: Annotated[str, Field(min_length=1, max_length=LONGEST_TITLE, pattern=r"\S")]


class StoriesBody(_Draft):
    """A draft and its story file."""

    stories: StoriesText


class FailedStepView(BaseModel):
    """The step that went no further, counted from 0, and why."""

    step: int
    message: str


class TrialView(BaseModel):
    """What there was to see, a step each, up to one that failed."""

    steps: list[PlayedStep]
    standing: TrialStanding | None
    """Where the newest run stands."""
    failed: FailedStepView | None


class StoriesView(BaseModel):
    """A story file."""

    stories: str


@router.post("", responses=problems(400, 404, 413, 415))
async def play(services: GivenAuthoring, author: Author, work: Work, body: TrialBody) -> TrialView:
    """Play a draft: say all that is done, and see what the desk says, calls and waits for."""
    playing = services.trials.play(author, body.flow, body.text, body.asked)
    played = await work.while_client_stays(playing)
    failed = played.failed and FailedStepView(
        step=played.failed.step, message=played.failed.message.within(author.locale)
    )
    return TrialView(steps=list(played.steps), standing=played.standing, failed=failed)


@router.post("/story", responses=problems(400, 404, 413, 415))
async def keep(
    services: GivenAuthoring, author: Author, work: Work, body: KeptStoryBody
) -> StoriesView:
    """Put what was played at the end of the story file, with what came of it as expectations."""
    where = (author, body.flow, body.text, body.stories)
    keeping = services.trials.keep(*where, body.title, body.asked)
    return StoriesView(stories=await work.while_client_stays(keeping))


@router.post("/stories", responses=problems(400, 404, 413, 415))
async def run(
    services: GivenAuthoring, author: Author, work: Work, body: StoriesBody
) -> StoriesReport:
    """Run every story of a draft, and say what of the flow none of them took."""
    running = services.trials.run(author, body.flow, body.text, body.stories)
    return await work.while_client_stays(running)
