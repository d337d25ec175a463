"""What the trip's texts come to."""

from typing import Any

from router.domain.locale import Locale, Localised
from router.flow.language.templates import render, text_scope
from tests.table import each_row
from tests.unit.flow.world import sample

TRIP = sample("business_trip")
SLOTS: dict[str, Any] = {
    "destination": "Oslo",
    "start": "2026-11-30",
    "end": "2026-12-02",
    "transport": "plane",
    "estimate": {"amount": "9000", "currency": "CNY"},
    "reason": "talks",
}


def told(text: Localised | None, locale: Locale, results: Any = None, **more: Any) -> list[str]:
    assert text is not None
    scope = text_scope(TRIP.slots, {**SLOTS, **more}, results or {}, {}, locale)
    return render(text.within(locale), scope).splitlines()


@each_row(("locale", "purpose"), [("zh", "事由：talks"), ("en", "Purpose: talks")])
def test_the_confirmation_has_a_line_for_each_thing(locale: Locale, purpose: str) -> None:
    confirm = TRIP.states["review"].texts[("confirm",)]
    alone = told(confirm, locale)
    assert (len(alone), alone[2]) == (4, purpose)
    together = told(confirm, locale, companions="Li")
    assert [alone[1], together[2][-2:], together[3]] == [together[1], "Li", purpose]


@each_row("locale", ["zh", "en"])
def test_the_comment_of_whoever_rejected_a_branch_is_said_once(locale: Locale) -> None:
    decision = {"by": "erin", "verdict": "reject", "comment": "no budget"}
    branch = {"run": "x", "status": "rejected", "results": {"decision": decision}}
    results = {"decision": decision, "said": {"finance": branch, "manager_too": None}}
    (said,) = told(TRIP.states["tell_no"].texts[("say",)], locale, results)
    assert said.count("no budget") == 1
