"""Pictures and documents in a message."""

import base64
import re
from typing import Any

import pytest
from httpx import AsyncClient, Response

from router.domain.file_types import MOST_BYTES
from tests.integration.api.conftest import As
from tests.integration.api.openai.conftest import PATH, fault, said

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


@pytest.mark.parametrize(
    ("part", "content", "name"), [(picture(), PNG, "file.png"), (DOCUMENT, PDF, "发票.exe.pdf")]
)
async def test_a_file_beside_words_is_kept_once_and_the_words_are_said(
    caller: As, unique: str, part: dict[str, Any], content: bytes, name: str
) -> None:
    alice = caller("alice")
    answer = said(await send(alice, unique, TEXT, part))
    assert answer.startswith("alice: here it is\n\n")
    assert name in answer
    (id_,) = re.findall(r"[a-z0-9]{24}", answer)
    assert (await alice.get(f"/v1/files/{id_}")).content == content
    assert (await caller("bob").get(f"/v1/files/{id_}")).status_code == 404
    assert said(await send(alice, f"{unique}2", TEXT, part)) == answer


@pytest.mark.parametrize(
    ("parts", "status", "words"),
    [
        ([picture()], 400, "哪一步要文件|asks for a file"),
        ([TEXT, picture(), picture(PDF)], 400, "several files"),
        ([TEXT, picture(PNG + b"x" * MOST_BYTES)], 413, "larger than"),
    ],
)
async def test_a_file_of_no_use_is_refused(
    alice: AsyncClient, unique: str, parts: list[dict[str, Any]], status: int, words: str
) -> None:
    assert re.search(words, fault(await send(alice, unique, *parts), status)["message"])
