import asyncio
import re
from collections.abc import AsyncIterator
from urllib.parse import unquote

import httpx
import pytest
from fastapi import FastAPI

from router.api.files import ENVELOPE
from router.domain.file_types import LONGEST_NAME, MOST_BYTES
from tests.integration.api.conftest import As, client_of

PDF = b"%PDF-1.7\nreceipt"
PNG = b"\x89PNG\r\n\x1a\npicture"
BOUNDARY = "x-boundary"
MULTIPART = {"Content-Type": f"multipart/form-data; boundary={BOUNDARY}"}


async def send(
    client: httpx.AsyncClient, content: bytes = PDF, name: str = "receipt.pdf", key: str = ""
) -> httpx.Response:
    headers = {"Idempotency-Key": key} if key else {}
    files = {"file": (name, content, "application/x-whatever")}
    return await client.post("/v1/files", files=files, headers=headers)


def part(head: str, content: bytes = PDF) -> bytes:
    start = f"--{BOUNDARY}\r\nContent-Disposition: form-data; {head}\r\n\r\n".encode()
    return start + content + b"\r\n"


END = f"--{BOUNDARY}--\r\n".encode()


async def test_a_file_that_was_handed_in_is_fetched_as_it_was(alice: httpx.AsyncClient) -> None:
    made = await send(alice, PNG, "发票.png")
    assert made.status_code == 201
    view = made.json()
    assert set(view) == {"id", "name", "type", "size"}
    assert (view["name"], view["type"], view["size"]) == ("发票.png", "image/png", len(PNG))
    fetched = await alice.get(f"/v1/files/{view['id']}")
    assert fetched.status_code == 200
    assert fetched.content == PNG
    headers = fetched.headers
    assert headers["content-type"] == "image/png"
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["cache-control"] == "private, no-cache"
    kind, plain, encoded = headers["content-disposition"].split("; ")
    assert (kind, plain) == ("attachment", 'filename="__.png"')
    assert unquote(encoded.removeprefix("filename*=UTF-8''")) == "发票.png"


async def test_a_browser_that_has_it_is_told_so(alice: httpx.AsyncClient, caller: As) -> None:
    path = f"/v1/files/{(await send(alice)).json()['id']}"
    tag = (await alice.get(path)).headers["etag"]
    again = await alice.get(path, headers={"If-None-Match": tag})
    assert (again.status_code, again.content) == (304, b"")
    stranger = await caller("bob").get(path, headers={"If-None-Match": tag})
    assert stranger.status_code == 404


@pytest.mark.parametrize(("user", "status"), [("bob", 404), ("erin", 404), ("olga", 200)])
async def test_a_file_is_its_owners_and_an_operators(
    alice: httpx.AsyncClient, caller: As, user: str, status: int
) -> None:
    made = (await send(alice)).json()
    assert (await caller(user).get(f"/v1/files/{made['id']}")).status_code == status


@pytest.mark.parametrize("file", ["nothing", "a" * 24, "%00", "..%2f..%2fetc", "é", "a" * 300])
async def test_what_is_no_file_is_not_there(alice: httpx.AsyncClient, file: str) -> None:
    answer = await alice.get(f"/v1/files/{file}")
    assert answer.status_code == 404
    assert answer.headers["content-type"] == "application/problem+json"


async def test_the_same_key_with_the_same_content_is_the_same_file(
    alice: httpx.AsyncClient, unique: str
) -> None:
    answers = await asyncio.gather(*(send(alice, key=unique) for _ in range(3)))
    assert {answer.status_code for answer in answers} == {201}
    assert len({answer.text for answer in answers}) == 1


async def test_the_same_key_with_other_content_is_refused(
    alice: httpx.AsyncClient, caller: As, unique: str
) -> None:
    first = await send(alice, key=unique)
    other = await send(alice, PNG, key=unique)
    assert other.status_code == 422
    assert "another key" in other.json()["detail"]
    assert (await alice.get(f"/v1/files/{first.json()['id']}")).content == PDF
    assert (await send(caller("bob"), PNG, key=unique)).status_code == 201


async def test_without_a_key_twice_is_two(alice: httpx.AsyncClient) -> None:
    first, second = [(await send(alice)).json()["id"] for _ in range(2)]
    assert first != second
    assert re.fullmatch("[0-9a-z]{24}", first)


async def test_the_largest_file_is_taken(alice: httpx.AsyncClient) -> None:
    whole = PDF.ljust(MOST_BYTES, b"\0")
    made = await send(alice, whole)
    assert made.json()["size"] == MOST_BYTES
    assert (await alice.get(f"/v1/files/{made.json()['id']}")).content == whole


async def test_a_byte_more_is_refused(alice: httpx.AsyncClient) -> None:
    answer = await send(alice, PDF.ljust(MOST_BYTES + 1, b"\0"))
    assert answer.status_code == 413
    assert str(MOST_BYTES) in answer.json()["detail"]


async def test_what_is_too_large_is_refused_while_it_still_comes(alice: httpx.AsyncClient) -> None:
    sent = 0

    async def endless() -> AsyncIterator[bytes]:
        nonlocal sent
        yield part('name="file"; filename="a.pdf"')[:-2]
        while sent < 10 * MOST_BYTES:
            sent += 64 * 1024
            yield b"\0" * 64 * 1024

    answer = await alice.post("/v1/files", content=endless(), headers=MULTIPART)
    assert answer.status_code == 413
    assert sent < MOST_BYTES + 4 * ENVELOPE


async def test_what_says_that_it_is_too_large_is_not_even_read(alice: httpx.AsyncClient) -> None:
    async def never() -> AsyncIterator[bytes]:
        pytest.fail("somebody reads it")
        yield b""

    headers = {**MULTIPART, "Content-Length": str(11 * 1024 * 1024)}
    answer = await alice.post("/v1/files", content=never(), headers=headers)
    assert answer.status_code == 413


async def test_what_a_stranger_sends_is_not_even_read(app: FastAPI) -> None:
    async def never() -> AsyncIterator[bytes]:
        pytest.fail("somebody reads it")
        yield b""

    async with client_of(app, None) as nobody:
        answer = await nobody.post("/v1/files", content=never(), headers=MULTIPART)
    assert answer.status_code == 401


@pytest.mark.parametrize(("verb", "path"), [("PUT", "/v1/files"), ("POST", "/v1/files/x")])
async def test_only_a_new_file_may_be_large(alice: httpx.AsyncClient, verb: str, path: str) -> None:
    assert (await alice.request(verb, path, content=b" " * 70_000)).status_code == 413


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "empty"),
        (b"hello", "neither a PDF nor a picture"),
        (b"<svg onload='alert(1)'/>", "SVG"),
        (b"<?xml version='1.0'?>\n<svg/>", "SVG"),
        (b"\xef\xbb\xbf<!DOCTYPE html>", "HTML"),
        (b"  <script>alert(1)</script>", "HTML"),
        (b"MZ\x90\x00", "neither"),
        (b"PK\x03\x04", "neither"),
        (b"\n" + PDF, "neither"),
    ],
)
async def test_what_is_neither_pdf_nor_picture_says_what_would_do(
    alice: httpx.AsyncClient, content: bytes, said: str
) -> None:
    answer = await send(alice, content, "receipt.pdf")
    assert answer.status_code == 422
    (fault,) = answer.json()["errors"]
    assert fault["field"] == "file"
    assert said in fault["detail"]
    assert "PDF or a picture" in fault["detail"]


HOSTILE: list[tuple[str, bytes, int]] = [
    ("no parts", END, 422),
    ("nothing", b"", 422),
    ("no multipart", b"hello", 400),
    ("another field", part('name="other"; filename="a.pdf"') + END, 422),
    ("a text", part('name="file"') + END, 422),
    ("two files", part('name="file"; filename="a.pdf"') * 2 + END, 400),
    ("a field besides", part('name="x"', b"1") + part('name="file"; filename="a"') + END, 422),
    ("many fields", part('name="x"', b"1") * 20 + END, 400),
    ("a long field", part('name="x"', b"1" * 2 * ENVELOPE) + END, 400),
    ("cut off", part('name="file"; filename="a.pdf"'), 422),
    ("without a name", part('filename="a.pdf"') + END, 400),
]


@pytest.mark.parametrize(
    ("body", "status"), [row[1:] for row in HOSTILE], ids=[row[0] for row in HOSTILE]
)
async def test_a_body_that_is_no_upload_is_refused(
    alice: httpx.AsyncClient, body: bytes, status: int
) -> None:
    answer = await alice.post("/v1/files", content=body, headers=MULTIPART)
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/problem+json"


@pytest.mark.parametrize(
    ("declared", "status"),
    [
        ("", 415),
        ("application/json", 415),
        ("application/pdf", 415),
        ("application/x-www-form-urlencoded", 415),
        ("multipart/form-data", 400),
        ("multipart/mixed; boundary=x", 415),
    ],
)
async def test_the_body_is_declared_as_multipart(
    alice: httpx.AsyncClient, declared: str, status: int
) -> None:
    answer = await alice.post("/v1/files", content=b"x", headers={"Content-Type": declared})
    assert answer.status_code == status


@pytest.mark.parametrize(
    ("sent", "kept"),
    [
        ("../../etc/passwd", "passwd.pdf"),
        ("C:\\temp\\r.pdf", "r.pdf"),
        ("receipt\u202efdp.exe", "receiptfdp.exe.pdf"),
        ("a\tb.pdf", "a b.pdf"),
        ("", "file.pdf"),
        ("x" * 400 + ".pdf", "x" * (LONGEST_NAME - 4) + ".pdf"),
        ("a;filename=b.pdf", "a;filename=b.pdf"),
    ],
)
async def test_a_name_is_made_safe(alice: httpx.AsyncClient, sent: str, kept: str) -> None:
    body = part(f'name="file"; filename="{sent}"') + END
    made = await alice.post("/v1/files", content=body, headers=MULTIPART)
    assert made.status_code == 201, made.text
    assert made.json()["name"] == kept
    fetched = await alice.get(f"/v1/files/{made.json()['id']}")
    assert "\n" not in fetched.headers["content-disposition"]


async def test_the_document_says_how_a_file_is_sent(alice: httpx.AsyncClient) -> None:
    paths = (await alice.get("/openapi.json")).json()["paths"]
    upload = paths["/v1/files"]["post"]
    schema = upload["requestBody"]["content"]["multipart/form-data"]["schema"]
    assert schema["required"] == ["file"]
    assert {"201", "400", "401", "413", "415", "422"} <= set(upload["responses"])
    assert {"200", "304", "404"} <= set(paths["/v1/files/{file}"]["get"]["responses"])
