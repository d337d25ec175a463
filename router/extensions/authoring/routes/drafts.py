"""Drafts of flows: each author's own texts of flows, held to what there is as they are written.

Authors write drafts, and nothing that anybody uses changes by them. What is asked for while
somebody types (an examination, edits) is stateless: it is about the text that is sent.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Annotated, Literal

from fastapi import APIRouter, Depends
from pydantic import BaseModel, ConfigDict, Field
from starlette.convertors import StringConvertor, register_url_convertor

from router.api.dependencies import OPERATOR, Audited, Author, RequestWork, Work
from router.api.errors import problems
from router.api.flow_documents import partly_held
from router.api.flow_reading import read_flow_text
from router.api.params import StrictRoute
from router.domain.configuration_documents import DocumentHead, digest_of, is_name, path_of
from router.domain.errors import (
    Conflict,
    NotFound,
    TooManyRequests,
    Unavailable,
)
from router.domain.locale import Localised
from router.domain.principals import Principal
from router.extensions.authoring.author_jobs import edit_flow, find_impact, unsound
from router.extensions.authoring.drafts import (
    DraftBase,
    DraftHead,
    FlowDraft,
    FlowOrigin,
    FlowText,
)
from router.extensions.authoring.flow_difference import DifferenceView, difference_of
from router.extensions.authoring.flow_examination import (
    DraftName,
    Examination,
    FlowFileText,
    PlacedProblem,
    StoryFileText,
    Surroundings,
    examination_of,
    unexamined,
)
from router.extensions.authoring.flow_impact import Impact, said_lately, sentences_of
from router.extensions.authoring.flow_vocabulary import FlowVocabulary, vocabulary_of
from router.extensions.authoring.services import AuthoringServices, GivenAuthoring
from router.flow.definition import FlowDefinition
from router.formats.data_edit import Edit
from router.isolation.runner import LimitExceeded

PREFIX = "/v1/flow-drafts"
BODIES = {f"{PREFIX}/": 512 * 1024}
"""Bytes below that path: a text that is JSON within JSON takes more than itself."""
MOST_EDITS = 100
"""Of one request: each has the whole text read again."""
LATELY = timedelta(days=30)

router = APIRouter(prefix=PREFIX, tags=["authors"], route_class=StrictRoute)


class AuthorsDraft(BaseModel):
    """That somebody has a draft, without what it says."""

    author: str
    updated_at: datetime


class FlowEntry(BaseModel):
    """A flow that the tenant has, or that somebody has begun to write."""

    flow: str
    title: str
    description: str
    source: FlowOrigin
    version: int | None
    """The version that new runs go by; null where it is only a draft yet."""
    share: int | None
    """Of a hundred people, how many have it, where the others have no such flow; else null."""
    begins: datetime | None
    """From when on there is one, where nobody has it yet; else null."""
    drafts: list[AuthorsDraft]
    published_by: str | None
    """Who let the document hold; null for a file."""
    published_at: datetime | None
    started: int
    """Runs that were begun in the last 30 days, and what became of those."""
    completed: int
    cancelled: int


class FlowEntries(BaseModel):
    """All flows of the tenant by name; there is never a next page."""

    items: list[FlowEntry]
    next: None = None


class DraftView(BaseModel):
    """A draft, or what holds where there is none yet."""

    flow: str
    text: str
    stories: str
    revision: int
    """To be sent back when it is saved; 0: nothing is saved yet."""
    updated_at: datetime | None
    base: DraftBase
    """What held when the draft was begun, or what its author has said since to go on from."""
    holds: DraftBase
    """What holds by now."""
    outdated: bool
    """True where something else holds by now."""
    others: list[AuthorsDraft]
    """Colleagues who have a draft of the same flow."""
    examination: Examination


class _Body(BaseModel):
    model_config = ConfigDict(extra="forbid")


class DraftBody(_Body):
    """A draft to be saved."""

    text: FlowFileText
    stories: StoryFileText = ""
    revision: Annotated[int, Field(strict=True, ge=0, le=2**31 - 2)]
    """The one that was changed; 0 for a new draft."""
    over: Annotated[str, Field(max_length=64)] | None = None
    """The digest of what holds by now (`holds`): its author has looked at that, and goes on from
    there. Null: the base stays."""


class DifferenceBody(_Body):
    """A text as it stands in a window, to be held against another."""

    text: FlowFileText
    stories: StoryFileText = ""
    over: Literal["held", "draft"] = "held"
    """What holds by now, or the caller's draft as it is saved."""


class FlowTextBody(_Body):
    """The text of a flow as it is being written."""

    flow: DraftName
    text: FlowFileText


class EditsBody(FlowTextBody):
    """Edits to be made in the text, one after the other: all of them or none."""

    stories: StoryFileText = ""
    """Those that go with it: a state or slot that is renamed is renamed in them too."""
    edits: Annotated[
        list[Annotated[Edit, Field(discriminator="op")]], Field(min_length=1, max_length=MOST_EDITS)
    ]


class EditedText(BaseModel):
    """The text after the edits, and what is to be said of it."""

    text: str
    stories: str
    look: list[PlacedProblem]
    """What may mean a choice that was renamed, and was left as it is: the author has to look."""
    examination: Examination


NOT_THERE = Localised(
    zh="没有这个流程，也没有它的草稿。", en="There is no such flow, and no draft of one."
)


class _DraftName(StringConvertor):
    """A name in the path, and none of the addresses beside it: no draft may be unreachable."""

    regex = "(?!(?:beginnings|edits|examination|impact|vocabulary)(?:/|$))[^/]+"


register_url_convertor("draft", _DraftName())


async def _named(flow: str) -> str:
    if not is_name("flows", flow):
        raise NotFound(NOT_THERE)
    return flow


_MOVED_ON = Localised(
    zh="生效的版本又变了：先看看现在生效的，再接着改。",
    en="Something else holds again by now: look at that first, then go on from there.",
)
NamedFlow = Annotated[str, Depends(_named)]
"""The flow in the path; 404 where none can be called so."""


@router.get("", responses=problems(404))
async def index(services: GivenAuthoring, author: Author, work: Work) -> FlowEntries:
    """List every flow of the tenant and every draft, with how often each was asked for lately."""
    tenant, store = author.tenant, services.store
    flows = services.flow_texts.flows(tenant)
    heads = {head.name: head for head in await store.configuration.heads(tenant, "flows")}
    drafts = defaultdict[str, list[DraftHead]](list)
    for draft in await services.flow_drafts.heads(tenant):
        drafts[draft.flow].append(draft)
    counts = await store.runs.outcomes(tenant, datetime.now(UTC) - LATELY)
    held = {name for name, head in heads.items() if head.held is not None}
    names = sorted(flows.keys() | drafts.keys() | held)
    partly = {n: await partly_held(services, work, n) for n in sorted(held - flows.keys())}
    there = {**partly, **flows}
    return FlowEntries(
        items=[
            _entry(author, name, there.get(name), heads.get(name), drafts[name], counts)
            for name in names
        ]
    )


def _entry(
    author: Principal,
    name: str,
    flow: FlowDefinition | None,
    head: DocumentHead | None,
    drafts: Iterable[DraftHead],
    counts: Mapping[str, Mapping[str, int]],
) -> FlowEntry:
    holding = head if head is not None and head.held is not None else None
    partly = holding if holding is not None and holding.active is None else None
    ended = counts.get(name, {})
    return FlowEntry(
        flow=name,
        title=flow.title.within(author.locale) if flow else name,
        description=flow.description.within(author.locale) if flow else "",
        source="document" if holding else "file" if flow else "draft",
        version=flow.version if flow else None,
        share=partly.share if partly else None,
        begins=partly.upcoming_from if partly and partly.shared is None else None,
        drafts=_shown(drafts),
        published_by=holding.activated_by if holding else None,
        published_at=holding.activated_at if holding else None,
        started=sum(ended.values()),
        completed=ended.get("completed", 0),
        cancelled=ended.get("cancelled", 0),
    )


def _shown(drafts: Iterable[DraftHead]) -> list[AuthorsDraft]:
    return [AuthorsDraft(author=each.author, updated_at=each.updated_at) for each in drafts]


@router.post("/examination", responses=problems(400, 404, 413, 415))
async def examine(
    services: GivenAuthoring, author: Author, work: Work, body: FlowTextBody
) -> Examination:
    """Say what is wrong with a text, where, and what it looks like; nothing is saved."""
    around = surroundings_of(services, author.tenant)
    return await _examined(work, body.flow, body.text, around)


@router.post("/impact", responses=problems(400, 404, 413, 415))
async def impact(
    services: GivenAuthoring, author: Author, work: Work, audit: Audited, body: FlowTextBody
) -> Impact:
    """Say which known sentences would go another way by rules, if the text held; 422 if it can't.

    They are the flows' own examples and evaluation sets beside them; where
    ROUTER_OPERATORS_READ_WORDS is set, to operators also what people said in the last 30 days.
    """
    tenant, now, texts = author.tenant, datetime.now(UTC), services.flow_texts
    path, known = f"{body.flow}.yaml", texts.vocabulary(tenant)
    read = await work.run(read_flow_text, path, body.text, known)
    if read.sound is None:
        raise unsound(read.problems, author.locale, UNSOUND)
    # Whoever may not read words doesn't learn either which patterns of theirs match some.
    words = services.settings.operators_read_words and OPERATOR in author.roles
    detail = "with what people said" if words else "without what people said"
    await audit.note("flow_drafts.impact", path_of("flows", body.flow), detail=detail)
    entries = services.store.log.every_exchange(tenant, now - LATELY)
    logged = await said_lately(entries) if words else ()
    flows = texts.flows(tenant)
    named = {**flows, body.flow: read.sound}
    sentences = sentences_of(named.values(), texts.labelled(), logged)
    given = (texts.rule_sources(tenant), flows, read.sound, sentences, now, author.locale)
    return await work.run(find_impact, *given)


UNSOUND = Localised(
    zh="这份流程还有问题，先改好再看它的影响。",
    en="The flow has problems: mend them first, then see what it would do to the others.",
)


@router.post("/edits", responses=problems(400, 404, 413, 415))
async def edit(services: GivenAuthoring, author: Author, work: Work, body: EditsBody) -> EditedText:
    """Make edits in a text, whose comments, order and quotes stay; nothing is saved.

    422 names the first edit that can't be made, such as `edits.2`; then none was made.
    """
    made = await work.run(edit_flow, body.text, body.stories, body.edits, author.locale)
    around = surroundings_of(services, author.tenant)
    examination = await _examined(work, body.flow, made.text, around)
    return EditedText(text=made.text, stories=made.stories, look=made.look, examination=examination)


@router.get("/vocabulary", responses=problems(404))
async def vocabulary(services: GivenAuthoring, author: Author) -> FlowVocabulary:
    """List what an author may choose from: kinds of states, types of slots, checks, tools."""
    texts, held = services.flow_texts, _roles(services, author.tenant)
    return vocabulary_of(texts.tools(author.tenant), held)


@router.get("/{flow:draft}", responses=problems(404))
async def show(services: GivenAuthoring, author: Author, work: Work, flow: NamedFlow) -> DraftView:
    """Show the caller's draft of a flow, else what holds: revision 0, which nothing is saved of."""
    draft = await services.flow_drafts.find(author.tenant, author.id, flow)
    return await draft_view(services, work, flow, draft)


@router.put("/{flow:draft}", responses=problems(400, 404, 409, 413, 415))
async def put(
    services: GivenAuthoring, author: Author, work: Work, flow: NamedFlow, body: DraftBody
) -> DraftView:
    """Save the caller's draft, whatever is wrong with it.

    409 where `revision` isn't the one that is saved: it was changed in another window; or where
    what holds isn't what the draft is to go on from.
    """
    before = await services.flow_drafts.find(author.tenant, author.id, flow)
    holds, _ = await held_flow(services, author, flow)
    if body.over is not None and body.over != holds.digest:
        raise Conflict(_MOVED_ON)
    base = before.base if before and body.over is None else holds
    written = FlowText(body.text, body.stories)
    return await saved_draft(services, work, flow, written, body.revision, base)


async def saved_draft(
    services: AuthoringServices,
    work: RequestWork,
    flow: str,
    written: FlowText,
    revision: int,
    base: DraftBase,
) -> DraftView:
    """The caller's draft, saved over this revision; `Conflict` where another one is saved."""
    author = work.person
    draft = FlowDraft(
        flow=flow,
        author=author.id,
        text=written.text,
        stories=written.stories,
        revision=revision + 1,
        base=base,
        updated_at=datetime.now(UTC),
    )
    await services.flow_drafts.save(author.tenant, draft)
    return await draft_view(services, work, flow, draft)


@router.post("/{flow:draft}/difference", responses=problems(400, 404, 413, 415))
async def differ(
    services: GivenAuthoring, author: Author, work: Work, flow: NamedFlow, body: DifferenceBody
) -> DifferenceView:
    """Say what a text does otherwise than what holds, or than the caller's draft as it is saved.

    Both are shown before somebody writes over one of them. Nothing is saved; 404 where there is no
    such draft.
    """
    was: FlowText | None
    if body.over == "draft":
        draft = await services.flow_drafts.find(author.tenant, author.id, flow)
        if draft is None:
            raise NotFound(NOT_THERE)
        was = FlowText(draft.text, draft.stories)
    else:
        _, was = await held_flow(services, author, flow)
    around = surroundings_of(services, author.tenant)
    now = FlowText(body.text, body.stories)
    return await work.run(difference_of, flow, was, now, around, author.locale)


@router.delete("/{flow:draft}", status_code=204, responses=problems(404))
async def discard(services: GivenAuthoring, author: Author, flow: NamedFlow) -> None:
    """Delete the caller's draft of a flow; what holds, and colleagues' drafts, stay."""
    if not await services.flow_drafts.discard(author.tenant, author.id, flow):
        raise NotFound(NOT_THERE)


async def draft_view(
    services: AuthoringServices, work: RequestWork, flow: str, draft: FlowDraft | None
) -> DraftView:
    """The draft beside what holds, or what holds where there is none; `NotFound` without both.

    The draft is saved already, so that a text that can't be examined is a problem of it and no
    failure.
    """
    author = work.person
    base, held = await held_flow(services, author, flow)
    if draft is None and held is None:
        raise NotFound(NOT_THERE)
    shown = draft or held or FlowText("")
    drafts = await services.flow_drafts.heads(author.tenant, flow)
    try:
        around = surroundings_of(services, author.tenant)
        examination = await _examined(work, flow, shown.text, around)
    except (TooManyRequests, Unavailable) as error:
        examination = unexamined(error, author.locale)
    return DraftView(
        flow=flow,
        text=shown.text,
        stories=shown.stories,
        revision=draft.revision if draft else 0,
        updated_at=draft.updated_at if draft else None,
        base=draft.base if draft else base,
        holds=base,
        outdated=draft is not None and draft.base.digest != base.digest,
        others=_shown(each for each in drafts if each.author != author.id),
        examination=examination,
    )


async def held_flow(
    services: AuthoringServices, author: Principal, flow: str
) -> tuple[DraftBase, FlowText | None]:
    """What holds of the flow in the author's tenant, and what it says; None where nothing does.

    Of a flow that nobody else has that is what a share of people has, or what is to come.
    """
    kept, texts = services.store.configuration, services.flow_texts
    file = texts.in_file(flow) if flow in texts.flows(author.tenant) else None
    head = await kept.head(author.tenant, "flows", flow)
    number = None if head is None else head.active if file is not None else head.held
    if number is not None:
        document = await kept.find(author.tenant, "flows", flow, number)
        if document is not None:
            base = DraftBase(source="document", version=number, digest=document.digest)
            stories = await held_stories(services, author, flow)
            return base, FlowText(document.text, stories)
    if file is None:
        return DraftBase(source="draft"), None
    stories = await held_stories(services, author, flow)
    return DraftBase(source="file", digest=digest_of(file.text)), FlowText(file.text, stories)


async def held_stories(services: AuthoringServices, author: Principal, flow: str) -> str:
    """The stories that hold of the flow in their tenant; empty where there are none."""
    kept = services.store.configuration
    head = await kept.head(author.tenant, "stories", flow)
    file = services.flow_texts.in_file(flow)
    number = None if head is None else head.active if file is not None else head.held
    if number is not None:
        document = await kept.find(author.tenant, "stories", flow, number)
        if document is not None:
            return document.text
    return file.stories if file else ""


async def _examined(work: RequestWork, flow: str, text: str, around: Surroundings) -> Examination:
    """What is to be said of the text; one that takes too much to be examined has that problem."""
    locale = work.person.locale
    try:
        return await work.run(examination_of, flow, text, around, locale)
    except LimitExceeded as error:
        return unexamined(error, locale)


def surroundings_of(services: AuthoringServices, tenant: str) -> Surroundings:
    """What a flow of the tenant stands among now."""
    texts = services.flow_texts
    held = _roles(services, tenant) or None
    return Surroundings(texts.flows(tenant), texts.vocabulary(tenant), held)


def _roles(services: AuthoringServices, tenant: str) -> frozenset[str]:
    """The roles that somebody in the tenant holds."""
    people = services.directory.everyone(tenant)
    return frozenset(role for person in people for role in person.roles)
