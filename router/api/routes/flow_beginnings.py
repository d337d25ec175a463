"""Beginnings of flows, for authors: a draft made of a file that is handed in, and BPMN of a flow.

Nothing is saved or published: what is answered is a text to go on from.
"""

import asyncio
from pathlib import Path
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query, Request, Response
from pydantic import BaseModel
from starlette.datastructures import UploadFile

from router.api.dependencies import Author, Given, Services
from router.api.errors import problems
from router.api.files import FIELD, posted_form
from router.api.routes.flow_drafts import NOT_THERE, Named, held_flow, unsound
from router.beginnings.beginning import Beginning, BeginningContext
from router.beginnings.source_file import LARGEST, beginning_of_file
from router.domain.errors import DefinitionError, InvalidInput, NotFound
from router.domain.locale import Locale, Localised
from router.domain.principals import Principal
from router.drawing import bpmn_of
from router.flow.loader import Vocabulary, examine_text

PREFIX = "/v1/flow-drafts"
PATH = f"{PREFIX}/beginnings"
BODIES = {PATH: None}

router = APIRouter(prefix=PREFIX, tags=["authors"])


class QuestionView(BaseModel):
    """Something that the author has to decide."""

    what: str
    place: list[str | int]
    """Where in the draft; empty where it is about all of it."""


class UnmappedView(BaseModel):
    """Something that has no place in a flow."""

    what: str
    where: str
    """The part of the file, by its name and id."""


class BeginningView(BaseModel):
    """A draft that nobody has saved yet."""

    flow: str
    """A name that no flow of the tenant has."""
    text: str
    questions: list[QuestionView]
    unmapped: list[UnmappedView]

    @classmethod
    def of(cls, made: Beginning, locale: Locale) -> "BeginningView":
        """The draft in the reader's language."""
        return cls(
            flow=made.flow,
            text=made.text,
            questions=[
                QuestionView(what=what.within(locale), place=list(place))
                for what, place in made.questions
            ],
            unmapped=[
                UnmappedView(what=what.within(locale), where=where) for what, where in made.unmapped
            ],
        )


async def _sent(request: Request, author: Author) -> bytes:
    """The file in the body; of somebody who may not write flows not even the body is read."""
    del author
    async with posted_form(request, LARGEST) as form:
        others = sorted(name for name in form if name != FIELD)
        if others:
            raise InvalidInput.at(others[0][:40], f"isn't known here; send the field {FIELD}")
        file = form.get(FIELD)
        if not isinstance(file, UploadFile):
            raise InvalidInput.at(FIELD, "there is no file in it; send one")
        return await file.read()


_PARTS = {
    "type": "object",
    "properties": {FIELD: {"type": "string", "format": "binary"}},
    "required": [FIELD],
    "additionalProperties": False,
}
_BODY: dict[str, Any] = {
    "requestBody": {"required": True, "content": {"multipart/form-data": {"schema": _PARTS}}}
}


_XML: dict[int | str, dict[str, Any]] = {
    200: {"description": "BPMN 2.0 with its picture.", "content": {"application/xml": {}}}
}


@router.get("/{flow:draft}/bpmn", response_class=Response, responses={**problems(404), **_XML})
async def bpmn(
    services: Given, author: Author, flow: Named, locale: Annotated[Locale | None, Query()] = None
) -> Response:
    """Get a flow as BPMN 2.0: the caller's draft of it, else what holds.

    Names are in the language of `locale`, the caller's own without one. 422 where the draft can't
    be read as a flow at all.
    """
    draft = await services.store.flow_drafts.find(author.tenant, author.id, flow)
    text = draft.text if draft else await _held(services, author, flow)
    known = services.flow_texts.vocabulary(author.tenant)
    written = await asyncio.to_thread(_bpmn, flow, text, known, locale or author.locale)
    headers = {"Content-Disposition": f'attachment; filename="{flow}.bpmn"'}
    return Response(written, media_type="application/xml", headers=headers)


async def _held(services: Services, author: Principal, flow: str) -> str:
    _, held = await held_flow(services, author, flow)
    if held is None:
        raise NotFound(NOT_THERE)
    return held.text


def _bpmn(flow: str, text: str, known: Vocabulary, locale: Locale) -> str:
    try:
        return bpmn_of(examine_text(Path(f"{flow}.yaml"), text, known).definition, locale)
    except DefinitionError as error:
        raise unsound(error.problems, locale, _UNREADABLE) from None


_UNREADABLE = Localised(
    zh="这份草稿还读不成流程，先改好再导出。",
    en="The draft can't be read as a flow yet: mend it first.",
)


@router.post("/beginnings", responses=problems(400, 404, 413, 415), openapi_extra=_BODY)
async def begin(
    services: Given, author: Author, sent: Annotated[bytes, Depends(_sent)]
) -> BeginningView:
    """Make a draft of a file: what of it maps, what is left to decide, what has no place.

    A process as BPMN 2.0, or a form as xlsx or docx. Nothing is saved; 422 says why a file
    can't be used.
    """
    texts, tenant = services.flow_texts, author.tenant
    drafts = await services.store.flow_drafts.heads(tenant)
    taken = frozenset(texts.flows(tenant)) | {draft.flow for draft in drafts}
    around = BeginningContext(texts.vocabulary(tenant), taken)
    made = await asyncio.to_thread(beginning_of_file, sent, around)
    return BeginningView.of(made, author.locale)
