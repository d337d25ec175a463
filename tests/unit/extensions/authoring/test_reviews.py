"""Who may do what with a review, and when a version may be published."""

from datetime import UTC, datetime, timedelta
from typing import Any

from router.domain.configuration_documents import Activation, DocumentStanding, digest_of
from router.domain.locale import LOCALES, Localised
from router.extensions.authoring.reviews import (
    FURTHEST,
    MOST_SHARED,
    FlowReview,
    ReviewDecision,
    ReviewStatus,
    StoryCoverage,
    why_not_theirs,
    why_undecided,
    why_unplanned,
    why_unpublished,
    why_unwithdrawn,
)
from router.story.coverage import coverages, taken_in
from tests.table import each_row
from tests.unit.story.test_story import BADGE, HAPPY

NOW = datetime(2026, 11, 23, 9, tzinfo=UTC)


def review(status: ReviewStatus = "open", **more: Any) -> FlowReview:
    about = {"id": "r", "tenant": "acme", "flow": "overtime", "version": 2, "note": ""}
    texts = {"text": "new", "digest": digest_of("new"), "stories": "s", "held_stories": ""}
    held = {"held": "before", "held_text": "old", "submitted_at": NOW, "passed": 1, "failed": 0}
    whole = {**about, **texts, **held, "author": "anna", "status": status}
    if status in {"approved", "refused", "published"}:
        whole["reviewer"] = "otto"
    return FlowReview.model_validate({**whole, **more})


def english(said: Localised | None) -> str:
    if said is None:
        return ""
    assert all(said.within(locale) for locale in LOCALES)
    return said.en


DECISIONS: dict[str, tuple[ReviewStatus, str, ReviewDecision, str | None, str]] = {
    "a-colleague-approves": ("open", "otto", "approve", "before", ""),
    "a-colleague-refuses": ("open", "otto", "refuse", "before", ""),
    "its-author-approves": ("open", "anna", "approve", "before", "This is yours"),
    "its-author-refuses": ("open", "anna", "refuse", "before", "This is yours"),
    "something-else-holds": ("open", "otto", "approve", "other", "Something else holds"),
    "nothing-holds-any-more": ("open", "otto", "approve", None, "Something else holds"),
    "an-outdated-one-is-refused": ("open", "otto", "refuse", "other", ""),
    "approved-already": ("approved", "otto", "refuse", "before", "approved already"),
    "refused-already": ("refused", "otto", "approve", "before", "was refused"),
    "withdrawn": ("withdrawn", "otto", "approve", "before", "was withdrawn"),
    "published": ("published", "otto", "approve", "before", "is published already"),
}


@each_row(("status", "person", "decision", "held", "why"), DECISIONS.values(), ids=DECISIONS)
def test_who_decides(
    status: ReviewStatus, person: str, decision: ReviewDecision, held: str | None, why: str
) -> None:
    said = english(why_undecided(review(status), person, decision, held))
    assert (why in said) if why else said == ""


@each_row(
    ("status", "person", "why"),
    [
        ("open", "anna", ""),
        ("approved", "anna", ""),
        ("open", "otto", "Only who submitted it, anna"),
        ("refused", "anna", "was refused"),
        ("withdrawn", "anna", "was withdrawn"),
        ("published", "anna", "is published already"),
    ],
)
def test_who_withdraws(status: ReviewStatus, person: str, why: str) -> None:
    said = english(why_unwithdrawn(review(status), person))
    assert (why in said) if why else said == ""


PUBLISHED: dict[str, tuple[FlowReview, str | None, str]] = {
    "approved-by-a-second-person": (review("approved"), "before", ""),
    "nobody-has-reviewed-it": (review(), "before", "isn't reviewed yet"),
    "refused": (review("refused"), "before", "was refused"),
    "withdrawn": (review("withdrawn"), "before", "was withdrawn"),
    "published-already": (review("published"), "before", "published already"),
    "by-its-author-alone": (review("approved", reviewer="anna"), "before", "No second person"),
    "by-nobody": (review("approved", reviewer=None), "before", "No second person"),
    "another-text": (review("approved", text="newer"), "before", "isn't the one"),
    "something-else-holds": (review("approved"), "other", "Something else holds"),
    "a-flow-that-was-not": (review("approved", held=None), None, ""),
    "a-flow-that-is-there": (review("approved", held=None), "other", "Something else holds"),
}


@each_row(("it", "held", "why"), PUBLISHED.values(), ids=PUBLISHED)
def test_what_is_published(it: FlowReview, held: str | None, why: str) -> None:
    said = english(why_unpublished(it, held))
    assert (why in said) if why else said == ""


def activation(share: int = 100) -> Activation:
    about: dict[str, Any] = {"tenant": "acme", "kind": "flows", "name": "overtime", "version": 1}
    return Activation(**about, activated_by="olga", activated_at=NOW, share=share)


HELD = DocumentStanding(whole=activation())
SHARED = DocumentStanding(shared=activation(9))
COMING = DocumentStanding(upcoming=(activation(),))
SECOND = timedelta(seconds=1)
PLANS: dict[str, tuple[DocumentStanding, int, datetime | None, int, str]] = {
    "at-once-for-everybody": (HELD, 0, None, 100, ""),
    "where-nothing-was": (DocumentStanding(), 0, None, 100, ""),
    "later-for-a-share": (HELD, 0, NOW + SECOND, 10, ""),
    "now-is-no-moment-to-come": (HELD, 0, NOW, 100, "has to begin after now"),
    "the-past": (HELD, 0, NOW - SECOND, 100, "has to begin after now"),
    "the-furthest": (HELD, 0, NOW + FURTHEST, 100, ""),
    "too-far": (HELD, 0, NOW + FURTHEST + SECOND, 100, "has to begin after now"),
    "beside-a-share": (SHARED, 0, None, 100, "with a share of people"),
    "beside-what-is-to-come": (COMING, 0, None, 100, "call that off"),
    "one-share-too-many": (HELD, MOST_SHARED, None, 10, "are the most"),
    "as-many-as-there-may-be": (HELD, MOST_SHARED - 1, None, 10, ""),
    "everybody-beside-many-shares": (HELD, MOST_SHARED, None, 100, ""),
}


@each_row(("held", "elsewhere", "at", "share", "why"), PLANS.values(), ids=PLANS)
def test_when_and_for_how_many_a_version_may_be_published(
    held: DocumentStanding, elsewhere: int, at: datetime | None, share: int, why: str
) -> None:
    said = english(why_unplanned(held, elsewhere, at, share, NOW))
    assert (why in said) if why else said == ""


@each_row(
    ("person", "is_operator", "may"),
    [("anna", False, True), ("otto", False, True), ("ann", False, False), ("olga", True, True)],
)
def test_who_publishes_and_takes_back_what_two_people_have_agreed_on(
    person: str, is_operator: bool, may: bool
) -> None:
    assert (why_not_theirs("anna", "otto", person, is_operator=is_operator) is None) is may


def test_only_what_may_still_hold_can_be_outdated() -> None:
    stand: list[ReviewStatus] = ["open", "approved", "refused", "withdrawn", "published"]
    assert [each for each in stand if review(each).is_outdated("other")] == ["open", "approved"]


def test_coverage_is_told_in_numbers_with_what_is_missing() -> None:
    (found,) = coverages([BADGE], {"badge": taken_in(BADGE, HAPPY)})

    told = StoryCoverage.from_coverage(found)

    assert (told.states.taken, told.states.of) == (4, 5)
    assert (told.transitions.taken, told.transitions.of) == (3, 6)
    assert told.missing[:2] == ("tell_no", "review.confirmed ▸ tell_no")
    assert told.share == 63.6
