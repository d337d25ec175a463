"""A flow as BPMN 2.0, for authors who document it."""

from typing import Annotated, Any

from fastapi import APIRouter, Query, Response

from router.api.dependencies import Author, Work
from router.api.errors import problems
from router.api.files import disposition
from router.domain.errors import NotFound
from router.domain.locale import Locale
from router.domain.principals import Principal
from router.extensions.authoring.author_jobs import draw_bpmn
from router.extensions.authoring.routes.drafts import NOT_THERE, NamedFlow, held_flow
from router.extensions.authoring.services import AuthoringServices, GivenAuthoring

router = APIRouter(prefix="/v1/flow-drafts", tags=["authors"])

_XML: dict[int | str, dict[str, Any]] = {
    200: {"description": "BPMN 2.0 with its picture.", "content": {"application/xml": {}}}
}


@router.get("/{flow:draft}/bpmn", response_class=Response, responses={**problems(404), **_XML})
async def bpmn(
    services: GivenAuthoring,
    author: Author,
    work: Work,
    flow: NamedFlow,
    locale: Annotated[Locale | None, Query()] = None,
) -> Response:
    """Get a flow as BPMN 2.0: the caller's draft of it, else what holds.

    Names are in the language of `locale`, the caller's own without one. 422 where the draft can't
    be read as a flow at all.
    """
    draft = await services.flow_drafts.find(author.tenant, author.id, flow)
    text = draft.text if draft else await _held(services, author, flow)
    known = services.flow_texts.vocabulary(author.tenant)
    written = await work.run(draw_bpmn, flow, text, known, locale or author.locale)
    headers = {"Content-Disposition": disposition(f"{flow}.bpmn")}
    return Response(written, media_type="application/xml", headers=headers)


async def _held(services: AuthoringServices, author: Principal, flow: str) -> str:
    _, held = await held_flow(services, author, flow)
    if held is None:
        raise NotFound(NOT_THERE)
    return held.text
