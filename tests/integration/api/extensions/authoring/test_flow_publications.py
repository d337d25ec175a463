"""Publishing what two people have agreed on: at once or later, for all or a share, and back."""

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

import pytest

from router.api.dependencies import Services
from router.domain.configuration_documents import DocumentVersion, digest_of
from router.domain.records import AuditFilter
from router.extensions.authoring.services import AuthoringServices
from router.store.store import Store
from tests.integration.api.conftest import problem
from tests.integration.api.extensions.authoring.reviewed import STORIES, Room, room
from tests.integration.api.test_configuration import ok, put
from tests.integration.api.test_runs import run_record
from tests.samples import one_in
from tests.unit.runtime.documents import SKILL, overtime

PATH = "/v1/flow-publications/overtime"
DRAFT = "/v1/flow-drafts/overtime"


@pytest.fixture
async def people(services: Services) -> AsyncIterator[Room]:
    async with room(services) as there:
        yield there


def later(**more: float) -> str:
    return (datetime.now(UTC) + timedelta(**more)).isoformat()


async def held(people: Room, kind: str = "flows") -> list[DocumentVersion]:
    store = people.company.app.state.shared.services.store
    active: list[DocumentVersion] = await store.configuration.active(people.company.tenant)
    return [each for each in active if each.kind == kind]


def told(view: Any) -> tuple[Any, ...]:
    """The versions that hold, that others have, that are to come, and that were, in a view."""
    holds, others = (view[key] and view[key]["version"] for key in ("holds", "others"))
    lists = ([each["version"] for each in view[key]] for key in ("upcoming", "before"))
    return (holds, others, *lists)


@pytest.mark.slow
async def test_what_was_approved_is_what_holds_to_the_byte(people: Room) -> None:
    review = await people.approved(overtime())
    view = ok(await people.anna.publish(review))
    (document,) = await held(people)
    assert (document.text, document.author) == (overtime(), "anna")
    assert told(view) == (1, None, [], [])
    holds = view["holds"]
    assert (holds["published_by"], holds["share"]) == ("anna", 100)
    assert holds["review"] == review["id"]
    assert (await people.anna.review(review))["status"] == "published"


@pytest.mark.slow
async def test_stories_that_were_published_are_those_of_the_next_draft(people: Room) -> None:
    await people.published(overtime())
    shown = ok(await people.ann.client.get("/v1/flow-drafts/overtime"))
    assert shown["stories"] == STORIES
    assert [each.text for each in await held(people, "stories")] == [STORIES]


@pytest.mark.slow
async def test_a_draft_that_everybody_has_by_now_is_none_any_more_and_a_changed_one_stays(
    people: Room,
) -> None:
    await people.published(overtime())
    shown = ok(await people.anna.client.get("/v1/flow-drafts/overtime"))
    assert (shown["revision"], shown["outdated"]) == (0, False)

    review = await people.approved(overtime(hours=3))
    await people.anna.save(overtime(hours=4))
    ok(await people.ann.publish(review))
    shown = ok(await people.anna.client.get("/v1/flow-drafts/overtime"))
    assert (shown["text"], shown["outdated"]) == (overtime(hours=4), True)


@pytest.mark.slow
async def test_stories_are_widened_and_rolled_back_with_their_flow(people: Room) -> None:
    await people.published(overtime())
    more = f"{STORIES}- story: two\n"
    await people.anna.save(overtime(hours=3), more)
    review = (await people.anna.submit()).json()
    ok(await people.ann.decide(review))
    ok(await people.ann.publish(review, share=10))
    assert [each.text for each in await held(people, "stories")] == [STORIES]
    ok(await people.ann.client.patch(PATH, json={"share": 100}))
    assert [each.text for each in await held(people, "stories")] == [more]
    ok(await people.ann.client.post(f"{PATH}/rollback"))
    assert [each.text for each in await held(people, "stories")] == [STORIES]


@pytest.mark.slow
async def test_nothing_is_published_that_no_second_person_has_approved(people: Room) -> None:
    for person in (people.anna, people.both):
        review = await person.submitted(overtime())
        assert "isn't reviewed yet" in problem(await person.publish(review), 409)["detail"]
    refused = await people.anna.submitted(overtime())
    ok(await people.ann.decide(refused, "refuse"))
    assert "was refused" in problem(await people.olga.publish(refused), 409)["detail"]
    assert await held(people) == []


@pytest.mark.slow
async def test_a_third_author_does_not_publish_what_two_others_have_agreed_on(
    people: Room,
) -> None:
    review = await people.anna.submitted(overtime())
    ok(await people.olga.decide(review))
    problem(await people.ann.publish(review), 403)
    ok(await people.olga.publish(review))


@pytest.mark.slow
async def test_one_review_is_published_once(people: Room) -> None:
    review = await people.approved(overtime())
    key = {"Idempotency-Key": "k1"}
    body = {"review": review["id"]}
    views = [await people.ann.client.post(PATH, json=body, headers=key) for _ in range(2)]
    assert [told(ok(each)) for each in views] == [(1, None, [], [])] * 2
    assert "published already" in problem(await people.ann.publish(review), 409)["detail"]


@pytest.mark.slow
async def test_a_review_of_another_flow_is_none_of_this_one(people: Room) -> None:
    await people.published(overtime())
    text = overtime(patterns="['^extra']").replace("flow: overtime", "flow: extra_hours")
    text = text.replace('examples: ["log overtime", "我要报加班"]', 'examples: ["extra"]')
    review = await people.approved(text, "extra_hours")
    problem(await people.ann.publish(review, "overtime"), 404)


@pytest.mark.slow
async def test_a_share_has_it_first_is_widened_and_then_everybody_has_it(people: Room) -> None:
    await people.published(overtime())
    review = await people.approved(overtime(2, hours=3))
    view = ok(await people.ann.publish(review, share=10))
    assert told(view) == (2, 1, [], [])
    assert view["holds"]["share"] == 10
    assert [each.text for each in await held(people)] == [overtime()]

    wider = ok(await people.anna.client.patch(PATH, json={"share": 50}))
    assert (told(wider), wider["holds"]["share"]) == ((2, 1, [], [2]), 50)
    every = ok(await people.anna.client.patch(PATH, json={"share": 100}))
    assert told(every) == (2, None, [], [2, 2, 1])
    assert [each.text for each in await held(people)] == [overtime(2, hours=3)]
    assert problem(await people.anna.client.patch(PATH, json={"share": 50}), 409)


@pytest.mark.slow
async def test_of_a_new_flow_the_others_have_nothing(people: Room) -> None:
    view = await people.published(overtime(), share=10)
    assert told(view) == (1, None, [], [])
    assert await held(people) == []


@pytest.mark.slow
@pytest.mark.parametrize(
    ("to_come", "share"), [(False, 10), (True, None)], ids=["of a share", "to come"]
)
async def test_a_new_flow_that_not_everybody_has_yet_is_there_for_authors(
    people: Room, to_come: bool, share: int | None
) -> None:
    at = {"at": later(hours=5)} if to_come else {"share": share}
    await people.published(overtime(), **at)
    listed = ok(await people.olga.client.get("/v1/flow-drafts"))["items"]
    (entry,) = [each for each in listed if each["flow"] == "overtime"]
    assert (entry["title"], entry["source"], entry["version"]) == ("Overtime", "document", 1)
    assert entry["share"] == share
    assert (entry["begins"] is not None) is to_come
    shown = ok(await people.olga.client.get("/v1/flow-drafts/overtime"))
    assert (shown["text"], shown["stories"]) == (overtime(), STORIES)
    mine = [each for each in listed if each["flow"] == "leave_request"]
    assert [(each["share"], each["begins"]) for each in mine] == [(None, None)]


@pytest.mark.slow
async def test_beside_a_share_nothing_else_of_the_flow_is_published(people: Room) -> None:
    await people.published(overtime())
    await people.published(overtime(2, hours=3), share=10)
    review = await people.approved(overtime(3, hours=4))
    assert "with a share of people" in problem(await people.ann.publish(review), 409)["detail"]


@pytest.mark.slow
async def test_what_is_to_come_is_shown_begins_at_its_moment_and_can_be_called_off(
    people: Room,
) -> None:
    await people.published(overtime())
    review = await people.approved(overtime(2, hours=3))
    at = later(hours=5)
    view = ok(await people.ann.publish(review, at=at, share=20))
    assert told(view) == (1, None, [2], [])
    (coming,) = view["upcoming"]
    assert datetime.fromisoformat(coming["at"]) == datetime.fromisoformat(at)
    assert coming["share"] == 20
    other = await people.ann.submitted(overtime(3, hours=4))
    ok(await people.anna.decide(other))
    assert "call that off" in problem(await people.anna.publish(other), 409)["detail"]

    off = ok(await people.anna.client.delete(f"{PATH}/upcoming"))
    assert told(off)[:3] == (1, None, [])
    assert off["before"][0]["taken_back_by"] == "anna"
    assert (await people.anna.review(review))["status"] == "approved"
    assert told(ok(await people.anna.publish(review)))[0] == 2
    problem(await people.anna.client.delete(f"{PATH}/upcoming"), 409)


@pytest.mark.slow
async def test_one_press_brings_back_what_held_before(people: Room) -> None:
    await people.published(overtime())
    await people.published(overtime(2, hours=3))
    view = ok(await people.anna.client.post(f"{PATH}/rollback"))
    assert told(view) == (1, None, [], [2])
    assert view["before"][0]["taken_back_by"] == "anna"
    assert [each.text for each in await held(people)] == [overtime()]
    first = ok(await people.anna.client.post(f"{PATH}/rollback"))
    assert told(first) == (None, None, [], [2, 1])
    assert await held(people) == []
    problem(await people.anna.client.post(f"{PATH}/rollback"), 409)


@pytest.mark.slow
async def test_a_draft_goes_on_from_what_was_taken_back_and_is_published_again(
    people: Room,
) -> None:
    await people.published(overtime())
    await people.anna.save(overtime(2, hours=3), "- story: another\n")
    review = ok(await people.ann.decide((await people.anna.submit()).json()))
    ok(await people.anna.publish(review))
    back = ok(await people.anna.client.post(f"{PATH}/rollback"))

    (taken,) = back["before"]
    body = {"document": taken["document"], "revision": 0}
    draft = ok(await people.ann.client.post(f"{DRAFT}/restoration", json=body))
    assert (draft["text"], draft["stories"]) == (overtime(2, hours=3), "- story: another\n")
    assert (draft["revision"], draft["outdated"]) == (1, False)

    again = (await people.ann.submit()).json()
    ok(await people.anna.decide(again))
    assert told(ok(await people.ann.publish(again)))[0] == 2
    (document,) = await held(people)
    assert document.text == overtime(2, hours=3)


@pytest.mark.slow
async def test_an_earlier_version_is_a_draft_over_what_holds_and_gets_a_number_of_its_own(
    people: Room,
) -> None:
    await people.published(overtime())
    view = await people.published(overtime(2, hours=3))
    body = {"document": view["before"][0]["document"], "revision": 0}
    draft = ok(await people.anna.client.post(f"{DRAFT}/restoration", json=body))
    assert (draft["text"], draft["outdated"]) == (overtime(), False)
    assert (await people.anna.submit()).json()["version"] == 3


@pytest.mark.slow
async def test_a_draft_is_that_of_the_house_s_file_again(people: Room) -> None:
    path = "/v1/flow-drafts/leave_request"
    file = ok(await people.anna.client.get(path))
    kept = await people.anna.save("flow: leave_request\n", "", "leave_request")
    body = {"document": None, "revision": kept["revision"]}
    draft = ok(await people.anna.client.post(f"{path}/restoration", json=body))
    assert (draft["text"], draft["stories"]) == (file["text"], file["stories"])


RESTORED: list[tuple[Any, int]] = [
    ({"document": 1, "revision": 1}, 409),
    ({"document": 2, "revision": 0}, 404),
    ({"document": None, "revision": 0}, 404),
    ({"document": 0, "revision": 0}, 422),
    ({"document": 2**40, "revision": 0}, 422),
    ({"document": "1", "revision": 0}, 422),
    ({"document": 1}, 422),
    ({"document": 1, "revision": -1}, 422),
    ({"document": 1, "revision": 0, "force": True}, 422),
    ([], 422),
]


@pytest.mark.slow
@pytest.mark.parametrize(("body", "status"), one_in(4, RESTORED))
async def test_a_hostile_restoration_leaves_the_draft_as_it_is(
    people: Room, body: Any, status: int
) -> None:
    await people.published(overtime())
    await people.anna.save(overtime(hours=4))
    kept = await people.anna.save(overtime(hours=5))
    answer = await people.anna.client.post(f"{DRAFT}/restoration", json=body)
    assert answer.status_code == status
    assert ok(await people.anna.client.get(DRAFT))["text"] == kept["text"]


@pytest.mark.slow
async def test_what_was_planned_over_what_is_rolled_back_does_not_begin_by_itself(
    people: Room,
) -> None:
    await people.published(overtime())
    await people.published(overtime(2, hours=3))
    planned = await people.approved(overtime(3, hours=4))
    ok(await people.ann.publish(planned, at=later(hours=5)))
    view = ok(await people.anna.client.post(f"{PATH}/rollback"))
    assert told(view) == (1, None, [], [3, 2])
    assert {each["taken_back_by"] for each in view["before"]} == {"anna"}
    shown = await people.anna.review(planned)
    assert (shown["status"], shown["outdated"]) == ("approved", True)


@pytest.mark.slow
async def test_a_share_is_rolled_back_with_all_that_it_was_widened_to(people: Room) -> None:
    await people.published(overtime())
    await people.published(overtime(2, hours=3), share=10)
    ok(await people.anna.client.patch(PATH, json={"share": 50}))
    view = ok(await people.olga.client.post(f"{PATH}/rollback"))
    assert told(view) == (1, None, [], [2, 2])


@pytest.mark.slow
async def test_who_has_neither_submitted_nor_reviewed_takes_nothing_back(people: Room) -> None:
    review = await people.anna.submitted(overtime())
    ok(await people.olga.decide(review))
    ok(await people.olga.publish(review, share=10))
    for call in (
        people.ann.client.patch(PATH, json={"share": 50}),
        people.ann.client.post(f"{PATH}/rollback"),
    ):
        problem(await call, 403)


async def test_what_an_operator_activated_is_rolled_back_by_operators_alone(people: Room) -> None:
    ok(await put(people.olga.client, "flows/overtime", overtime()))
    problem(await people.anna.client.post(f"{PATH}/rollback"), 403)
    assert told(ok(await people.olga.client.post(f"{PATH}/rollback")))[0] is None


async def test_the_house_s_file_holds_where_no_document_does(people: Room) -> None:
    view = await people.anna.publications("leave_request")
    assert view["holds"] == {
        "version": view["holds"]["version"],
        "document": None,
        "share": 100,
        "published_by": None,
        "at": None,
        "review": None,
        "taken_back_by": None,
        "taken_back_at": None,
    }
    path = "/v1/flow-publications/leave_request/rollback"
    problem(await people.olga.client.post(path), 409)


@pytest.mark.slow
async def test_runs_under_way_are_counted_by_the_version_that_they_keep(
    people: Room, store: Store
) -> None:
    await people.published(overtime())
    about = {"tenant": people.company.tenant, "flow": "overtime"}
    for number, (version, status) in enumerate(
        [(1, "waiting_approval"), (1, "waiting"), (2, "collecting"), (1, "completed")]
    ):
        made = run_record(f"{people.company.tenant}-{number}")
        its = {**about, "version": version, "status": status}
        await store.runs.publish(made.model_copy(update=its), [], [])
    view = await people.anna.publications()
    assert view["running"] == [{"version": 1, "runs": 2}, {"version": 2, "runs": 1}]


HOSTILE: list[Any] = [
    {},
    {"review": ""},
    {"review": "../x"},
    {"review": 1},
    {"review": "a", "share": 0},
    {"review": "a", "share": 101},
    {"review": "a", "share": "10"},
    {"review": "a", "share": 10.5},
    {"review": "a", "at": "tomorrow"},
    {"review": "a", "at": "2026-12-01T08:00:00"},
    {"review": "a", "force": True},
    [],
]


@pytest.mark.slow
@pytest.mark.parametrize("body", one_in(4, HOSTILE))
async def test_a_hostile_publication_is_refused(people: Room, body: Any) -> None:
    await people.approved(overtime())
    assert (await people.ann.client.post(PATH, json=body)).status_code == 422
    assert await held(people) == []


@pytest.mark.slow
@pytest.mark.parametrize("moment", ["2020-01-01T00:00:00Z", "2999-01-01T00:00:00+08:00"])
async def test_no_version_is_to_begin_in_the_past_or_in_years(people: Room, moment: str) -> None:
    review = await people.approved(overtime())
    assert "begin after now" in problem(await people.ann.publish(review, at=moment), 409)["detail"]


@pytest.mark.slow
async def test_to_strangers_there_is_nothing_here(people: Room, services: Services) -> None:
    await people.published(overtime(), share=10)
    async with room(services) as elsewhere:
        for person in (people.alice, elsewhere.anna, elsewhere.olga):
            calls = [
                await person.client.get(PATH),
                await person.client.patch(PATH, json={"share": 100}),
                await person.client.post(f"{PATH}/rollback"),
                await person.client.delete(f"{PATH}/upcoming"),
                await person.client.post(
                    f"{DRAFT}/restoration", json={"document": 1, "revision": 0}
                ),
            ]
            assert {each.status_code for each in calls} == {404}
    assert (await people.anna.publications())["holds"]["share"] == 10


@pytest.mark.slow
async def test_all_of_it_is_in_the_audit_trail(people: Room, store: Store) -> None:
    await people.published(overtime())
    review = await people.approved(overtime(2, hours=3))
    ok(await people.ann.publish(review, at=later(hours=1)))
    ok(await people.anna.client.delete(f"{PATH}/upcoming"))
    ok(await people.ann.publish(review, share=10))
    ok(await people.anna.client.patch(PATH, json={"share": 50}))
    ok(await people.olga.client.post(f"{PATH}/rollback"))
    found, _ = await store.trail.listed(people.company.tenant, AuditFilter(), None, 50)
    lines = [(e.who, e.act) for e in found if e.act.startswith("publication.")]
    assert lines[::-1] == [
        ("ann", "publication.publish"),
        ("ann", "publication.publish"),
        ("anna", "publication.call_off"),
        ("ann", "publication.publish"),
        ("anna", "publication.share"),
        ("olga", "publication.rollback"),
    ]
    details = {e.detail for e in found if e.act == "publication.share"}
    assert details == {"v2, 10 ▸ 50 of 100"}


@dataclass(frozen=True)
class Broken:
    """A trail that can't be written."""

    async def note(self, *_: Any) -> None:
        raise OSError("no trail")


async def test_what_cannot_be_noted_is_not_published(people: Room) -> None:
    review = await people.approved(overtime())
    shared = people.company.app.state.shared
    broken = replace(shared.services, store=_with_trail(shared.services.store, Broken()))
    people.company.app.state.shared = replace(shared, services=broken)
    assert (await people.ann.publish(review)).status_code >= 500
    people.company.app.state.shared = shared
    assert await held(people) == []
    assert (await people.ann.review(review))["status"] == "approved"


@dataclass(frozen=True)
class Meanwhile:
    """A trail that something else happens at, between what was checked and what is written."""

    trail: Any
    happens: Callable[[], Awaitable[Any]]

    async def note(self, *args: Any) -> None:
        await self.trail.note(*args)
        await self.happens()


@contextmanager
def meanwhile(people: Room, happens: Callable[[], Awaitable[Any]]) -> Iterator[None]:
    state = people.company.app.state
    shared = state.shared
    store = shared.services.store
    changed = _with_trail(store, Meanwhile(store.trail, happens))
    state.shared = replace(shared, services=replace(shared.services, store=changed))
    yield
    state.shared = shared


async def test_what_is_withdrawn_while_it_is_published_is_not_published(people: Room) -> None:
    review = await people.approved(overtime())
    reviews = AuthoringServices.of(people.company.app.state.shared).flow_reviews
    kept = await reviews.find(people.company.tenant, review["id"])
    assert kept

    def withdrawn() -> Awaitable[None]:
        done: Awaitable[None] = reviews.decide(kept, "withdrawn", by="anna", at=datetime.now(UTC))
        return done

    with meanwhile(people, withdrawn):
        answer = await people.ann.publish(review)
    assert "withdrawn" in problem(answer, 409)["detail"]
    assert await held(people) == []
    assert (await people.anna.review(review))["status"] == "withdrawn"


@pytest.mark.slow
async def test_a_repeat_after_a_refusal_does_what_was_refused(people: Room) -> None:
    review = await people.approved(overtime())
    calls: list[tuple[str, dict[str, str] | None, tuple[Any, ...]]] = [
        (PATH, {"review": review["id"]}, (1, None, [], [])),
        (f"{PATH}/rollback", None, (None, None, [], [1])),
    ]
    for number, (path, body, done) in enumerate(calls):
        sent: dict[str, Any] = {"json": body, "headers": {"Idempotency-Key": f"k{number}"}}
        others = f"skills/other-{number}", SKILL.replace("travel-tips", f"other-{number}")
        with meanwhile(people, partial(_written_beside, people, *others)):
            refused = await people.ann.client.post(path, **sent)
        assert refused.status_code in {409, 412}, refused.text
        assert told(ok(await people.ann.client.post(path, **sent))) == done


@pytest.mark.slow
async def test_a_version_that_does_not_fit_is_said_where_it_is_shown(people: Room) -> None:
    await people.published(overtime())
    assert (await people.anna.publications())["unfit"] is None
    broken = overtime(2).replace("next: agree", "next: nowhere")
    await _written_beside(people, "flows/overtime", broken, 2)
    await people.company.app.state.shared.services.configuration.refresh()
    assert "nowhere" in (await people.anna.publications())["unfit"]


async def _written_beside(people: Room, path: str, text: str, version: int = 1) -> None:
    kind, name = path.split("/")
    kept = people.company.app.state.shared.services.store.configuration
    made = DocumentVersion.model_validate(
        {
            "tenant": people.company.tenant,
            "kind": kind,
            "name": name,
            "version": version,
            "text": text,
            "digest": digest_of(text),
            "author": "olga",
            "written_at": datetime.now(UTC),
        }
    )
    await kept.write(made, await kept.mark(people.company.tenant))


def _with_trail(store: Store, trail: Any) -> Any:
    class Other:
        def __getattr__(self, name: str) -> Any:
            return trail if name == "trail" else getattr(store, name)

    return Other()
