"""Pictures and documents in a message."""

import base64
import re
from typing import Any

import pytest
from httpx import AsyncClient, Response

from router.domain.file_types import MOST_BYTES
from tests.integration.api.conftest import As
from tests.integration.api.extensions.openai.conftest import PATH, fault, said
from tests.table import each_row

PDF = b"%PDF-1.7\nreceipt"
PNG = b"\x89PNG\r\n\x1a\npicture"


def url(content: bytes, media: str = "image/png") -> str:
    return f"data:{media};base64,{base64.b64encode(content).decode()}"


def picture(content: bytes = PNG) -> dict[str, Any]:
    return {"type": "image_url", "image_url": {"url": url(content)}}


async def send(client: AsyncClient, name: str, *parts: dict[str, Any]) -> Response:
    body = {"model": "intent-router", "messages": [{"role": "user", "content": list(parts)}]}
    return await client.post(PATH, json=body, headers={"X-Conversation-Id": name})


TEXT = {"type": "text", "text": "here it is"}
DOCUMENT = {"type": "file", "file": {"file_data": url(PDF, "x/y"), "filename": "../发票.exe"}}
BARE = {"type": "file", "file": {"file_data": base64.b64encode(PDF).decode(), "filename": "a"}}


async def ids(client: AsyncClient, name: str, *parts: dict[str, Any]) -> list[str]:
    """The ids that a message of files alone comes to: the conversation echoes them."""
    return said(await send(client, name, *parts)).removeprefix("alice: ").split(",")


@pytest.mark.slow
@each_row(
    ("part", "content", "name"),
    [
        (picture(), PNG, "file.png"),
        (DOCUMENT, PDF, "%E5%8F%91%E7%A5%A8.exe.pdf"),
        (BARE, PDF, "a.pdf"),
    ],
)
async def test_a_part_is_a_file_of_its_speaker_s_however_often_it_is_sent(
    caller: As, unique: str, part: dict[str, Any], content: bytes, name: str
) -> None:
    alice, bob = caller("alice"), caller("bob")
    (id_,) = await ids(alice, unique, part)
    assert await ids(alice, f"{unique}2", part, part) == [id_]
    kept = await alice.get(f"/v1/files/{id_}")
    assert kept.content == content
    if part is not BARE:
        assert name in kept.headers["content-disposition"]
    assert (await bob.get(f"/v1/files/{id_}")).status_code == 404
    assert said(await send(bob, unique, part)) != f"bob: {id_}"


async def test_ten_files_go_with_one_message_and_words_may(alice: AsyncClient, unique: str) -> None:
    several = [picture(PNG + bytes([number])) for number in range(10)]
    found = await ids(alice, unique, *several)
    assert len(set(found)) == 10
    assert said(await send(alice, unique, TEXT, *several)) == "alice: here it is"


async def test_what_was_handed_in_before_is_named_by_its_id(caller: As, unique: str) -> None:
    alice = caller("alice")
    files = {"file": ("receipt.pdf", PDF + unique.encode())}
    id_ = (await alice.post("/v1/files", files=files)).json()["id"]
    part = {"type": "file", "file": {"file_id": id_}}
    assert await ids(alice, unique, part) == [id_]
    for client, name in ((caller("bob"), id_), (alice, "0" * 24), (alice, "../x")):
        theirs = {"type": "file", "file": {"file_id": name}}
        error = fault(await send(client, unique, TEXT, theirs), 400)
        assert error["param"] == "messages.0.content.1"
        assert "no such file of yours" in error["message"]


async def test_the_history_hands_nothing_in_again(alice: AsyncClient, unique: str) -> None:
    """Clients send the whole chat, pictures and all, with every message."""
    first = {"role": "user", "content": [picture(PNG + unique.encode())]}
    messages: list[dict[str, Any]] = [first]
    body = {"model": "intent-router", "messages": messages, "user": unique}
    answer = said(await alice.post(PATH, json=body))
    again = said(await alice.post(PATH, json=body))
    messages += [{"role": "assistant", "content": answer}, {**first, "content": "and now?"}]
    assert said(await alice.post(PATH, json=body)) == "alice: and now?"
    assert again == answer
    messages += [{"role": "assistant", "content": "alice: and now?"}, first]
    assert said(await alice.post(PATH, json=body)) == answer


async def test_the_same_words_with_another_picture_are_another_message(
    alice: AsyncClient, unique: str
) -> None:
    one, other = picture(PNG + b"1"), picture(PNG + b"2")
    answers = [(await send(alice, unique, TEXT, each)).json()["id"] for each in (one, other, one)]
    assert answers[0] == answers[2] != answers[1]


@each_row("stream", [False, True])
async def test_files_that_an_answer_gives_are_its_annotations(
    caller: As, unique: str, stream: bool
) -> None:
    alice, bob = caller("alice"), caller("bob")
    files = {"file": ("seats.pdf", PDF + unique.encode())}
    id_ = (await alice.post("/v1/files", files=files)).json()["id"]
    bobs = (await bob.post("/v1/files", files=files)).json()["id"]
    text = {"type": "text", "text": f"see /v1/files/{id_} and /v1/files/{bobs}"}
    body = {"model": "intent-router", "messages": [{"role": "user", "content": [text]}]}
    answer = await alice.post(PATH, json={**body, "stream": stream})
    urls = re.findall(r"https?://[^\"]*/v1/files/[0-9a-z]+", answer.text)
    assert urls == [f"{str(alice.base_url).rstrip('/')}/v1/files/{id_}"]
    assert '"title":"seats.pdf"' in answer.text.replace(": ", ":")


@pytest.mark.slow
@each_row(
    ("parts", "status", "words"),
    [
        ([TEXT, *[picture(PNG + bytes([number])) for number in range(11)]], 400, "more than 10"),
        ([TEXT, picture(PNG + b"x" * MOST_BYTES)], 413, "larger than"),
        ([TEXT, picture(PNG + b"x" * 2 * MOST_BYTES)], 413, "larger than"),
        (
            [{"type": "input_audio", "input_audio": {"data": "AA", "format": "mp3"}}],
            400,
            "recording",
        ),
        ([{"type": "file", "file": {"file_data": "https://evil.test/a.pdf"}}], 400, "elsewhere"),
        ([{"type": "file", "file": {"file_data": "data:text/html,<b>"}}], 400, "base64"),
        ([{"type": "file", "file": {"filename": "a.pdf"}}], 400, "can't be read"),
        ([picture(b"<!doctype html><script>")], 400, "HTML"),
        ([picture(b"<svg onload='x()'>")], 400, "SVG"),
    ],
)
async def test_a_file_of_no_use_is_refused(
    alice: AsyncClient, unique: str, parts: list[dict[str, Any]], status: int, words: str
) -> None:
    assert re.search(words, fault(await send(alice, unique, *parts), status)["message"])
