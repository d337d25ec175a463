"""Drafts that somebody else looks at: what is submitted, shown, decided on, and given to git."""

import subprocess
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from router.api.dependencies import Services
from router.domain.configuration_documents import LONGEST_NOTE
from router.domain.records import AuditFilter
from router.drawing import svg
from router.extensions.authoring.drafts import FlowText
from router.extensions.authoring.flow_difference import difference_of
from router.extensions.authoring.flow_examination import Surroundings
from router.extensions.authoring.services import AuthoringServices
from router.store.store import Store
from tests.integration.api.conftest import problem
from tests.integration.api.extensions.authoring.reviewed import COVERAGE, STORIES, Room, room
from tests.integration.api.extensions.authoring.test_flow_publications import meanwhile
from tests.integration.api.test_configuration import ok
from tests.unit.runtime.documents import overtime

PATH = "/v1/flow-reviews"


@pytest.fixture
async def people(services: Services) -> AsyncIterator[Room]:
    async with room(services) as there:
        yield there


@pytest.mark.slow
async def test_a_second_person_sees_the_difference_and_approves(people: Room) -> None:
    await people.published(overtime())
    review = await people.anna.submitted(overtime(2, hours=3), note="less is enough")

    shown = await people.ann.review(review)
    assert (shown["status"], shown["version"], shown["outdated"]) == ("open", 2, False)
    assert (shown["author"], shown["note"]) == ("anna", "less is enough")
    assert shown["stories"] == {"passed": 1, "failed": 0}
    assert shown["coverage"] == COVERAGE.model_dump(mode="json")
    told = shown["difference"]
    assert told["words"] == ["“Hours”: “That is too many.” has another limit, 12.0 ▸ 3.0."]
    assert '-      - that: "slots.hours <= 12.0"\n' in told["text"]
    assert [ET.fromstring(told[key]).tag for key in ("before", "after")] == [
        "{http://www.w3.org/2000/svg}svg"
    ] * 2
    done = ok(await people.ann.decide(review, comment="fine"))
    assert (done["status"], done["reviewer"], done["comment"]) == ("approved", "ann", "fine")


def test_of_more_ways_than_can_be_drawn_soon_there_are_words_and_no_picture(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(svg, "MOST_WAYS", 1)
    texts = (FlowText(overtime()), FlowText(overtime(2, hours=3)))

    found = difference_of("overtime", *texts, Surroundings(), "en")

    assert found.words
    assert (found.before, found.after) == (None, None)


@pytest.mark.slow
async def test_the_reviewer_sees_what_becomes_of_the_stories(people: Room) -> None:
    await people.anna.save(overtime(), f"{STORIES}- story: too many hours\n")
    review = (await people.anna.submit()).json()
    ok(await people.ann.publish(ok(await people.ann.decide(review))))
    await people.anna.save(overtime(2, hours=3), STORIES)
    review = (await people.anna.submit()).json()
    told = (await people.ann.review(review))["difference"]
    assert told["stories_removed"] == ["too many hours"]
    assert "--- a/flows/tests/overtime.yaml\n" in told["stories"]
    assert "-- story: too many hours\n" in told["stories"]

    await people.anna.save(overtime(2, hours=3), f"{STORIES}- story: too many hours\n")
    alike = (await people.anna.submit()).json()["difference"]
    assert (alike["stories"], alike["stories_removed"]) == ("", [])


@pytest.mark.slow
async def test_words_are_in_the_reader_s_language(people: Room) -> None:
    await people.published(overtime())
    review = await people.anna.submitted(overtime(2, hours=3))
    headers = {"X-Locale": "zh"}
    answer = await people.ann.client.get(f"{PATH}/{review['id']}", headers=headers)
    assert ok(answer)["difference"]["words"] == ["“小时”：“太多了”的界限由 12.0 改为 3.0。"]


async def test_a_flow_that_there_was_not_is_new(people: Room) -> None:
    review = await people.anna.submitted(overtime())
    assert review["difference"]["words"] == ["This flow is new: 4 steps, 1 slots."]
    assert review["difference"]["effects"] == [
        "It calls no tool that writes.",
        "It may be started by: everyone.",
    ]
    assert review["difference"]["before"] is None
    assert "+ new" in review["difference"]["after"]


@pytest.mark.slow
async def test_nobody_approves_their_own_under_whatever_role(people: Room) -> None:
    for person in (people.anna, people.both):
        review = await person.submitted(overtime())
        answer = await person.decide(review)
        assert "has to review it" in problem(answer, 403)["detail"]
        assert (await person.review(review))["status"] == "open"


@pytest.mark.slow
async def test_another_version_is_raised_where_it_does_something_else_and_only_there(
    people: Room,
) -> None:
    await people.published(overtime())
    reworded = await people.anna.submitted(overtime(said="Noted!"))
    assert reworded["version"] == 1
    other = await people.anna.submitted(overtime(hours=3))
    assert other["version"] == 2
    assert people.stories.ran[-1] == (overtime(2, hours=3), STORIES)
    chosen = await people.anna.submitted(overtime(7, hours=3))
    assert chosen["version"] == 7


@pytest.mark.slow
async def test_what_is_submitted_anew_takes_the_place_of_what_nobody_has_decided_on(
    people: Room,
) -> None:
    first = await people.anna.submitted(overtime())
    second = await people.anna.submitted(overtime(said="Again"))
    page = ok(await people.ann.client.get(PATH))
    stand = {each["id"]: each["status"] for each in page["items"]}
    assert stand == {first["id"]: "withdrawn", second["id"]: "open"}
    (left,) = ok(await people.ann.client.get(PATH, params={"status": "open"}))["items"]
    assert left["id"] == second["id"]
    answer = await people.ann.decide(first)
    assert answer.status_code == 409


@pytest.mark.slow
async def test_the_reviews_of_one_flow_are_listed_page_by_page_whatever_came_of_others(
    people: Room,
) -> None:
    mine = [(await people.anna.submitted(overtime(said=said)))["id"] for said in ("Once", "Twice")]
    other = overtime().replace("flow: overtime", "flow: overtime_too")
    await people.anna.save(other, flow="overtime_too")
    assert (await people.anna.submit("overtime_too")).status_code == 201
    asked: dict[str, Any] = {"flow": "overtime", "limit": 1}
    first = ok(await people.ann.client.get(PATH, params=asked))
    second = ok(await people.ann.client.get(PATH, params={**asked, "after": first["next"]}))
    assert [one["id"] for one in first["items"] + second["items"]] == mine[::-1]
    assert second["next"] is None
    both = {"flow": "overtime", "status": "open"}
    assert [one["id"] for one in ok(await people.ann.client.get(PATH, params=both))["items"]] == [
        mine[1]
    ]
    none = await people.ann.client.get(PATH, params={"flow": "../overtime"})
    assert none.status_code == 422


BROKEN: dict[str, tuple[str, str, str]] = {
    "a-problem": (overtime().replace("next: agree", "next: nowhere"), STORIES, "nowhere"),
    "no-yaml": ("flow: [", STORIES, "flows/overtime.yaml"),
    "another-name": (overtime().replace("flow: overtime", "flow: extra"), STORIES, "overtime"),
    "no-stories": (overtime(), "", "there are none"),
    "blank-stories": (overtime(), " \n", "there are none"),
    "a-sentence-of-another-flow": (
        overtime().replace("我要报加班", "我要请年假"),
        STORIES,
        "starts leave_request",
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize(("text", "stories", "why"), BROKEN.values(), ids=BROKEN)
async def test_what_is_not_ready_is_not_submitted(
    people: Room, text: str, stories: str, why: str
) -> None:
    await people.anna.save(text, stories)
    answer = await people.anna.submit()
    assert answer.status_code == 422
    assert why in answer.text
    assert ok(await people.anna.client.get(PATH))["items"] == []


@pytest.mark.parametrize(
    ("text", "stories", "why"),
    [
        (
            overtime().replace("start: gather", "start: gathr"),
            STORIES,
            "没有状态 gathr；是不是想写 gather？",
        ),
        (overtime(), "", "还没有故事：至少写一个，并让它通过"),
    ],
)
async def test_why_it_is_not_submitted_is_said_in_the_author_s_language(
    people: Room, text: str, stories: str, why: str
) -> None:
    await people.anna.save(text, stories)
    sent = {"flow": "overtime"}
    answer = await people.anna.client.post(PATH, json=sent, headers={"X-Locale": "zh"})
    assert why in [fault["detail"] for fault in problem(answer, 422)["errors"]]


async def test_stories_that_fail_are_told_and_nothing_is_submitted(people: Room) -> None:
    people.stories.failing = ["it is turned down"]
    await people.anna.save(overtime())
    answer = await people.anna.submit()
    (fault,) = problem(answer, 422)["errors"]
    assert fault == {"field": "stories: it is turned down", "detail": "it ended"}


@pytest.mark.slow
async def test_a_draft_that_says_what_holds_is_not_submitted(people: Room) -> None:
    await people.published(overtime())
    await people.anna.save(overtime())
    answer = await people.anna.submit()
    assert "no difference" in problem(answer, 422)["detail"]


@pytest.mark.slow
async def test_what_was_written_over_something_else_is_outdated_and_can_only_be_refused(
    people: Room,
) -> None:
    review = await people.anna.submitted(overtime())
    theirs = await people.ann.submitted(overtime(said="Ours"))
    ok(await people.olga.publish(ok(await people.olga.decide(theirs))))
    assert (await people.ann.review(review))["outdated"] is True
    answer = await people.ann.decide(review)
    assert "Something else holds" in problem(answer, 409)["detail"]
    assert ok(await people.ann.decide(review, "refuse"))["status"] == "refused"


@pytest.mark.slow
async def test_a_draft_over_what_a_colleague_has_replaced_is_submitted_once_that_was_looked_at(
    people: Room,
) -> None:
    await people.published(overtime())
    begun = await people.olga.save(overtime(2, hours=3))
    await people.published(overtime(said="The colleague's"))
    answer = await people.olga.submit()
    assert "would undo that" in problem(answer, 409)["detail"]
    assert ok(await people.olga.client.get(PATH, params={"status": "open"}))["items"] == []

    path, revision = "/v1/flow-drafts/overtime", begun["revision"]
    body = {"text": overtime(2, hours=3, said="Both"), "stories": STORIES, "revision": revision}
    seen = begun["holds"]["digest"]
    late = await people.olga.client.put(path, json={**body, "over": seen})
    assert "Something else holds" in problem(late, 409)["detail"]
    digest = ok(await people.olga.client.get(path))["holds"]["digest"]
    saved = ok(await people.olga.client.put(path, json={**body, "over": digest}))
    assert (saved["outdated"], saved["base"]["digest"]) == (False, digest)
    assert (await people.olga.submit()).status_code == 201


async def test_only_its_author_withdraws_it_and_then_nobody_decides(people: Room) -> None:
    review = await people.anna.submitted(overtime())
    path = f"{PATH}/{review['id']}/withdrawal"
    for person in (people.ann, people.olga):
        assert (await person.client.post(path)).status_code == 403
    assert ok(await people.anna.client.post(path))["status"] == "withdrawn"
    assert (await people.ann.decide(review)).status_code == 409
    assert (await people.anna.client.post(path)).status_code == 409


async def test_a_repeat_with_the_same_key_submits_and_decides_once(people: Room) -> None:
    await people.anna.save(overtime())
    key = {"Idempotency-Key": "k1"}
    body = {"flow": "overtime"}
    answers = [await people.anna.client.post(PATH, json=body, headers=key) for _ in range(2)]
    assert answers[0].json()["id"] == answers[1].json()["id"]
    assert len(ok(await people.anna.client.get(PATH))["items"]) == 1
    path = f"{PATH}/{answers[0].json()['id']}/decision"
    for _ in range(2):
        done = await people.ann.client.post(path, json={"decision": "approve"}, headers=key)
        assert ok(done)["status"] == "approved"
    other = await people.ann.client.post(path, json={"decision": "refuse"}, headers=key)
    assert other.status_code == 422


async def test_a_decision_that_somebody_else_was_quicker_than_leaves_its_key_free(
    people: Room,
) -> None:
    review = await people.anna.submitted(overtime())
    reviews = AuthoringServices.of(people.company.app.state.shared).flow_reviews
    kept = await reviews.find(people.company.tenant, review["id"])
    assert kept

    async def refused() -> None:
        await reviews.decide(kept, "refused", by="olga", at=datetime.now(UTC))

    path, key = f"{PATH}/{review['id']}/decision", {"Idempotency-Key": "k1"}
    body = {"decision": "approve"}
    with meanwhile(people, refused):
        first = await people.ann.client.post(path, json=body, headers=key)
    again = await people.ann.client.post(path, json=body, headers=key)
    assert [first.status_code, again.status_code] == [409, 409]


HOSTILE: list[Any] = [
    {},
    [],
    {"flow": "overtime", "note": "x" * (LONGEST_NOTE + 1)},
    {"flow": "../etc/passwd"},
    {"flow": "overtime", "note": "a\u0000b"},
    {"flow": "overtime", "version": 9},
    {"flow": 1},
]


@pytest.mark.slow
def test_the_document_says_how_long_a_note_may_be(people: Room) -> None:
    schemas = people.company.app.openapi()["components"]["schemas"]
    for body in ("SubmissionBody", "DocumentBody"):
        assert schemas[body]["properties"]["note"]["maxLength"] == LONGEST_NOTE


@pytest.mark.parametrize("body", HOSTILE)
async def test_a_hostile_submission_is_refused(people: Room, body: Any) -> None:
    assert (await people.anna.client.post(PATH, json=body)).status_code == 422


@pytest.mark.slow
@pytest.mark.parametrize(
    "body", [{}, {"decision": "publish"}, {"decision": "approve", "comment": 1}, []]
)
async def test_a_hostile_decision_is_refused(people: Room, body: Any) -> None:
    review = await people.anna.submitted(overtime())
    path = f"{PATH}/{review['id']}/decision"
    assert (await people.ann.client.post(path, json=body)).status_code == 422


@pytest.mark.parametrize("id_", ["no", "a" * 65, "%00", "ü", "..%2f"])
async def test_what_is_no_id_is_nothing_here(people: Room, id_: str) -> None:
    assert (await people.anna.client.get(f"{PATH}/{id_}")).status_code == 404


async def test_to_an_employee_and_to_another_tenant_s_authors_there_is_nothing_here(
    people: Room, services: Services
) -> None:
    review = await people.anna.submitted(overtime())
    async with room(services) as elsewhere:
        for person in (people.alice, elsewhere.anna, elsewhere.olga):
            calls = [
                await person.client.get(f"{PATH}/{review['id']}"),
                await person.client.get(f"{PATH}/{review['id']}/patch"),
                await person.decide(review),
                await person.client.post(f"{PATH}/{review['id']}/withdrawal"),
                await person.publish(review),
            ]
            assert {each.status_code for each in calls} == {404}
        assert ok(await elsewhere.olga.client.get(PATH))["items"] == []
    assert (await people.alice.client.get(PATH)).status_code == 404
    assert (await people.alice.submit()).status_code == 404


@pytest.mark.slow
async def test_all_of_it_is_in_the_audit_trail(people: Room, store: Store) -> None:
    review = await people.anna.submitted(overtime(), note="why")
    ok(await people.ann.decide(review, "refuse", comment="no"))
    other = await people.anna.submitted(overtime())
    ok(await people.anna.client.post(f"{PATH}/{other['id']}/withdrawal"))
    found, _ = await store.trail.listed(people.company.tenant, AuditFilter(), None, 20)
    lines = [(e.who, e.act, e.subject, e.reason) for e in found if e.act.startswith("review.")]
    first, second = (f"overtime/{each['id']}" for each in (review, other))
    assert lines[::-1] == [
        ("anna", "review.submit", first, "why"),
        ("ann", "review.decide", first, "no"),
        ("anna", "review.submit", second, ""),
        ("anna", "review.withdraw", second, ""),
    ]


def git(folder: Path, *words: str) -> None:
    named = ("-c", "user.name=Hugh", "-c", "user.email=hugh@example.com")
    subprocess.run(["git", "-C", str(folder), *named, *words], check=True, capture_output=True)


@pytest.mark.slow
async def test_git_takes_an_approved_review_into_a_repository_of_flows(
    people: Room, tmp_path: Path
) -> None:
    await people.published(overtime())
    (tmp_path / "flows/tests").mkdir(parents=True)
    (tmp_path / "flows/overtime.yaml").write_text(overtime())
    (tmp_path / "flows/tests/overtime.yaml").write_text(STORIES)
    git(tmp_path, "init", "--quiet")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "--quiet", "--message=held")

    await people.anna.save(overtime(hours=3), f"{STORIES}- story: two\n")
    review = (await people.anna.submit(note="---\nless")).json()
    ok(await people.ann.decide(review))
    answer = await people.ann.client.get(f"{PATH}/{review['id']}/patch")
    patch = tmp_path / ".git/review.patch"
    patch.write_bytes(answer.content)
    git(tmp_path, "am", "--quiet", str(patch))

    assert answer.headers["content-type"] == "text/x-patch; charset=utf-8"
    assert (tmp_path / "flows/overtime.yaml").read_text() == overtime(2, hours=3)
    assert (tmp_path / "flows/tests/overtime.yaml").read_text() == f"{STORIES}- story: two\n"
