"""Versions of a flow to go on from: a draft that says what one of them says.

It may hold, have held, or have been taken back.
"""

from typing import Annotated

from fastapi import APIRouter
from pydantic import BaseModel, ConfigDict, Field

from router.api.dependencies import Author, Work
from router.api.errors import problems
from router.api.params import StrictRoute
from router.api.routes.configuration import NEWEST
from router.domain.errors import NotFound
from router.domain.locale import Localised
from router.domain.principals import Principal
from router.extensions.authoring.drafts import FlowText
from router.extensions.authoring.routes.drafts import (
    DraftView,
    NamedFlow,
    held_flow,
    held_stories,
    saved_draft,
)
from router.extensions.authoring.services import AuthoringServices, GivenAuthoring

router = APIRouter(prefix="/v1/flow-drafts", tags=["authors"], route_class=StrictRoute)


class RestorationBody(BaseModel):
    """Which version the caller's draft is to say."""

    model_config = ConfigDict(extra="forbid")

    document: Annotated[int, Field(strict=True, ge=1, le=NEWEST)] | None
    """Of the flow's document, as `/v1/flow-publications` has it; null: the house's file."""
    revision: Annotated[int, Field(strict=True, ge=0, le=2**31 - 2)]
    """Of the draft that this takes the place of; 0: there is none."""


@router.post("/{flow:draft}/restoration", responses=problems(400, 404, 409, 413, 415))
async def restore(
    services: GivenAuthoring, author: Author, work: Work, flow: NamedFlow, body: RestorationBody
) -> DraftView:
    """Have the caller's draft say what a version says, with its stories, over what holds by now.

    It may hold, have held or have been taken back. 409 where `revision` isn't the one that is
    saved.
    """
    written = await _version(services, author, flow, body.document)
    base, _ = await held_flow(services, author, flow)
    return await saved_draft(services, work, flow, written, body.revision, base)


async def _version(
    services: AuthoringServices, author: Principal, flow: str, number: int | None
) -> FlowText:
    """What that version of the flow's document says, or the file; `NotFound` where there is none.

    What was published by a review has that review's stories, and all else those that hold.
    """
    if number is None:
        file = services.flow_texts.in_file(flow) if _is_theirs(services, author, flow) else None
        if file is None:
            raise NotFound(_NO_FILE)
        return FlowText(file.text, file.stories)
    kept = services.store.configuration
    document = await kept.find(author.tenant, "flows", flow, number)
    if document is None:
        raise NotFound(_NO_VERSION)
    activations = await kept.activations(author.tenant, "flows", flow)
    review = next((each.review for each in activations if each.version == number), None)
    found = await services.flow_reviews.find(author.tenant, review) if review else None
    stories = found.stories if found else await held_stories(services, author, flow)
    return FlowText(document.text, stories)


def _is_theirs(services: AuthoringServices, author: Principal, flow: str) -> bool:
    return flow in services.flow_texts.flows(author.tenant)


_NO_FILE = Localised(
    zh="这个流程没有文件。", en="There is no file of this flow: name a version of its document."
)
_NO_VERSION = Localised(zh="这个流程没有这个版本。", en="There is no such version of this flow.")
