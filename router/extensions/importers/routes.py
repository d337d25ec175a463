"""Beginnings of flows, for authors: a draft of a file or a paragraph.

Nothing is saved or published: what is answered is a text to go on from.
"""

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Request
from pydantic import BaseModel, TypeAdapter, ValidationError
from starlette.datastructures import UploadFile

from router.api.dependencies import Author, Services, Work
from router.api.errors import problems
from router.api.files import FIELD, posted_form
from router.api.params import SaidText
from router.domain.errors import InvalidInput, Unavailable, reason_of
from router.domain.locale import Locale, Localised
from router.extensions.authoring.routes.drafts import surroundings_of
from router.extensions.authoring.services import GivenAuthoring
from router.extensions.importers.beginning import Beginning, BeginningContext
from router.extensions.importers.paragraph import (
    LONGEST_PARAGRAPH,
    UnusableAnswer,
    beginning_of_answer,
)
from router.extensions.importers.sketcher import FlowSketcher
from router.extensions.importers.source_file import LARGEST, beginning_of_file
from router.llm.types import ChatAnswer

PREFIX = "/v1/flow-drafts"
PATH = f"{PREFIX}/beginnings"
PARAGRAPH = "paragraph"
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


async def _sent(request: Request, author: Author) -> bytes | str:
    """The file in the body, or the paragraph.

    Of somebody who may not write flows not even the body is read.
    """
    del author
    async with posted_form(request, LARGEST) as form:
        if others := sorted(name for name in form if name not in {FIELD, PARAGRAPH}):
            why = f"isn't known here; send the field {FIELD} or {PARAGRAPH}"
            raise InvalidInput.at(others[0][:40], why)
        if len(form.multi_items()) > 1:
            raise InvalidInput.at(PARAGRAPH, _ONE_ALONE)
        if (told := form.get(PARAGRAPH)) is not None:
            return _paragraph(told)
        file = form.get(FIELD)
        if not isinstance(file, UploadFile):
            raise InvalidInput.at(FIELD, "there is no file in it; send one")
        return await file.read()


def _paragraph(told: UploadFile | str) -> str:
    if not isinstance(told, str):
        raise InvalidInput.at(PARAGRAPH, "is a file; send text")
    if len(told) > LONGEST_PARAGRAPH:
        raise InvalidInput.at(
            PARAGRAPH,
            Localised(
                zh=f"有 {len(told)} 个字符，最多 {LONGEST_PARAGRAPH} 个",
                en=f"it has {len(told)} characters; at most {LONGEST_PARAGRAPH} are allowed",
            ),
        )
    try:
        # A form's lines end as the web has them.
        return _SAID.validate_python(told.replace("\r\n", "\n"))
    except ValidationError as error:
        why = reason_of(error.errors()[0])
        raise InvalidInput.at(PARAGRAPH, why) from None


_SAID = TypeAdapter[str](SaidText)
_ONE_ALONE = Localised(
    zh=f"一次只从一样东西开始：{FIELD} 或 {PARAGRAPH}",
    en=f"a flow begins with one thing: send {FIELD} or {PARAGRAPH}, and once",
)
_PARTS = {
    "oneOf": [
        {
            "type": "object",
            "properties": {name: schema},
            "required": [name],
            "additionalProperties": False,
        }
        for name, schema in (
            (FIELD, {"type": "string", "format": "binary"}),
            (PARAGRAPH, {"type": "string", "maxLength": LONGEST_PARAGRAPH}),
        )
    ]
}
_BODY: dict[str, Any] = {
    "requestBody": {"required": True, "content": {"multipart/form-data": {"schema": _PARTS}}}
}


@router.post("/beginnings", responses=problems(400, 404, 413, 415), openapi_extra=_BODY)
async def begin(
    services: GivenAuthoring,
    author: Author,
    work: Work,
    sent: Annotated[bytes | str, Depends(_sent)],
) -> BeginningView:
    """Make a draft of a file or a paragraph: what maps, what is left to decide, what has no place.

    A process as BPMN 2.0, a form as xlsx or docx; a paragraph is read by a model, and 503 where
    none is there. Nothing is saved; 422 says why something can't be used.
    """
    drafts = await services.flow_drafts.heads(author.tenant)
    beside = surroundings_of(services, author.tenant)
    taken = frozenset(beside.flows) | {draft.flow for draft in drafts}
    around = BeginningContext(beside.known, taken, beside.roles or frozenset())
    if isinstance(sent, str):

        async def read(answer: ChatAnswer, around: BeginningContext) -> Beginning | UnusableAnswer:
            return await services.isolated_work.run(author, beginning_of_answer, answer, around)

        sketching = _sketcher(services).beginning_of(author, sent, around, read)
        made = await work.while_client_stays(sketching)
    else:
        made = await work.run(beginning_of_file, sent, around)
    return BeginningView.of(made, author.locale)


def _sketcher(services: Services) -> FlowSketcher:
    """Return what has a model make drafts. Raises `Unavailable` if no model is configured."""
    if services.chains.usual is None:
        raise Unavailable(_NO_MODEL)
    return FlowSketcher.from_services(services)


_NO_MODEL = Localised(
    zh="这里没有配置模型，读不了一段话：请管理员设置 ROUTER_LLM_BASE_URL 和 ROUTER_LLM_MODEL，"
    "或者从文件、现成的流程、空白开始。",
    en="No model is configured here to read a paragraph: an operator sets ROUTER_LLM_BASE_URL and "
    "ROUTER_LLM_MODEL. Or begin with a file, the gallery, or nothing.",
)
