"""Reviews of drafts of flows: an author submits, somebody else looks at the difference and decides.

What is submitted stays as it was, with the version that its runs will go by already written into
it: what was approved is what is published, to the byte.
"""

from datetime import UTC, datetime
from typing import Annotated, Self

from fastapi import APIRouter, Depends, Response
from pydantic import BaseModel, ConfigDict

from router.api.dependencies import Audited, Author, Paged, PageParams, RequestWork, Work
from router.api.errors import problems
from router.api.flow_reading import read_flow_text
from router.api.idempotency import IdempotencyKey, claim, claim_of, claimed
from router.api.params import Comment, Note, StrictRoute, derived_id, fresh_id
from router.api.routes.configuration import MOST_PROBLEMS, examined_document
from router.domain.configuration_documents import behaviours, digest_of
from router.domain.errors import (
    Conflict,
    FieldProblem,
    Forbidden,
    InvalidInput,
    NotFound,
    TooManyRequests,
    Unavailable,
)
from router.domain.locale import Localised
from router.domain.principals import Principal
from router.extensions.authoring.author_jobs import set_version
from router.extensions.authoring.drafts import FlowText
from router.extensions.authoring.flow_difference import DifferenceView, difference_of, undetermined
from router.extensions.authoring.flow_examination import DraftName
from router.extensions.authoring.patch import ChangedFile, PatchHead, mailed_patch
from router.extensions.authoring.reviews import (
    DECIDED,
    FlowReview,
    ReviewDecision,
    ReviewHead,
    ReviewStatus,
    StoryCoverage,
    why_undecided,
    why_unwithdrawn,
)
from router.extensions.authoring.routes.drafts import held_flow, surroundings_of
from router.extensions.authoring.services import AuthoringServices, GivenAuthoring
from router.extensions.authoring.trials.protocol import StoriesReport
from router.flow.catalog import behaviour
from router.flow.definition import FlowDefinition
from router.flow.validation.phrases import told
from router.isolation.runner import LimitExceeded

router = APIRouter(prefix="/v1/flow-reviews", tags=["authors"], route_class=StrictRoute)


class StoryCounts(BaseModel):
    """How the stories went that were submitted with it."""

    passed: int
    failed: int


class ListedReview(BaseModel):
    """A review without what was submitted."""

    id: str
    flow: str
    version: int
    """The number that runs of it go by."""
    author: str
    note: str
    submitted_at: datetime
    status: ReviewStatus
    reviewer: str | None
    comment: str | None
    decided_at: datetime | None
    stories: StoryCounts
    outdated: bool
    """True where something else holds by now: it can't be approved or published any more."""

    @classmethod
    def of(cls, review: ReviewHead, held: str | None) -> Self:
        """The review, where that is the digest of what holds."""
        return cls(
            **review.model_dump(include={*ListedReview.model_fields} & {*ReviewHead.model_fields}),
            stories=StoryCounts(passed=review.passed, failed=review.failed),
            outdated=review.is_outdated(held),
        )


class ReviewView(ListedReview):
    """A review: who submitted what, and what is another by it."""

    coverage: StoryCoverage | None
    """How much of it its stories take; null: it was submitted before that was kept."""
    difference: DifferenceView


class ReviewPage(BaseModel):
    """Reviews of the tenant, the newest first."""

    items: list[ListedReview]
    next: str | None


class SubmissionBody(BaseModel):
    """The caller's saved draft of this flow is to be looked at."""

    model_config = ConfigDict(extra="forbid")

    flow: DraftName
    note: Note = ""


class VerdictBody(BaseModel):
    """What the reviewer says to it."""

    model_config = ConfigDict(extra="forbid")

    decision: ReviewDecision
    comment: Comment = ""


_SAME = Localised(
    zh="草稿和现在生效的内容没有区别",
    en="the draft says what holds already: there is no difference",
)
_NO_STORIES = Localised(
    zh="还没有故事：至少写一个，并让它通过",
    en="there are none: write at least one, and have it pass",
)
_NO_REVIEW = Localised(zh="没有这个评审。", en="There is no such review.")


async def _found(services: GivenAuthoring, author: Author, review: str) -> FlowReview:
    readable = 1 <= len(review) <= 64 and review.isascii() and review.isalnum()  # noqa: PLR2004
    found = await services.flow_reviews.find(author.tenant, review) if readable else None
    if found is None:
        raise NotFound(_NO_REVIEW)
    return found


GivenReview = Annotated[FlowReview, Depends(_found)]
"""The review in the path, of the caller's tenant; 404 where there is none."""


@router.post("", status_code=201, responses=problems(400, 404, 409, 413, 415))
async def submit(
    services: GivenAuthoring,
    author: Author,
    work: Work,
    body: SubmissionBody,
    audit: Audited,
    key: IdempotencyKey,
) -> ReviewView:
    """Have somebody else look at one's saved draft; its problems, and stories that fail, are 422.

    409 where something else holds than what the draft was written over: it would undo that.
    Where it does something else under the number of another version, the next one is written into
    it. What one had submitted of the flow before, and nobody has decided on, is withdrawn.
    """
    id_ = derived_id("review", author.tenant, author.id, key) if key else fresh_id()
    if await claimed(services, author, key):
        await claim(services, author, key, "submit", body.model_dump())
        return await _view(services, work, await _found(services, author, id_))
    draft = await services.flow_drafts.find(author.tenant, author.id, body.flow)
    if draft is None:
        raise NotFound(
            Localised(zh="你没有这个流程的草稿。", en="You have no saved draft of that flow.")
        )
    base, held = await held_flow(services, author, body.flow)
    written = FlowText(draft.text, draft.stories)
    if held == written:
        raise InvalidInput.at("flow", _SAME)
    if draft.base.digest != base.digest:
        raise Conflict(_BEHIND)
    definition = await _read_draft(services, work, body.flow, draft.text)
    text, version = await _numbered(services, work, draft.text, definition)
    await examined_document(services, author, "flows", body.flow, text)
    report = await _green(services, work, body.flow, FlowText(text, written.stories))
    review = FlowReview(
        id=id_,
        tenant=author.tenant,
        flow=body.flow,
        version=version,
        author=author.id,
        note=body.note,
        text=text,
        stories=written.stories,
        digest=digest_of(text),
        held=base.digest if held else None,
        held_text=held.text if held else "",
        held_stories=held.stories if held else "",
        submitted_at=datetime.now(UTC),
        status="open",
        passed=report.passed,
        failed=0,
        coverage=report.coverage,
    )
    bound = claim_of(author, key, "submit", body.model_dump())
    await audit.note("review.submit", _subject(review), reason=body.note, detail=f"v{version}")
    await services.flow_reviews.submit(review, bound)
    return await _view(services, work, await _found(services, author, id_))


_BEHIND = Localised(
    zh="动笔以后，生效的版本变了；这样提交会把别人的改动撤掉。先看看现在生效的，再说明从那里接着改。",
    en="Something else holds than when this draft was begun, and submitting it would undo that: "
    "look at what holds, then say that the draft goes on from there.",
)


@router.get("", responses=problems(404))
async def index(
    services: GivenAuthoring,
    author: Author,
    page: Paged,
    status: ReviewStatus | None = None,
    flow: DraftName | None = None,
) -> ReviewPage:
    """List the tenant's reviews, of one flow or all, that stand so or all, the newest first."""
    kept = services.flow_reviews
    found, following = await kept.listed(author.tenant, status, *_part(page), flow=flow)
    flows = {review.flow for review in found}
    held = {flow: await held_digest(services, author, flow) for flow in sorted(flows)}
    items = [ListedReview.of(review, held[review.flow]) for review in found]
    return ReviewPage(items=items, next=following)


@router.get("/{review}", responses=problems(404))
async def show(services: GivenAuthoring, _: Author, work: Work, found: GivenReview) -> ReviewView:
    """Show a review, with what is another by it in words and as pictures."""
    return await _view(services, work, found)


@router.post("/{review}/decision", responses=problems(400, 403, 404, 409, 413, 415))
async def decide(
    services: GivenAuthoring,
    author: Author,
    work: Work,
    found: GivenReview,
    body: VerdictBody,
    audit: Audited,
    key: IdempotencyKey,
) -> ReviewView:
    """Approve or refuse what somebody else has submitted."""
    if await claimed(services, author, key):
        await claim(services, author, key, f"decide {found.id}", body.model_dump())
        return await _view(services, work, found)
    held = await held_digest(services, author, found.flow)
    _insist(why_undecided(found, author.id, body.decision, held), found, author)
    bound = claim_of(author, key, f"decide {found.id}", body.model_dump())
    status = DECIDED[body.decision]
    detail = f"{status} {found.digest[:12]}"
    await audit.note(
        "review.decide", _subject(found), whose=found.author, reason=body.comment, detail=detail
    )
    await services.flow_reviews.decide(
        found, status, by=author.id, comment=body.comment, at=datetime.now(UTC), claim=bound
    )
    return await _view(services, work, await _found(services, author, found.id))


@router.post("/{review}/withdrawal", responses=problems(400, 403, 404, 409))
async def withdraw(
    services: GivenAuthoring,
    author: Author,
    work: Work,
    found: GivenReview,
    audit: Audited,
    key: IdempotencyKey,
) -> ReviewView:
    """Take back what one has submitted, before it is published."""
    if await claimed(services, author, key):
        await claim(services, author, key, f"withdraw {found.id}")
        return await _view(services, work, found)
    refusal = why_unwithdrawn(found, author.id)
    if refusal is not None:
        raise Forbidden(refusal) if found.author != author.id else Conflict(refusal)
    bound = claim_of(author, key, f"withdraw {found.id}")
    await audit.note("review.withdraw", _subject(found))
    now = datetime.now(UTC)
    await services.flow_reviews.decide(found, "withdrawn", by=author.id, at=now, claim=bound)
    return await _view(services, work, await _found(services, author, found.id))


@router.get(
    "/{review}/patch",
    response_class=Response,
    responses={200: {"content": {"text/x-patch": {"schema": {"type": "string"}}}}, **problems(404)},
)
async def patch(
    services: GivenAuthoring, author: Author, work: Work, found: GivenReview
) -> Response:
    """Give it as a patch of `flows/` and `flows/tests/`, which `git am` takes."""
    writer = await services.directory.find(author.tenant, found.author)
    name = writer.name if writer else found.author
    was = found.held is not None
    files = [
        ChangedFile(f"flows/{found.flow}.yaml", found.held_text if was else None, found.text),
        ChangedFile(f"flows/tests/{found.flow}.yaml", found.held_stories or None, found.stories),
    ]
    head = PatchHead(
        author=name,
        address=f"{found.author}@{author.tenant}.invalid",
        at=found.submitted_at,
        subject=f"flows/{found.flow}.yaml: version {found.version}",
        body="\n".join([_told(found), found.note, found.comment or ""]),
    )
    text = await work.run(mailed_patch, files, head)
    return Response(text, media_type="text/x-patch")


async def held_digest(services: AuthoringServices, author: Principal, flow: str) -> str | None:
    """The digest of what holds of the flow in their tenant; None where nothing does."""
    base, held = await held_flow(services, author, flow)
    return base.digest if held is not None else None


def _part(page: PageParams) -> tuple[str | None, int]:
    return (page.after, page.limit)


def _subject(review: ReviewHead) -> str:
    return f"{review.flow}/{review.id}"


def _told(review: ReviewHead) -> str:
    """How it stands, as a message of a patch has it."""
    by = f" by {review.reviewer}" if review.reviewer else ""
    return f"Submitted by {review.author}; {review.status}{by}."


def _insist(refusal: Localised | None, review: ReviewHead, person: Principal) -> None:
    """Raise what a rule says: `Forbidden` to its author, else `Conflict`."""
    if refusal is not None:
        raise Forbidden(refusal) if person.id == review.author else Conflict(refusal)


async def _read_draft(
    services: AuthoringServices, work: RequestWork, flow: str, text: str
) -> FlowDefinition:
    """The flow that the text is; `InvalidInput` with every problem of it by itself."""
    known = services.flow_texts.vocabulary(work.person.tenant)
    read = await work.run(read_flow_text, f"flows/{flow}.yaml", text, known)
    if read.sound is not None:
        return read.sound
    found = read.problems
    faults = [
        FieldProblem.of(f"{each.file}:{each.line}", told(each.what, each.remedy))
        for each in found[:MOST_PROBLEMS]
    ]
    zh = f"草稿还有 {len(found)} 处问题，不能提交。"
    en = f"The draft can't be submitted, for {len(found)} reason{'s' * (len(found) > 1)}."
    raise InvalidInput(Localised(zh=zh, en=en), faults)


async def _numbered(
    services: AuthoringServices, work: RequestWork, text: str, flow: FlowDefinition
) -> tuple[str, int]:
    """The text with the number that the flow's runs will go by: its own unless others go by it."""
    version = await _version_of(services, work.person, flow)
    if version == flow.version:
        return text, version
    numbered = await work.run(set_version, text, version)
    if numbered is None:
        zh, en = (
            f"请写 {version}，因为它的做法不一样了",
            f"write {version}, as it does something else",
        )
        raise InvalidInput.at("version", Localised(zh=zh, en=en))
    return numbered, version


async def _version_of(services: AuthoringServices, author: Principal, flow: FlowDefinition) -> int:
    store, does = services.store, behaviour(flow)
    held = services.flow_texts.flows(author.tenant).get(flow.flow)
    taken = behaviours(await store.configuration.versions(author.tenant, "flows", flow.flow))
    if held is not None:
        taken.setdefault(held.version, behaviour(held))
    is_behind = held is not None and flow.version < held.version and behaviour(held) != does
    version = max(taken) + 1 if is_behind else flow.version
    while True:
        before = taken.get(version) or await store.flow_versions.known(flow.flow, version)
        if before in {None, does}:
            return version
        version = max([version, *taken]) + 1


async def _green(
    services: AuthoringServices, work: RequestWork, flow: str, written: FlowText
) -> StoriesReport:
    """How its stories went, all of which went well; `InvalidInput` otherwise."""
    if not written.stories.strip():
        raise InvalidInput.at("stories", _NO_STORIES)
    running = services.trials.run(
        work.person, flow, written.text, written.stories, is_submitted=True
    )
    report = await work.while_client_stays(running)
    failed = [each for each in report.stories if not each.ok]
    if failed or not report.passed:
        faults = [FieldProblem(f"stories: {each.name}", "; ".join(each.told)) for each in failed]
        said = Localised(
            zh=f"{len(failed)} 个故事没有通过，不能提交。",
            en=f"It can't be submitted: {len(failed)} of its stories failed.",
        )
        raise InvalidInput(said, faults)
    return report


async def _view(services: AuthoringServices, work: RequestWork, review: FlowReview) -> ReviewView:
    """The review with its difference; where that can't be worked out the review says so."""
    reader = work.person
    digest = await held_digest(services, reader, review.flow)
    was = FlowText(review.held_text, review.held_stories) if review.held is not None else None
    now, around = FlowText(review.text, review.stories), surroundings_of(services, reader.tenant)
    try:
        shown = await work.run(difference_of, review.flow, was, now, around, reader.locale)
    except (LimitExceeded, TooManyRequests, Unavailable) as error:
        shown = undetermined(error, reader.locale)
    listed = ListedReview.of(review, digest)
    return ReviewView(**dict(listed), coverage=review.coverage, difference=shown)
