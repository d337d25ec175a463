"""Authors' drafts of flows: saved for each of them, examined as they type, edited at places."""

import re
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest
from httpx import AsyncClient

from router.api.dependencies import Services
from router.domain.errors import InvalidInput
from router.domain.records import AuditFilter, LogEntry
from router.drawing import svg
from router.extensions.authoring import author_jobs
from router.extensions.authoring.author_jobs import edit_flow
from router.extensions.authoring.draft_store import FlowDrafts
from router.extensions.authoring.flow_examination import Surroundings, examination_of
from router.extensions.authoring.routes.drafts import EditsBody
from router.runtime.server import openapi_document
from router.store.store import Store
from tests.integration.api.conftest import problem
from tests.integration.api.test_configuration import Company, ok, put
from tests.samples import one_in
from tests.table import each_row
from tests.unit.runtime.documents import overtime

PATH = "/v1/flow-drafts"
FLOWS = Path("flows")
_NUMBERS = count()
SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture
def company(services: Services) -> Company:
    return Company(services, f"d{next(_NUMBERS)}")


@pytest.fixture
async def anna(company: Company) -> AsyncIterator[AsyncClient]:
    async with company("anna") as client:
        yield client


@pytest.fixture
async def olga(company: Company) -> AsyncIterator[AsyncClient]:
    async with company("olga") as client:
        yield client


async def save(
    client: AsyncClient, flow: str, text: str, revision: int = 0, stories: str = ""
) -> Any:
    body = {"text": text, "stories": stories, "revision": revision}
    return await client.put(f"{PATH}/{flow}", json=body)


async def examined(client: AsyncClient, text: str, flow: str = "overtime") -> Any:
    answer = await client.post(f"{PATH}/examination", json={"flow": flow, "text": text})
    return ok(answer)


async def test_what_holds_is_shown_to_the_byte_until_there_is_a_draft(anna: AsyncClient) -> None:
    shown = ok(await anna.get(f"{PATH}/leave_request"))

    assert shown["text"] == (FLOWS / "leave_request.yaml").read_text()
    assert shown["stories"] == (FLOWS / "tests/leave_request.yaml").read_text()
    assert (shown["revision"], shown["base"]["source"], shown["outdated"]) == (0, "file", False)
    assert shown["examination"]["problems"] == []
    assert shown["examination"]["data"]["flow"] == "leave_request"


async def test_a_draft_is_kept_whatever_is_wrong_with_it(anna: AsyncClient) -> None:
    saved = ok(await save(anna, "overtime", "flow: overtime\nstart: nowhere\n", stories="- a: b\n"))

    assert saved["revision"] == 1
    assert saved["examination"]["problems"]
    again = ok(await anna.get(f"{PATH}/overtime"))
    assert (again["text"], again["stories"]) == ("flow: overtime\nstart: nowhere\n", "- a: b\n")
    assert again["base"] == {"source": "draft", "version": None, "digest": ""}


@pytest.mark.slow
async def test_a_draft_that_another_window_has_changed_is_not_written_over(
    anna: AsyncClient,
) -> None:
    ok(await save(anna, "overtime", overtime()))
    ok(await save(anna, "overtime", overtime(said="again"), 1))

    late = problem(await save(anna, "overtime", overtime(said="late"), 1), 409)

    assert "revision 2" in late["detail"]
    assert ok(await anna.get(f"{PATH}/overtime"))["text"] == overtime(said="again")


async def test_of_a_draft_that_is_gone_who_has_it_open_goes_on(anna: AsyncClient) -> None:
    """It was published, say, and is no draft any more."""
    assert ok(await save(anna, "overtime", overtime(), 3))["revision"] == 4


async def test_two_people_on_one_flow_are_told_of_each_other_and_keep_their_own(
    anna: AsyncClient, olga: AsyncClient
) -> None:
    ok(await save(anna, "overtime", overtime(said="hers")))

    mine = ok(await save(olga, "overtime", overtime(said="mine")))

    assert [other["author"] for other in mine["others"]] == ["anna"]
    hers = ok(await anna.get(f"{PATH}/overtime"))
    assert hers["text"] == overtime(said="hers")
    assert [other["author"] for other in hers["others"]] == ["olga"]


@pytest.mark.slow
async def test_who_publishes_meanwhile_makes_a_draft_outdated(
    anna: AsyncClient, olga: AsyncClient
) -> None:
    ok(await put(olga, "flows/overtime", overtime()))
    begun = ok(await save(anna, "overtime", overtime(said="mine")))
    assert (begun["base"]["source"], begun["base"]["version"]) == ("document", 1)
    assert begun["outdated"] is False

    ok(await put(olga, "flows/overtime", overtime(2, hours=10), 1))

    assert ok(await anna.get(f"{PATH}/overtime"))["outdated"] is True


@pytest.mark.slow
async def test_before_one_text_is_written_over_another_both_are_shown(anna: AsyncClient) -> None:
    held = (FLOWS / "leave_request.yaml").read_text()
    path, mine = f"{PATH}/leave_request/difference", held.replace("P14D", "P9D")

    ours = ok(await anna.post(path, json={"text": mine, "stories": "- a: ["}))
    assert "-      expire_after: P14D\n+      expire_after: P9D\n" in ours["text"]
    assert ours["words"]
    assert ours["before"] != ours["after"]
    assert ours["stories_removed"]

    assert problem(await anna.post(path, json={"text": mine, "over": "draft"}), 404)
    ok(await save(anna, "leave_request", mine))
    same = ok(await anna.post(path, json={"text": mine, "over": "draft"}))
    assert (same["text"], same["stories"]) == ("", "")
    broken = ok(await anna.post(path, json={"text": "flow: [", "over": "draft"}))
    assert (broken["words"], broken["after"]) == ([], None)
    assert "-flow: leave_request" in broken["text"]


async def test_a_draft_that_is_discarded_shows_what_holds_again(anna: AsyncClient) -> None:
    ok(await save(anna, "leave_request", "flow: leave_request\n"))

    gone = await anna.delete(f"{PATH}/leave_request")

    assert gone.status_code == 204
    assert ok(await anna.get(f"{PATH}/leave_request"))["revision"] == 0
    problem(await anna.delete(f"{PATH}/leave_request"), 404)


async def test_the_list_has_files_documents_and_what_is_only_a_draft(
    anna: AsyncClient, olga: AsyncClient
) -> None:
    ok(await put(olga, "flows/overtime", overtime()))
    ok(await save(anna, "brand_new", "flow: brand_new\n"))

    items = {item["flow"]: item for item in ok(await anna.get(PATH))["items"]}

    assert items["leave_request"]["source"] == "file"
    assert items["leave_request"]["title"] == "Leave request"
    assert (items["overtime"]["source"], items["overtime"]["published_by"]) == ("document", "olga")
    assert items["brand_new"]["source"] == "draft"
    assert items["brand_new"]["version"] is None
    assert [draft["author"] for draft in items["brand_new"]["drafts"]] == ["anna"]


async def test_a_problem_is_told_at_its_place(anna: AsyncClient) -> None:
    text = overtime().replace("start: ", "start: no")

    (wrong, *_) = (await examined(anna, text))["problems"]

    assert wrong["place"] == ["start"]
    assert text.splitlines()[wrong["line"] - 1].startswith("start:")
    assert wrong["remedy"]


async def test_the_picture_has_each_state_and_way_by_the_names_that_the_graph_gives(
    anna: AsyncClient,
) -> None:
    text = (FLOWS / "equipment_request.yaml").read_text()

    found = await examined(anna, text, "equipment_request")

    drawn = list(ET.fromstring(found["picture"]).iter(f"{SVG}g"))
    graph = found["graph"]
    assert {g.get("data-state") for g in drawn} - {None} == {node["id"] for node in graph["nodes"]}
    ways = {f"{edge['source']} {edge['way']} {edge['target']}" for edge in graph["edges"]}
    assert {g.get("data-edge") for g in drawn} - {None} == ways
    for edge in graph["edges"]:
        stands = found["data"]
        for part in edge["place"]:
            stands = stands[part]
        assert stands == edge["target"]


def _of_ways(states: int, ways: int) -> str:
    """A flow of so many states, one after the other, with so many ways between them."""
    said, rows = "say: {zh: x, en: x}", ""
    for n in range(states - 1):
        more = (ways - states + 1 + n) // (states - 1)
        targets = [(n + 2 + k) % states for k in range(more)]
        branches = [f"{{if: 'slots.hours > {to}.0', to: s{to}}}" for to in targets]
        rows += f"  s{n}: {{{said}, next: [{', '.join([*branches, f'{{to: s{n + 1}}}'])}]}}\n"
    head = overtime().partition("states:\n")[0].replace("start: gather", "start: s0")
    return f"{head}states:\n{rows}  s{states - 1}: {{{said}, end: completed}}\n"


@each_row(("more", "is_drawn"), [(0, True), (1, False)], ids=["most", "one more"])
def test_of_more_ways_than_can_be_drawn_soon_there_is_no_picture(
    monkeypatch: pytest.MonkeyPatch, more: int, is_drawn: bool
) -> None:
    monkeypatch.setattr(svg, "MOST_WAYS", 40)

    found = examination_of("overtime", _of_ways(8, 40 + more), Surroundings(), "en")

    assert len(found.graph.edges) == 40 + more
    assert (found.picture is not None) is is_drawn


async def test_what_is_wrong_is_said_in_the_caller_s_language(anna: AsyncClient) -> None:
    body = {"flow": "overtime", "text": overtime().replace("start: gather", "start: gathr")}

    found = ok(await anna.post(f"{PATH}/examination", json=body, headers={"X-Locale": "zh"}))[
        "problems"
    ]

    said = {(each["what"], each["remedy"]) for each in found}
    assert ("没有状态 gathr", "是不是想写 gather？") in said


async def test_a_place_is_one_that_is_in_the_file(anna: AsyncClient) -> None:
    text = overtime().replace("manager(requester)", "manager(nobody_there)")

    found = await examined(anna, text.replace("next: agree", "next: agre"))

    places = [each["place"] for each in found["problems"]]
    assert ["states", "agree", "approve", "by"] in places
    assert ["states", "gather", "next"] in places


@pytest.mark.slow
async def test_checks_are_told_in_words_where_words_are_known(anna: AsyncClient) -> None:
    text = (FLOWS / "business_trip.yaml").read_text()

    found = await examined(anna, text, "business_trip")

    said = {tuple(check["place"]): check["words"] for check in found["checks"]}
    assert said["slots", "start", "check", 0, "that"] == "not before today"
    assert said["slots", "end", "check", 1, "that"] == "at most 90 days after “From”"
    for check in found["checks"]:
        assert check["check"] in {
            each["name"] for each in ok(await anna.get(f"{PATH}/vocabulary"))["checks"]
        }


async def test_the_vocabulary_is_what_the_house_has(anna: AsyncClient) -> None:
    found = ok(await anna.get(f"{PATH}/vocabulary"))

    kinds = {kind["kind"]: kind for kind in found["kinds"]}
    assert kinds["approve"]["needs"] == ["approved", "rejected"]
    assert kinds["approve"]["label"]["zh"] == "审批"
    assert "choices" in {t["type"]: t["keys"] for t in found["slot_types"]}["choice"]
    assert "choices" not in {t["type"]: t["keys"] for t in found["slot_types"]}["date"]
    trip = next(tool for tool in found["tools"] if tool["name"] == "book_trip")
    assert trip["writes"] is True
    assert trip["parameters"]["properties"]
    assert found["roles"] == ["author", "operator"]
    assert "role('author')" in [each["expression"] for each in found["approvers"]]
    assert "manager" in [each["name"] for each in found["lookups"]]


async def test_edits_change_what_they_are_about_and_nothing_else(anna: AsyncClient) -> None:
    text = (FLOWS / "business_trip.yaml").read_text()
    edits = [
        {"op": "set", "place": ["title", "en"], "value": "A journey"},
        {"op": "set", "place": ["title", "en"], "value": "Business trip"},
    ]

    one = ok(await anna.post(f"{PATH}/edits", json=_edits(text, edits[:1])))
    both = ok(await anna.post(f"{PATH}/edits", json=_edits(text, edits)))

    assert one["text"] == text.replace('en: "Business trip"', 'en: "A journey"', 1)
    assert one["examination"]["data"]["title"]["en"] == "A journey"
    assert both["text"] == text


def _edits(text: str, edits: list[dict[str, Any]]) -> dict[str, Any]:
    return {"flow": "business_trip", "text": text, "edits": edits}


@pytest.mark.slow
async def test_a_slot_that_is_renamed_is_followed_in_the_flow_and_in_its_stories(
    anna: AsyncClient,
) -> None:
    text = (FLOWS / "business_trip.yaml").read_text()
    stories = (FLOWS / "tests/business_trip.yaml").read_text()
    edits = [{"op": "rename", "place": ["slots", "destination"], "key": "where_to"}]

    after = ok(await anna.post(f"{PATH}/edits", json=_edits(text, edits) | {"stories": stories}))

    assert after["examination"]["problems"] == []
    assert "slots.destination" not in after["text"]
    assert "slots: {where_to: 上海" in after["stories"]
    # What a tool is given is called as the tool calls it.
    assert "with: {destination: 上海" in after["stories"]


async def test_who_renames_a_choice_is_told_where_a_tool_is_given_it(anna: AsyncClient) -> None:
    text = (FLOWS / "leave_request.yaml").read_text()
    edits = [{"op": "rename", "place": ["slots", "leave_type", "choices", "annual"], "key": "off"}]

    after = ok(await anna.post(f"{PATH}/edits", json=_edits(text, edits)))

    given = [each for each in after["look"] if "with" in each["place"]]
    assert given
    for each in given:
        assert "slots.leave_type" in after["text"].splitlines()[each["line"] - 1]
        assert each["remedy"] == "look here: whatever it is given to has to know 'off'"


PATTERNS = """['^(?:log )?overtime', '加班', '请假']"""


@pytest.mark.slow
async def test_a_draft_that_takes_others_sentences_is_told_which(anna: AsyncClient) -> None:
    taking = overtime(patterns=PATTERNS)

    found = ok(await anna.post(f"{PATH}/impact", json={"flow": "overtime", "text": taking}))

    assert found["checked"] > 20
    mine = [each for each in found["changed"] if each["text"] == "我要报加班"]
    assert [(each["after"], each["source"]) for each in mine] == [("overtime", "example")]
    others = {each["before"] for each in found["changed"]}
    assert "leave_request" in others


async def test_a_draft_of_a_flow_as_it_is_changes_nothing(anna: AsyncClient) -> None:
    text = (FLOWS / "reimbursement.yaml").read_text()

    found = ok(await anna.post(f"{PATH}/impact", json={"flow": "reimbursement", "text": text}))

    assert found["checked"] > 20
    assert found["changed"] == []


@pytest.mark.slow
@pytest.mark.parametrize(
    ("user", "may_read", "shown"),
    [("olga", True, ["overtime on monday"]), ("olga", False, []), ("anna", True, [])],
)
async def test_what_people_said_is_tried_for_whoever_may_read_it_alone_and_each_look_is_noted(
    services: Services, store: Store, user: str, may_read: bool, shown: list[str], unique: str
) -> None:
    tenant = f"said-{unique}"
    about = {"key": unique, "kind": "message", "at": datetime.now(UTC), "conversation": "c"}
    said = LogEntry.model_validate(
        {**about, "data": {"role": "user", "text": "overtime on monday"}}
    )
    await store.log.append(tenant, [said])
    settings = services.settings.model_copy(update={"operators_read_words": may_read})
    company = Company(replace(services, settings=settings), tenant)

    async with company(user) as client:
        body = {"flow": "overtime", "text": overtime()}
        found = ok(await client.post(f"{PATH}/impact", json=body))

    logged = [each for each in found["changed"] if each["source"] == "log"]
    assert [(each["text"], each["after"]) for each in logged] == [(e, "overtime") for e in shown]
    noted, _ = await store.trail.listed(tenant, AuditFilter(), None, 5)
    looks = [(e.who, e.subject) for e in noted if e.act == "flow_drafts.impact"]
    assert looks == [(user, "flows/overtime.yaml")]


@pytest.mark.slow
async def test_a_pattern_does_not_tell_an_author_whether_somebody_said_something(
    services: Services, store: Store, unique: str
) -> None:
    about = {"kind": "message", "at": datetime.now(UTC), "conversation": "c"}
    words = {"role": "user", "text": "my salary is 41000"}
    entry = LogEntry.model_validate({**about, "key": unique, "data": words})
    spoken, silent = f"spoken-{unique}", f"silent-{unique}"
    await store.log.append(spoken, [entry])
    answers = []
    for tenant in (spoken, silent):
        async with Company(services, tenant)("anna") as client:
            text = overtime(patterns="['^(?:log )?overtime', '加班', '^.*salary is 4']")
            body = {"flow": "overtime", "text": text}
            answers.append(ok(await client.post(f"{PATH}/impact", json=body)))
    assert answers[0] == answers[1]


async def test_of_a_draft_with_problems_nothing_is_tried(anna: AsyncClient) -> None:
    body = {"flow": "overtime", "text": overtime().replace("start: gather", "start: nowhere")}
    refused = problem(await anna.post(f"{PATH}/impact", json=body), 422)
    assert refused["errors"][0]["field"].startswith("text:")


SET = {"op": "set", "place": ["start"], "value": "done"}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("edits", "field"),
    [
        ([{"op": "set", "place": ["no", "such"], "value": 1}], "edits.0"),
        ([SET, {"op": "remove", "place": ["states", "none"]}], "edits.1"),
        ([SET, {"op": "move", "place": ["states", "x"], "at": 9}], "edits.1"),
        ([{"op": "insert", "place": ["states"], "at": 10**9, "value": 1}], "edits.0"),
        ([{"op": "set", "place": ["start"], "value": "x" * 140_000}], "edits.0"),
        ([{"op": "set", "place": ["start"], "value": ["x"] * 60_000}], "edits.0"),
        ([{"op": "insert", "place": [], "at": 0, "key": "k" * 2_000, "value": 1}], "edits.0"),
        ([{"op": "set", "place": ["states"] * 5_000, "value": 1}], "edits.0"),
        ([{"op": "set", "place": [], "value": 1}], "edits.0"),
        ([{"op": "burn", "place": ["start"]}], "edits.0"),
        ([SET] * 1_000, "edits"),
        ([], "edits"),
    ],
)
async def test_an_edit_that_can_t_be_made_is_named_and_none_is(
    anna: AsyncClient, edits: list[dict[str, Any]], field: str
) -> None:
    refused = problem(await anna.post(f"{PATH}/edits", json=_edits(overtime(), edits)), 422)

    assert any(each["field"].startswith(field) for each in refused["errors"])


def test_edits_that_would_take_too_long_are_refused_together(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(author_jobs, "MAX_EDIT_SECONDS", -1.0)
    edits = EditsBody.model_validate(_edits(overtime(), [SET])).edits

    with pytest.raises(InvalidInput) as refused:
        edit_flow(overtime(), "", edits, "en")

    assert refused.value.problems[0].field == "edits.0"
    assert "send fewer" in refused.value.problems[0].detail


BOMB = "a: &a [x, x]\n" + "\n".join(
    f"{name}: &{name} [*{before}, *{before}, *{before}, *{before}, *{before}]"
    for before, name in zip("abcdefghij", "bcdefghijk", strict=True)
)
HOSTILE = {
    "empty": "",
    "tabs": "flow: x\n\tstart: y\n",
    "no mapping": "- a\n- b\n",
    "a scalar": "overtime",
    "a bomb of aliases": BOMB,
    "an alias of itself": "a: &a [*a]",
    "brackets": "[" * 5_000,
    "half a character": 'flow: overtime\ntitle: {zh: "\\ud800", en: "\\udfff"}\n',
    "no number": "flow: overtime\nversion: .nan\nidle: .inf\n",
    "a huge number": f"flow: overtime\nversion: {'9' * 4_000}\n",
    "names that are markup": (
        "flow: overtime\nstart: '\"><script>'\nstates:\n  '\"><script>': {end: completed}\n"
    ),
    "a tag": "flow: !!python/object:os.system overtime\n",
    "several documents": "flow: overtime\n---\nflow: overtime\n",
    "a control character": "flow: over\x07time\n",
    "a thousand states": "flow: overtime\nstart: s0\nstates:\n"
    + "".join(f"  s{n}: {{say: {{zh: a, en: a}}, next: s{n + 1}}}\n" for n in range(1_000)),
}


@pytest.mark.parametrize("text", one_in(4, HOSTILE.values()), ids=HOSTILE)
async def test_whatever_is_typed_is_examined(anna: AsyncClient, text: str) -> None:
    found = await examined(anna, text)

    assert found["problems"]
    if found["picture"] is not None:
        ET.fromstring(found["picture"])


@pytest.mark.parametrize(
    "body",
    [
        {"text": "x" * (128 * 1024 + 1)},
        {"text": "é" * (64 * 1024 + 1)},
        {"text": "a: \0"},
        {"text": "", "flow": "Not A Name"},
        {"text": "", "flow": "../etc"},
        {"text": 3},
        {},
    ],
)
async def test_a_text_that_no_file_may_have_is_refused(
    anna: AsyncClient, body: dict[str, Any]
) -> None:
    sent = {"flow": "overtime", **body}
    problem(await anna.post(f"{PATH}/examination", json=sent), 422)


async def test_half_a_character_is_refused_wherever_it_stands(anna: AsyncClient) -> None:
    sent = rb'{"flow": "overtime", "text": "start: a", "edits": [%s]}'
    half = rb'{"op": "set", "place": ["start"], "value": "\ud800"}'
    headers = {"Content-Type": "application/json"}

    answer = await anna.post(f"{PATH}/edits", content=sent % half, headers=headers)

    assert answer.status_code in {400, 422}


async def test_stories_are_bounded(anna: AsyncClient) -> None:
    problem(await save(anna, "overtime", "", stories="x" * (64 * 1024 + 1)), 422)


@pytest.mark.slow
async def test_an_author_has_fifty_drafts_at_most(anna: AsyncClient, olga: AsyncClient) -> None:
    for number in range(50):
        ok(await save(anna, f"flow_{number}", ""))

    full = problem(await save(anna, "one_more", ""), 409)

    assert "50 drafts" in full["detail"]
    ok(await save(anna, "flow_7", "flow: flow_7", 1))
    ok(await save(olga, "one_more", ""))


CALLS = [
    ("GET", "", None),
    ("GET", "/vocabulary", None),
    ("GET", "/overtime", None),
    ("PUT", "/overtime", {"text": "", "revision": 0}),
    ("DELETE", "/overtime", None),
    ("POST", "/examination", {"flow": "overtime", "text": ""}),
    ("POST", "/impact", {"flow": "overtime", "text": ""}),
    ("POST", "/edits", {"flow": "overtime", "text": "a: 1", "edits": [SET]}),
]


@pytest.mark.slow
@pytest.mark.parametrize(("method", "path", "body"), CALLS)
async def test_an_employee_finds_nothing_there(
    company: Company, anna: AsyncClient, method: str, path: str, body: Any
) -> None:
    ok(await save(anna, "overtime", overtime()))
    async with company("alice") as alice:
        problem(await alice.request(method, f"{PATH}{path}", json=body), 404)


async def test_another_tenant_s_authors_see_nothing_of_a_draft(
    company: Company, services: Services, anna: AsyncClient, store: Store
) -> None:
    ok(await save(anna, "overtime", overtime()))
    async with Company(services, f"other-{company.tenant}")("anna") as stranger:
        problem(await stranger.get(f"{PATH}/overtime"), 404)
        problem(await stranger.delete(f"{PATH}/overtime"), 404)
        theirs = ok(await save(stranger, "overtime", "flow: overtime\n"))
        assert theirs["others"] == []
        names = [item["flow"] for item in ok(await stranger.get(PATH))["items"]]
    assert names.count("overtime") == 1
    kept = await FlowDrafts(store.database).find(company.tenant, "anna", "overtime")
    assert kept is not None
    assert kept.text == overtime()


@pytest.mark.parametrize("flow", ["no_such_flow", "Bad", "a" * 65, "a%00b"])
async def test_a_flow_that_isn_t_there_is_not_found(anna: AsyncClient, flow: str) -> None:
    problem(await anna.get(f"{PATH}/{flow}"), 404)


@pytest.mark.slow
async def test_no_draft_has_the_address_of_something_else(anna: AsyncClient) -> None:
    paths = openapi_document()["paths"]
    beside = [path for path in paths if re.fullmatch(rf"{PATH}/[a-z]+", path)]
    assert len(beside) > 3
    for path in beside:
        answer = await anna.put(path, json={"text": overtime(), "revision": 0})
        problem(answer, 405)
        assert answer.headers["allow"].lower().split(", ") == [*paths[path]]
        problem(await anna.get(f"{path}/bpmn"), 404)
    problem(await anna.get(f"{PATH}/edits_more"), 404)
