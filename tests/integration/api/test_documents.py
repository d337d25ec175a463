"""What was read of a file: for whoever may fetch it, in their language."""

from datetime import UTC, datetime, timedelta

import pytest
from httpx import AsyncClient

from router.domain.documents import Document, DocumentProblem, Place, ReadField
from router.domain.locale import Localised
from router.store.store import Store
from tests.integration.api.conftest import As, problem
from tests.integration.api.test_files import PNG, send

JPEG = b"\xff\xd8\xff small"
RECEIPT = Document(
    type="taxi_receipt",
    fields={
        "amount": ReadField(
            value={"amount": "58.00", "currency": "CNY"},
            source="picture",
            confidence=0.9,
            place=Place(left=0.1, top=0.2, right=0.3, bottom=0.4),
        ),
        "date": ReadField(value="2026-11-19", source="picture", confidence=0.4),
    },
    problems=(DocumentProblem(code="total", text=Localised(zh="不符", en="it doesn't add up")),),
    text="not for this face",
)


@pytest.fixture
async def file(alice: AsyncClient) -> str:
    id_: str = (await send(alice, PNG)).json()["id"]
    return id_


async def test_a_file_that_nobody_has_read_yet_is_being_read(alice: AsyncClient, file: str) -> None:
    answer = await alice.get(f"/v1/files/{file}/document")
    assert (answer.status_code, answer.json()["status"]) == (200, "reading")
    assert "type" not in answer.json()
    assert (await alice.get(f"/v1/files/{file}/preview")).status_code == 204


async def test_fields_say_what_they_are_where_they_stand_and_where_they_came_from(
    alice: AsyncClient, store: Store, file: str
) -> None:
    await store.documents.keep("default", file, RECEIPT, preview=JPEG)
    said = (await alice.get(f"/v1/files/{file}/document")).json()
    assert (said["status"], said["type"], said["title"]) == ("read", "taxi_receipt", "出租车票")
    assert said["fields"]["amount"] == {
        "label": "金额",
        "value": {"amount": "58.00", "currency": "CNY"},
        "text": "¥58.00",
        "from": "picture",
        "confidence": 0.9,
        "place": {"page": 0, "left": 0.1, "top": 0.2, "right": 0.3, "bottom": 0.4},
    }
    assert said["fields"]["date"]["value"] == "2026-11-19"
    assert said["problems"] == [{"code": "total", "text": "不符"}]
    assert "not for this face" not in str(said)
    small = await alice.get(f"/v1/files/{file}/preview")
    assert (small.content, small.headers["content-type"]) == (JPEG, "image/jpeg")
    assert small.headers["x-content-type-options"] == "nosniff"


async def test_while_a_model_may_find_more_it_is_being_read_and_no_longer(
    alice: AsyncClient, store: Store, file: str
) -> None:
    now = datetime.now(UTC)
    for left, status in ((timedelta(hours=1), "reading"), (timedelta(0), "read")):
        still = RECEIPT.model_copy(update={"open_until": now + left})
        await store.documents.keep("default", file, still, preview=JPEG)
        said = (await alice.get(f"/v1/files/{file}/document")).json()
        assert (said["status"], bool(said["fields"])) == (status, status == "read")
        assert (await alice.get(f"/v1/files/{file}/preview")).content == JPEG


async def test_an_english_reader_reads_english(alice: AsyncClient, store: Store, file: str) -> None:
    await store.documents.keep("default", file, RECEIPT)
    headers = {"X-Locale": "en"}
    said = (await alice.get(f"/v1/files/{file}/document", headers=headers)).json()
    assert (said["title"], said["fields"]["amount"]["label"]) == ("taxi receipt", "amount")
    assert said["problems"][0]["text"] == "it doesn't add up"


async def test_what_cannot_be_read_says_why(alice: AsyncClient, store: Store, file: str) -> None:
    broken = Document.unreadable("encrypted", Localised(zh="加密了", en="it is encrypted"))
    await store.documents.keep("default", file, broken)
    said = (await alice.get(f"/v1/files/{file}/document")).json()
    assert said["status"] == "unreadable"
    assert said["problems"] == [{"code": "encrypted", "text": "加密了"}]


@pytest.mark.parametrize("about", ["document", "preview"])
async def test_it_is_for_whoever_may_fetch_the_file(caller: As, file: str, about: str) -> None:
    for stranger in ("bob", "erin"):
        problem(await caller(stranger).get(f"/v1/files/{file}/{about}"), 404)
    assert (await caller("olga").get(f"/v1/files/{file}/{about}")).status_code in {200, 204}
    for none in ("a" * 24, "%00", "é"):
        problem(await caller("alice").get(f"/v1/files/{none}/{about}"), 404)


@pytest.mark.parametrize("wait", ["-1", "61", "nan", "soon", "1e999"])
async def test_nobody_waits_for_ever(alice: AsyncClient, file: str, wait: str) -> None:
    problem(await alice.get(f"/v1/files/{file}/document", params={"wait": wait}), 422)
