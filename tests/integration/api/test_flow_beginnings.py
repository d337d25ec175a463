"""Authors hand in what they have of a process, and are given a draft that they go on from."""

from collections.abc import AsyncIterator
from itertools import count

import pytest
from httpx import AsyncClient, Response

from router.api.dependencies import Services
from router.beginnings.source_file import LARGEST
from tests.integration.api.conftest import As, problem
from tests.integration.api.test_configuration import Company, ok
from tests.unit.beginnings.test_bpmn import APPROVE, END, FORM, START, bpmn

PATH = "/v1/flow-drafts/beginnings"
PAPER = bpmn(START + FORM + APPROVE + '<serviceTask id="x" name="Pack"/>' + END, "s>t t>a a>x x>e")
_NUMBERS = count()


@pytest.fixture
async def anna(services: Services) -> AsyncIterator[AsyncClient]:
    async with Company(services, f"b{next(_NUMBERS)}")("anna") as client:
        yield client


async def begin(client: AsyncClient, content: bytes, name: str = "process.bpmn") -> Response:
    return await client.post(PATH, files={"file": (name, content, "application/xml")})


async def test_a_process_begins_a_draft_that_is_saved_by_its_author_alone(
    anna: AsyncClient,
) -> None:
    made = ok(await begin(anna, PAPER))

    assert made["flow"] == "order_paper"
    assert (await anna.get(f"/v1/flow-drafts/{made['flow']}")).status_code == 404
    saved = ok(
        await anna.put(
            f"/v1/flow-drafts/{made['flow']}", json={"text": made["text"], "revision": 0}
        )
    )
    asked = [each["place"] for each in made["questions"] if each["place"]]
    found = saved["examination"]["problems"]
    assert found
    for each in found:
        assert any(each["place"][: len(place)] == place for place in asked), each
    again = ok(await begin(anna, PAPER))
    assert again["flow"] == "order_paper_2"


async def test_what_is_asked_and_left_out_is_said_in_the_authors_language(
    caller: As,
) -> None:
    content = bpmn(START + '<task id="x"/><task id="alone"/>' + END, "s>x x>e")

    made = ok(await begin(caller("olga"), content))

    assert [each["where"] for each in made["unmapped"]] == ["alone"]
    assert "left out" in made["unmapped"][0]["what"]


@pytest.mark.parametrize(
    ("content", "status"),
    [
        (b"", 422),
        (b"%PDF-1.7", 422),
        (b"<!DOCTYPE a [<!ENTITY b 'c'>]><definitions/>", 422),
        (b"<definitions/>", 422),
        (b"<" * (LARGEST + 100_000), 413),
    ],
)
async def test_what_no_flow_can_begin_with_is_refused(
    anna: AsyncClient, content: bytes, status: int
) -> None:
    assert problem(await begin(anna, content), status)


async def test_other_fields_and_bodies_are_refused(anna: AsyncClient) -> None:
    assert problem(await anna.post(PATH, json={}), 415)
    assert problem(await anna.post(PATH, files={"other": b"x"}), 422)


async def test_a_flow_is_documented_as_bpmn_and_so_is_the_authors_draft_of_it(
    anna: AsyncClient,
) -> None:
    path = "/v1/flow-drafts/leave_request/bpmn"

    held = await anna.get(path, params={"locale": "en"})
    assert (held.status_code, held.headers["content-type"]) == (200, "application/xml")
    assert "Manager decides" in held.text

    text = ok(await anna.get("/v1/flow-drafts/leave_request"))["text"]
    changed = {"text": text.replace("Manager decides", "The boss decides"), "revision": 0}
    ok(await anna.put("/v1/flow-drafts/leave_request", json=changed))
    assert "The boss decides" in (await anna.get(path, params={"locale": "en"})).text

    ok(await anna.put("/v1/flow-drafts/leave_request", json={"text": "flow: 1", "revision": 1}))
    assert problem(await anna.get(path), 422)["errors"]


async def test_who_writes_no_flows_begins_none(caller: As) -> None:
    assert problem(await begin(caller("alice"), PAPER), 404)
