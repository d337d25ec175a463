"""Publishing what a second person has approved: at a time, to a share of people first, and back.

Runs that are under way keep the version that they began with; how many there are of each is said.
"""

from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from typing import Annotated

from fastapi import APIRouter, Depends
from pydantic import AwareDatetime, BaseModel, ConfigDict, Field

from router.api.dependencies import OPERATOR, Audited, Author
from router.api.errors import problems
from router.api.idempotency import IdempotencyKey, claim, claim_of, claimed
from router.api.params import StrictRoute
from router.api.routes.configuration import examined_document
from router.domain.configuration_documents import (
    WHOLE,
    Activation,
    DocumentKind,
    DocumentStanding,
    DocumentVersion,
    digest_of,
    is_name,
    path_of,
    standing,
)
from router.domain.errors import (
    Conflict,
    Forbidden,
    NotFound,
    TooManyRequests,
    Unavailable,
)
from router.domain.locale import Localised
from router.domain.principals import Principal
from router.extensions.authoring.author_jobs import set_version
from router.extensions.authoring.review_store import approve_again, publish_review
from router.extensions.authoring.reviews import (
    FlowReview,
    why_not_theirs,
    why_unplanned,
    why_unpublished,
)
from router.extensions.authoring.routes.drafts import held_stories
from router.extensions.authoring.routes.reviews import held_digest
from router.extensions.authoring.services import AuthoringServices, GivenAuthoring
from router.isolation.runner import LimitExceeded
from router.store.document_versions import TransactionStep

MOST_SHOWN = 50
"""Of what held before."""

router = APIRouter(prefix="/v1/flow-publications", tags=["authors"], route_class=StrictRoute)


class PublicationView(BaseModel):
    """That a version was to hold."""

    version: int | None
    """The number that runs of it go by; null: no document, so that a file counts."""
    document: int | None
    """The document's version, by which a draft can say the same again; null: a file."""
    share: int
    """Of a hundred people, how many have it."""
    published_by: str | None
    """Null for a file."""
    at: datetime | None
    """When it begins, or began."""
    review: str | None = None
    taken_back_by: str | None = None
    taken_back_at: datetime | None = None


class OpenRuns(BaseModel):
    """Runs under way that began with one version."""

    version: int
    runs: int


class FlowPublications(BaseModel):
    """Which version of a flow people have, will have and had."""

    flow: str
    holds: PublicationView | None
    """What began last; null: the tenant has no such flow."""
    others: PublicationView | None
    """What people have who aren't of the share, where `holds` is with a share of them."""
    upcoming: list[PublicationView]
    """What begins by itself, the next one first."""
    before: list[PublicationView]
    """What held before, the newest first, with what was taken back."""
    running: list[OpenRuns]
    """Runs under way, by version: each keeps its own."""
    unfit: str | None
    """Why people have what they had before instead of what holds; null: it fits what there is."""


ShareField = Annotated[int, Field(strict=True, ge=1, le=WHOLE)]


class PublicationBody(BaseModel):
    """What is to hold, from when on, and for how many."""

    model_config = ConfigDict(extra="forbid")

    review: Annotated[str, Field(pattern="^[0-9a-z]{1,64}$")]
    """An approved one of this flow."""
    at: AwareDatetime | None = None
    """With its offset, such as `2026-12-01T08:00:00+08:00`; null: at once."""
    share: ShareField = WHOLE
    """Of a hundred people, how many have it first."""


class ShareBody(BaseModel):
    """For how many the version is to hold that a share of people has."""

    model_config = ConfigDict(extra="forbid")

    share: ShareField


@dataclass(frozen=True)
class PublishedFlow:
    """A flow's documents as they are now."""

    flow: str
    person: Principal
    services: AuthoringServices
    now: datetime
    versions: Sequence[DocumentVersion]
    activations: Sequence[Activation]

    @property
    def standing(self) -> DocumentStanding:
        """Which of them count."""
        return standing(self.activations, self.now)

    @property
    def subject(self) -> str:
        """What the trail calls it."""
        return path_of("flows", self.flow)

    def text(self, held: Activation | None) -> str | None:
        """What that activation lets hold; None: no document."""
        number = held.version if held else None
        return next((each.text for each in self.versions if each.version == number), None)

    def number(self, held: Activation) -> int | None:
        """The number that its runs go by."""
        found = (each for each in self.versions if each.version == held.version)
        return next((each.flow_version for each in found), None)

    def activation(self, held: Activation, share: int) -> Activation:
        """The same version for another share, from now on."""
        return held.replace(
            sequence=None,
            holds_from=None,
            share=share,
            activated_by=self.person.id,
            activated_at=self.now,
        )

    def shown(self, held: Activation) -> PublicationView:
        """The activation as people read it."""
        return PublicationView(
            version=self.number(held),
            document=held.version,
            share=held.share,
            published_by=held.activated_by,
            at=held.moment,
            review=held.review,
            taken_back_by=held.taken_back_by,
            taken_back_at=held.taken_back_at,
        )

    def of_file(self) -> PublicationView | None:
        """The house's file of the flow, where there is one that the tenant has."""
        texts = self.services.flow_texts
        held = texts.flows(self.person.tenant).get(self.flow)
        if held is None or texts.in_file(self.flow) is None:
            return None
        return PublicationView(
            version=held.version, document=None, share=WHOLE, published_by=None, at=None
        )

    def held(self, activation: Activation | None) -> PublicationView | None:
        """The activation, or the file where there is none or it says that no document holds."""
        if activation is None or activation.version is None:
            return self.of_file()
        return self.shown(activation)


_NOT_THERE = Localised(zh="没有这个流程。", en="There is no such flow.")


async def _published(services: GivenAuthoring, author: Author, flow: str) -> PublishedFlow:
    if not is_name("flows", flow):
        raise NotFound(_NOT_THERE)
    kept = services.store.configuration
    versions = await kept.versions(author.tenant, "flows", flow)
    activations = await kept.activations(author.tenant, "flows", flow)
    there = flow in services.flow_texts.flows(author.tenant)
    if not versions and not there and not await _is_reviewed(services, author, flow):
        raise NotFound(_NOT_THERE)
    return PublishedFlow(flow, author, services, datetime.now(UTC), versions, activations)


async def _is_reviewed(services: AuthoringServices, author: Principal, flow: str) -> bool:
    return bool(await services.flow_reviews.has_any(author.tenant, flow))


GivenPublication = Annotated[PublishedFlow, Depends(_published)]
"""The flow in the path as it is published in the caller's tenant; 404 where there is none."""


@router.get("/{flow}", responses=problems(404))
async def show(found: GivenPublication) -> FlowPublications:
    """Show which version holds, for how many people, what is to come, and what runs go by."""
    return await _view(found)


@router.post("/{flow}", responses=problems(400, 403, 404, 409, 412, 413, 415))
async def publish(
    services: GivenAuthoring,
    author: Author,
    found: GivenPublication,
    body: PublicationBody,
    audit: Audited,
    key: IdempotencyKey,
) -> FlowPublications:
    """Let an approved text hold, at once or from a moment on, for all or a share of people."""
    if await claimed(services, author, key):
        await claim(services, author, key, f"publish {found.flow}", body.model_dump(mode="json"))
        return await _view(found)
    review = await services.flow_reviews.find(author.tenant, body.review)
    if review is None or review.flow != found.flow:
        raise NotFound(Localised(zh="没有这个评审。", en="There is no such review of this flow."))
    held = await held_digest(services, author, found.flow)
    _check_person(author, review.author, review.reviewer)
    _insist(why_unpublished(review, held))
    elsewhere = await _shared_elsewhere(found)
    _insist(why_unplanned(found.standing, elsewhere, body.at, body.share, found.now))
    examined = await examined_document(services, author, "flows", found.flow, review.text)
    written = _written(found, review, "flows", review.text, found.versions)
    version = written.replace(flow_version=examined.flow_version, behaviour=examined.behaviour)
    wanted = Activation(
        **version.model_dump(include={"tenant", "kind", "name", "version"}),
        activated_by=author.id,
        activated_at=found.now,
        holds_from=body.at,
        share=body.share,
        review=review.id,
    )
    bound = claim_of(author, key, f"publish {found.flow}", body.model_dump(mode="json"))
    moment = body.at.isoformat() if body.at else "at once"
    detail = f"v{version.flow_version} of {review.id}, {body.share} of 100, {moment}"
    await audit.note("publication.publish", found.subject, whose=review.author, detail=detail)
    stories = await _stories(found, review)
    publishing = partial(publish_review, tenant=review.tenant, review=review.id)
    await services.store.configuration.write(
        version, examined.mark, wanted, stories, bound, publishing
    )
    if body.at is None and body.share == WHOLE:
        await _done_with_draft(found, review)
    return await _changed(found)


@router.patch("/{flow}", responses=problems(400, 403, 404, 409, 412, 413, 415))
async def share(
    services: GivenAuthoring,
    author: Author,
    found: GivenPublication,
    body: ShareBody,
    audit: Audited,
) -> FlowPublications:
    """Give the version that a share of people has to another share; 100: to everybody.

    A larger share keeps the people of the smaller one.
    """
    shared = found.standing.shared
    if shared is None:
        raise Conflict(
            Localised(zh="没有只对一部分人生效的版本。", en="No version is with a share of people.")
        )
    await _check_theirs(found, [shared])
    if shared.share == body.share:
        return await _view(found)
    text = found.text(shared)
    examined = await examined_document(services, author, "flows", found.flow, text)
    detail = f"v{found.number(shared)}, {shared.share} ▸ {body.share} of 100"
    await audit.note("publication.share", found.subject, detail=detail)
    kept = services.store.configuration
    stories = standing(await kept.activations(author.tenant, "stories", found.flow), found.now)
    beside = found.activation(stories.shared, body.share) if stories.shared else None
    await kept.activate(found.activation(shared, body.share), examined.mark, beside)
    return await _changed(found)


@router.post("/{flow}/rollback", responses=problems(400, 403, 404, 409, 412))
async def roll_back(
    services: GivenAuthoring,
    author: Author,
    found: GivenPublication,
    audit: Audited,
    key: IdempotencyKey,
) -> FlowPublications:
    """Take back the version that began last, with all its shares: what held before holds again.

    What is to come was written over what is taken back, and is called off with it.
    """
    if await claimed(services, author, key):
        await claim(services, author, key, f"roll back {found.flow}")
        return await _view(found)
    taken = found.standing.rolled_back
    if not taken:
        raise Conflict(
            Localised(
                zh="没有可以撤回的版本：生效的是文件。",
                en="There is nothing to roll back: what holds is the file.",
            )
        )
    await _check_theirs(found, taken)
    gone = [*taken, *found.standing.upcoming]
    seen = await _mark_without(found, gone)
    bound = claim_of(author, key, f"roll back {found.flow}")
    called_off = "".join(f", v{found.number(e) or 'none'} to come" for e in gone[len(taken) :])
    detail = f"v{found.number(taken[0]) or 'none'}{called_off}"
    await audit.note("publication.rollback", found.subject, detail=detail)
    whole = await _with_stories(found, gone)
    again = _approving_again(found, whole)
    await services.store.configuration.take_back(whole, seen, author.id, found.now, bound, again)
    return await _changed(found)


@router.delete("/{flow}/upcoming", responses=problems(403, 404, 409, 412))
async def call_off(
    services: GivenAuthoring, author: Author, found: GivenPublication, audit: Audited
) -> FlowPublications:
    """Call off what is to begin: its review may be published again, at another time."""
    coming = found.standing.upcoming
    if not coming:
        raise Conflict(Localised(zh="没有等着生效的版本。", en="No version is waiting to begin."))
    await _check_theirs(found, coming)
    seen = await services.store.configuration.mark(author.tenant, found.now)
    numbers = ", ".join(f"v{found.number(each)}" for each in coming)
    await audit.note("publication.call_off", found.subject, detail=numbers)
    whole = await _with_stories(found, coming)
    again = _approving_again(found, whole)
    kept = services.store.configuration
    await kept.take_back(whole, seen, author.id, found.now, along=again)
    return await _changed(found)


def _approving_again(found: PublishedFlow, these: Iterable[Activation]) -> TransactionStep:
    """Return what lets the reviews of those that hadn't begun be published again."""
    reviews = [each.review for each in these if each.review and not each.has_begun(found.now)]
    return partial(approve_again, tenant=found.person.tenant, reviews=reviews)


def _insist(refusal: Localised | None) -> None:
    if refusal is not None:
        raise Conflict(refusal)


def _check_person(person: Principal, author: str | None, reviewer: str | None) -> None:
    """Raise `Forbidden` where it isn't theirs to publish, or to take back."""
    refusal = why_not_theirs(author, reviewer, person.id, is_operator=OPERATOR in person.roles)
    if refusal is not None:
        raise Forbidden(refusal)


async def _check_theirs(found: PublishedFlow, these: Iterable[Activation]) -> None:
    """Raise `Forbidden` where the person neither submitted nor reviewed one of these."""
    kept, tenant = found.services.flow_reviews, found.person.tenant
    for each in these:
        review = await kept.find(tenant, each.review) if each.review else None
        author, reviewer = (review.author, review.reviewer) if review else (None, None)
        _check_person(found.person, author, reviewer)


def _written(
    found: PublishedFlow,
    review: FlowReview,
    kind: DocumentKind,
    text: str,
    before: Iterable[DocumentVersion],
) -> DocumentVersion:
    """The next version of a document that the review comes to."""
    return DocumentVersion(
        tenant=review.tenant,
        kind=kind,
        name=review.flow,
        version=max((each.version for each in before), default=0) + 1,
        digest=digest_of(text),
        text=text,
        note=review.note,
        author=review.author,
        written_at=found.now,
    )


async def _stories(found: PublishedFlow, review: FlowReview) -> DocumentVersion | None:
    """The stories that are published beside the flow; None where they hold already."""
    if await held_stories(found.services, found.person, found.flow) == review.stories:
        return None
    kept = found.services.store.configuration
    before = await kept.versions(review.tenant, "stories", review.flow)
    return _written(found, review, "stories", review.stories, before)


async def _done_with_draft(found: PublishedFlow, review: FlowReview) -> None:
    """Delete the author's draft where it says what everybody has now, but for the number."""
    drafts, where = found.services.flow_drafts, (review.tenant, review.author, review.flow)
    draft = await drafts.find(*where)
    if draft is not None and draft.stories == review.stories:
        work, text = found.services.isolated_work, None
        # It is published by now, and a draft that stays does no harm.
        with suppress(LimitExceeded, TooManyRequests, Unavailable):
            text = await work.run(found.person, set_version, draft.text, review.version)
        if text == review.text:
            await drafts.discard(*where)


async def _with_stories(found: PublishedFlow, taken: Sequence[Activation]) -> list[Activation]:
    """These, with those of the stories that were published beside them."""
    kept, reviews = found.services.store.configuration, {each.review for each in taken}
    stories = await kept.activations(found.person.tenant, "stories", found.flow)
    return [*taken, *(each for each in stories if each.review and each.review in reviews)]


async def _shared_elsewhere(found: PublishedFlow) -> int:
    """How many of the tenant's other flows are with a share of people, or are to be."""
    held = await found.services.store.configuration.holding(found.person.tenant, found.now)
    others = (each.activation for each in held if each.activation.name != found.flow)
    return len({each.name for each in others if each.share < WHOLE})


async def _mark_without(found: PublishedFlow, taken: Sequence[Activation]) -> int:
    """The mark at which what holds without these was held to what there is now."""
    gone = {each.sequence for each in taken}
    left = standing((e for e in found.activations if e.sequence not in gone), found.now)
    if found.text(left.whole) == found.text(found.standing.whole):
        return await found.services.store.configuration.mark(found.person.tenant, found.now)
    text = found.text(left.whole)
    examined = await examined_document(found.services, found.person, "flows", found.flow, text)
    return examined.mark


async def _changed(found: PublishedFlow) -> FlowPublications:
    """How it is after what was done, which this process has taken up."""
    await found.services.configuration.refresh()
    return await _view(await _published(found.services, found.person, found.flow))


async def _view(found: PublishedFlow) -> FlowPublications:
    at = found.standing
    counting = {each.sequence for each in (at.shared, at.whole, *at.upcoming) if each}
    past = [each for each in reversed(found.activations) if each.sequence not in counting]
    running = await found.services.store.runs.open_by_version(found.person.tenant, found.flow)
    unfit = found.services.configuration.unfit.get(found.person.tenant)
    return FlowPublications(
        flow=found.flow,
        unfit=unfit if unfit and found.subject in unfit else None,
        holds=found.held(at.newest),
        others=found.held(at.whole) if at.shared else None,
        upcoming=[found.shown(each) for each in at.upcoming],
        before=[found.shown(each) for each in past[:MOST_SHOWN]],
        running=[OpenRuns(version=version, runs=runs) for version, runs in running.items()],
    )
