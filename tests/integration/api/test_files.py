import asyncio
import re
from base64 import b64encode
from collections.abc import AsyncIterator
from dataclasses import replace
from urllib.parse import unquote

import pytest
from fastapi import FastAPI
from httpx import AsyncClient, Response

from router.api.dependencies import Services
from router.api.files import ENVELOPE
from router.directory.file import FileDirectory
from router.domain.file_types import LONGEST_NAME, MOST_BYTES
from router.runtime.server import create_app
from tests.integration.api.conftest import As, client_of, problem
from tests.table import each_row

PDF = b"%PDF-1.7\nreceipt"
PNG = b"\x89PNG\r\n\x1a\npicture"
BOUNDARY = "x-boundary"
MULTIPART = {"Content-Type": f"multipart/form-data; boundary={BOUNDARY}"}


async def send(
    client: AsyncClient, content: bytes = PDF, name: str = "receipt.pdf", key: str = ""
) -> Response:
    headers = {"Idempotency-Key": key} if key else {}
    files = {"file": (name, content, "application/x-whatever")}
    return await client.post("/v1/files", files=files, headers=headers)


def part(head: str, content: bytes = PDF) -> bytes:
    start = f"--{BOUNDARY}\r\nContent-Disposition: form-data; {head}\r\n\r\n".encode()
    return start + content + b"\r\n"


END = f"--{BOUNDARY}--\r\n".encode()


async def test_a_file_that_was_handed_in_is_fetched_as_it_was(alice: AsyncClient) -> None:
    made = await send(alice, PNG, "发票.png")
    id_ = made.json()["id"]
    assert re.fullmatch("[0-9a-z]{24}", id_)
    view = {"id": id_, "name": "发票.png", "type": "image/png", "size": len(PNG)}
    assert (made.status_code, made.json()) == (201, view)
    fetched = await alice.get(f"/v1/files/{id_}")
    assert (fetched.status_code, fetched.content) == (200, PNG)
    headers = fetched.headers
    assert headers["content-type"] == "image/png"
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["cache-control"] == "private, no-cache"
    kind, plain, encoded = headers["content-disposition"].split("; ")
    assert (kind, plain) == ("attachment", 'filename="__.png"')
    assert unquote(encoded.removeprefix("filename*=UTF-8''")) == "发票.png"


async def test_a_file_is_its_owners_and_an_operators_and_sent_once(caller: As) -> None:
    path = f"/v1/files/{(await send(caller('alice'))).json()['id']}"
    tag = {"If-None-Match": (await caller("alice").get(path)).headers["etag"]}
    again = await caller("alice").get(path, headers=tag)
    assert (again.status_code, again.content) == (304, b"")
    for stranger in ("bob", "erin"):
        for headers in ({}, tag):
            problem(await caller(stranger).get(path, headers=headers), 404)
    assert (await caller("olga").get(path)).status_code == 200


@each_row("file", ["nothing", "a" * 24, "%00", "..%2f..%2fetc", "é", "a" * 300])
async def test_what_is_no_file_is_not_there(alice: AsyncClient, file: str) -> None:
    problem(await alice.get(f"/v1/files/{file}"), 404)


async def test_a_key_is_for_one_file(caller: As, unique: str) -> None:
    alice = caller("alice")
    first, *again = await asyncio.gather(*(send(alice, key=unique) for _ in range(3)))
    assert {(each.status_code, each.text) for each in again} == {(201, first.text)}
    assert "another key" in problem(await send(alice, PNG, key=unique), 422)["detail"]
    assert (await alice.get(f"/v1/files/{first.json()['id']}")).content == PDF
    assert (await send(caller("bob"), PNG, key=unique)).status_code == 201
    assert len({(await send(alice)).json()["id"] for _ in range(2)}) == 2


async def test_a_person_fills_no_disk(services: Services, unique: str) -> None:
    name, other = f"u{unique}", f"v{unique}"
    people = FileDirectory.read(f"users: [{{id: {name}, name: A}}, {{id: {other}, name: B}}]", "f")
    settings = services.settings.model_copy(update={"user_files_per_day": 3})
    app = create_app(replace(services, directory=people, settings=settings))
    async with client_of(app, name) as one, client_of(app, other) as bob:
        kept = await asyncio.gather(*(send(one, key=f"{n}") for n in range(5)))
        assert sorted(each.status_code for each in kept) == [201] * 3 + [429] * 2
        again = next(n for n, each in enumerate(kept) if each.status_code == 201)
        assert (await send(one, key=f"{again}")).text == kept[again].text
        refused = await send(one)
        assert "3 个" in problem(refused, 429)["detail"]
        assert 0 < int(refused.headers["retry-after"]) <= 86400
        inline = {
            "type": "image_url",
            "image_url": {"url": f"data:image/png;base64,{b64encode(PNG).decode()}"},
        }
        said = {"role": "user", "content": [{"type": "text", "text": "look"}, inline]}
        asked = {"model": "intent-router", "messages": [said]}
        assert (await one.post("/v1/chat/completions", json=asked)).status_code == 429
        assert (await send(bob)).status_code == 201


async def test_the_largest_file_is_taken_and_not_a_byte_more(alice: AsyncClient) -> None:
    whole = PDF.ljust(MOST_BYTES, b"\0")
    made = (await send(alice, whole)).json()
    assert made["size"] == MOST_BYTES
    assert (await alice.get(f"/v1/files/{made['id']}")).content == whole
    assert str(MOST_BYTES) in problem(await send(alice, whole + b"\0"), 413)["detail"]


async def test_what_is_too_large_is_refused_while_it_still_comes(alice: AsyncClient) -> None:
    sent = 0

    async def endless() -> AsyncIterator[bytes]:
        nonlocal sent
        yield part('name="file"; filename="a.pdf"')[:-2]
        while sent < 10 * MOST_BYTES:
            sent += 64 * 1024
            yield b"\0" * 64 * 1024

    assert (await alice.post("/v1/files", content=endless(), headers=MULTIPART)).status_code == 413
    assert sent < MOST_BYTES + 4 * ENVELOPE


@each_row(
    ("user", "more", "status"),
    [("alice", {"Content-Length": str(11 * 1024 * 1024)}, 413), (None, {}, 401)],
)
async def test_what_is_too_large_or_a_strangers_is_not_even_read(
    app: FastAPI, user: str | None, more: dict[str, str], status: int
) -> None:
    async def never() -> AsyncIterator[bytes]:
        pytest.fail("somebody reads it")
        yield b""

    async with client_of(app, user) as client:
        sent = await client.post("/v1/files", content=never(), headers=MULTIPART | more)
    problem(sent, status)


@each_row(("verb", "path"), [("PUT", "/v1/files"), ("POST", "/v1/files/x")])
async def test_only_a_new_file_may_be_large(alice: AsyncClient, verb: str, path: str) -> None:
    assert (await alice.request(verb, path, content=b" " * 70_000)).status_code == 413


@each_row(
    ("content", "said"),
    [
        (b"", "empty"),
        (b"hello", "neither a PDF, a picture, an OFD nor an EInvoice"),
        (b"<svg onload='alert(1)'/>", "SVG"),
        (b"<?xml version='1.0'?>\n<svg/>", "SVG"),
        (b"\xef\xbb\xbf<!DOCTYPE html>", "HTML"),
        (b"  <script>alert(1)</script>", "HTML"),
        (b"MZ\x90\x00", "neither"),
        (b"PK\x03\x04", "neither"),
        (b"\n" + PDF, "neither"),
    ],
)
async def test_other_kinds_say_what_would_do(alice: AsyncClient, content: bytes, said: str) -> None:
    (fault,) = problem(await send(alice, content), 422)["errors"]
    assert (fault["field"], said in fault["detail"]) == ("file", True)
    assert "send a PDF, a picture" in fault["detail"]


HOSTILE: dict[str, tuple[bytes, int]] = {
    "no parts": (END, 422),
    "nothing": (b"", 422),
    "no multipart": (b"hello", 400),
    "another field": (part('name="other"; filename="a.pdf"') + END, 422),
    "a text": (part('name="file"') + END, 422),
    "two files": (part('name="file"; filename="a.pdf"') * 2 + END, 400),
    "a field besides": (part('name="x"', b"1") + part('name="file"; filename="a"') + END, 422),
    "many fields": (part('name="x"', b"1") * 20 + END, 400),
    "a long field": (part('name="x"', b"1" * 2 * ENVELOPE) + END, 400),
    "cut off": (part('name="file"; filename="a.pdf"'), 422),
    "without a name": (part('filename="a.pdf"') + END, 400),
}


@each_row(("body", "status"), HOSTILE.values(), ids=HOSTILE)
async def test_what_is_no_upload_is_refused(alice: AsyncClient, body: bytes, status: int) -> None:
    problem(await alice.post("/v1/files", content=body, headers=MULTIPART), status)


@each_row("charset", ["undefined", "idna", "punycode", "utf-16", "utf-8"])
async def test_the_body_is_utf_8_whatever_it_says(alice: AsyncClient, charset: str) -> None:
    body = part(f'name="file"; filename="{"é" * 70}..pdf"') + END
    said = {"Content-Type": f"{MULTIPART['Content-Type']}; charset={charset}"}
    made = await alice.post("/v1/files", content=body, headers=said)
    assert (made.status_code, made.json()["name"]) == (201, f"{'é' * 70}..pdf")


@each_row(
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
async def test_a_body_says_it_is_multipart(alice: AsyncClient, declared: str, status: int) -> None:
    answer = await alice.post("/v1/files", content=b"x", headers={"Content-Type": declared})
    assert answer.status_code == status


@each_row(
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
async def test_a_name_is_made_safe(alice: AsyncClient, sent: str, kept: str) -> None:
    body = part(f'name="file"; filename="{sent}"') + END
    made = await alice.post("/v1/files", content=body, headers=MULTIPART)
    assert made.status_code == 201, made.text
    assert made.json()["name"] == kept
    fetched = await alice.get(f"/v1/files/{made.json()['id']}")
    assert "\n" not in fetched.headers["content-disposition"]


@pytest.mark.slow
async def test_the_document_says_how_a_file_is_sent(alice: AsyncClient) -> None:
    paths = (await alice.get("/openapi.json")).json()["paths"]
    upload = paths["/v1/files"]["post"]
    schema = upload["requestBody"]["content"]["multipart/form-data"]["schema"]
    assert schema["required"] == ["file"]
    assert {"201", "400", "401", "413", "415", "422"} <= set(upload["responses"])
    assert {"200", "304", "404"} <= set(paths["/v1/files/{file}"]["get"]["responses"])


async def test_a_message_carries_files_of_its_senders_own(
    alice: AsyncClient, conversation: str
) -> None:
    mine = [(await send(alice, PDF, name)).json()["id"] for name in ("a.pdf", "b.pdf")]
    for body in ({"files": mine}, {"text": "这是收据", "files": mine[:1]}, {"text": "完了"}):
        assert (await alice.post(f"{conversation}/messages", json=body)).status_code == 200


async def test_a_file_of_anothers_goes_with_no_message(
    caller: As, alice: AsyncClient, conversation: str
) -> None:
    mine, bobs = [(await send(caller(who))).json()["id"] for who in ("alice", "bob")]
    body = {"text": "给", "files": [mine, bobs]}
    refused = problem(await alice.post(f"{conversation}/messages", json=body), 422)
    assert [one["field"] for one in refused["errors"]] == ["files.1"]
    assert (await alice.get(f"{conversation}/messages")).json()["items"] == []


async def test_a_message_with_other_files_is_another_message(
    alice: AsyncClient, conversation: str
) -> None:
    ids = [(await send(alice)).json()["id"] for _ in range(2)]
    path = f"{conversation}/messages"
    bodies = [{"text": "给", "files": [id_], "message_id": "m"} for id_ in (*ids, ids[0])]
    answers = [await alice.post(path, json=body) for body in bodies]
    assert [answer.status_code for answer in answers] == [200, 422, 200]
    assert answers[0].json() == answers[2].json()
