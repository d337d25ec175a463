"""Drafts of flows that somebody else looks at before they hold, and who may do what with one.

A review keeps the text as it was submitted: what was approved is what is published, to the byte.
It is outdated once something else holds than what the draft was written over. Each rule is a
function of values that says why not, or None where it may be done.
"""

from datetime import datetime, timedelta
from typing import Literal, Self

from router.domain.configuration_documents import WHOLE, DocumentStanding, digest_of
from router.domain.locale import Localised
from router.domain.records import Record
from router.story.coverage import Coverage

ReviewStatus = Literal["open", "approved", "refused", "withdrawn", "published"]
ReviewDecision = Literal["approve", "refuse"]
DECIDED: dict[ReviewDecision, ReviewStatus] = {"approve": "approved", "refuse": "refused"}

MOST_SHARED = 2
"""Flows of one tenant that a share of people has first at once: each makes a choice more for all
who are of shares."""
FURTHEST = timedelta(days=366)
"""How far ahead a version may be published."""


class PartCount(Record):
    """How many of a flow's states, or of the transitions between them."""

    taken: int
    of: int


class StoryCoverage(Record):
    """How much of a flow its stories take."""

    share: float
    """Of states and transitions together, in percent, rounded down: 100 is all of it."""
    states: PartCount
    transitions: PartCount
    missing: tuple[str, ...]
    """States that no story comes to, then transitions that none takes, as `state.exit ▸ state`."""

    @classmethod
    def from_coverage(cls, coverage: Coverage) -> Self:
        """Put the coverage in numbers, with the names of what is missing."""
        states, transitions = coverage.states, coverage.transitions
        of = len(coverage.definition.states)
        ways = coverage.parts - of
        return cls(
            share=int(coverage.share * 10) / 10,
            states=PartCount(taken=of - len(states), of=of),
            transitions=PartCount(taken=ways - len(transitions), of=ways),
            missing=(*states, *map(str, transitions)),
        )


class ReviewHead(Record):
    """A review without its texts."""

    id: str
    tenant: str
    flow: str
    version: int
    """The number that runs of it go by."""
    author: str
    note: str
    digest: str
    """Of the text."""
    held: str | None
    """The digest of what held when it was submitted; None: nothing did."""
    submitted_at: datetime
    status: ReviewStatus
    passed: int
    failed: int
    """Of its stories, how many went well and how many didn't."""
    reviewer: str | None = None
    comment: str | None = None
    decided_at: datetime | None = None

    def is_outdated(self, held: str | None) -> bool:
        """True where something else holds by now, whose digest is `held`."""
        return self.status in {"open", "approved"} and self.held != held


class FlowReview(ReviewHead):
    """A draft as it was submitted, beside what held then."""

    text: str
    stories: str
    coverage: StoryCoverage | None = None
    """Of the text by the stories; None where it was submitted before that was kept."""
    held_text: str
    held_stories: str


def why_undecided(
    review: ReviewHead, person: str, decision: ReviewDecision, held: str | None
) -> Localised | None:
    """Why this person may not decide so."""
    if person == review.author:
        return Localised(
            zh="这是你自己提交的：请另一位作者或管理员来评审。",
            en="This is yours: another author, or an operator, has to review it.",
        )
    if review.status != "open":
        return _stands(review)
    if decision == "approve" and review.is_outdated(held):
        return _OUTDATED
    return None


def why_unwithdrawn(review: ReviewHead, person: str) -> Localised | None:
    """Why this person may not withdraw it."""
    if person != review.author:
        return Localised(
            zh=f"只有提交的人（{review.author}）能撤回。",
            en=f"Only who submitted it, {review.author}, can withdraw it.",
        )
    return None if review.status in {"open", "approved"} else _stands(review)


def why_not_theirs(
    author: str | None, reviewer: str | None, person: str, *, is_operator: bool
) -> Localised | None:
    """Why this person may not publish what those two have written and reviewed, or take it back."""
    if is_operator or person in {author, reviewer}:
        return None
    return Localised(
        zh="只有提交的人、评审的人和管理员可以这样做。",
        en="Only who submitted it, who reviewed it and operators may do that.",
    )


def why_unpublished(review: FlowReview, held: str | None) -> Localised | None:
    """Why it can't be published by anybody, where that is the digest of what holds."""
    if review.status != "approved":
        return _stands(review)
    if review.reviewer is None or review.reviewer == review.author:
        return Localised(zh="还没有第二个人评审。", en="No second person has reviewed it.")
    if digest_of(review.text) != review.digest:
        return Localised(
            zh="文本与评审通过的不一致：请重新提交。",
            en="The text isn't the one that was approved: submit it again.",
        )
    return _OUTDATED if review.is_outdated(held) else None


def why_unplanned(
    standing: DocumentStanding, elsewhere: int, at: datetime | None, share: int, now: datetime
) -> Localised | None:
    """Why another version can't be published beside what there is.

    `elsewhere` is the number of the tenant's other flows that a share of people has, or is to have.
    """
    if at is not None and not now < at <= now + FURTHEST:
        return Localised(
            zh=f"生效时间要在现在之后、{FURTHEST.days} 天之内；要马上生效就不写。",
            en=f"It has to begin after now and within {FURTHEST.days} days; for at once say null.",
        )
    if standing.shared is not None:
        return Localised(
            zh="上一个版本还只对一部分人生效：先扩大到 100，或者撤回。",
            en="A version is with a share of people still: widen that to 100 first, or roll it "
            "back.",
        )
    if standing.upcoming:
        return Localised(
            zh="已经有一个版本等着生效：先取消它。",
            en="A version is to begin already: call that off first.",
        )
    if share < WHOLE and elsewhere >= MOST_SHARED:
        return Localised(
            zh=f"已有 {elsewhere} 个流程只对一部分人生效，最多 {MOST_SHARED} 个：先结束一个。",
            en=f"{elsewhere} flows are with a share of people already, and {MOST_SHARED} are the "
            "most: finish one first.",
        )
    return None


_OUTDATED = Localised(
    zh="提交之后生效的版本变了：请在新版本上改好，重新提交。",
    en="Something else holds than when it was submitted: change the draft, and submit it again.",
)
_STANDS: dict[ReviewStatus, Localised] = {
    "open": Localised(zh="还没有评审。", en="It isn't reviewed yet."),
    "approved": Localised(zh="已经评审通过。", en="It is approved already."),
    "refused": Localised(zh="评审没有通过。", en="It was refused."),
    "withdrawn": Localised(zh="已经撤回。", en="It was withdrawn."),
    "published": Localised(zh="已经发布。", en="It is published already."),
}


def _stands(review: ReviewHead) -> Localised:
    return _STANDS[review.status]
