import base64
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from httpx import AsyncClient
from jsonschema import Draft202012Validator

from router.api.dependencies import Services
from router.api.openapi import LINKS
from router.domain import errors
from router.domain.principals import Capability, Principal
from router.runtime.extensions import load_extensions
from tests.integration.api.conftest import PROBLEM, Offering, desk, problem
from tests.table import each_row

LISTS = ("conversations", "flow-runs", "approvals")
CURSORS = [
    base64.urlsafe_b64encode(position.encode()).decode().rstrip("=")
    for position in (
        r'["2026-11-23T00:00:00Z", "\u0000"]',
        r'["2026-11-23T00:00:00Z", "\ud800"]',
        r'["2026-11-23T00:00:00Z", "中"]',
        r'["2026-11-23T00:00:00Z", ""]',
        r'["2026-11-23T00:00:00", "x"]',
        r'["0001-01-01T00:00:00+14:00", "x"]',
        r'["9999-12-31T23:59:59-14:00", "x"]',
        r'[1e20, "x"]',
        "{}",
    )
]
"""In the shape of those that lists give, of one's own making."""
REFUSED = [
    ("GET", "/nowhere", 404),
    ("GET", "/v1/nowhere", 404),
    ("GET", "/v1/conversations/", 404),
    ("GET", "/web/../app.py", 404),
    ("GET", "/web/%2e%2e/app.py", 404),
    ("GET", "/web/nothing.js", 404),
    ("POST", "/web/app.js", 405),
    ("DELETE", "/v1/conversations", 405),
    ("PUT", "/healthz", 405),
    ("POST", "/", 405),
    ("GET", "/v1/route", 405),
    ("OPTIONS", "/v1/conversations", 405),
    ("GET", "/v1/conversations?limit=0", 422),
    ("GET", "/v1/conversations?limit=many", 422),
    ("GET", "/v1/conversations?after=%00", 422),
    ("GET", "/v1/conversations?after=notacursor", 422),
    ("GET", "/v1/conversations?after=%FF", 422),
    *(("GET", f"/v1/{of}?after={made}", 422) for of in LISTS for made in CURSORS),
    ("GET", "/v1/flow-runs?status=asleep", 422),
    ("GET", "/v1/flow-runs?flow=%00", 422),
    ("GET", "/v1/flow-runs?all=maybe", 422),
    ("GET", "/v1/flow-runs?since=0.5", 422),
    ("GET", "/v1/flow-runs?since=1763800000", 422),
    ("GET", "/v1/flow-runs?since=2026-11-23", 422),
    ("GET", "/v1/flow-runs?since=2026-11-23%2009:00:00Z", 422),
    ("GET", "/v1/flow-runs?quiet_since=0662-10-20T14:23:08-14:54", 422),
    ("GET", "/v1/capabilities?kind=magic", 422),
    ("GET", "/v1/approvals?limit=201", 422),
    ("GET", "/v1/conversations/%00", 404),
    ("GET", "/v1/conversations/%F0%9F%98%80", 404),
    ("GET", "/v1/conversations/" + "x" * 300, 404),
    ("GET", "/v1/flow-runs/%00", 404),
    ("GET", "/v1/flow-runs/nobody's", 404),
    ("POST", "/v1/flow-runs/none/withdraw", 404),
    ("POST", "/v1/flow-runs/none/nudge", 404),
]


@each_row(("method", "path", "status"), REFUSED)
async def test_refusals_are_problems(
    alice: AsyncClient, method: str, path: str, status: int
) -> None:
    answer = await alice.request(method, path)
    said = problem(answer, status)
    assert {"type", "title", "status", "detail"} <= set(said)
    assert bool(said.get("errors")) == (status == 422)
    assert status != 405 or answer.headers["allow"]


async def test_all_methods_of_an_address_are_allowed(alice: AsyncClient) -> None:
    """Also those of another route than the one that comes first."""
    paths = {
        "/v1/conversations": "GET, POST",
        "/v1/conversations/x/messages": "GET, POST",
        "/v1/conversations/x": "GET, DELETE",
        "/v1/chat/completions": "POST",
        "/v1/models": "GET",
        "/": "GET, HEAD",
    }
    for path, allowed in paths.items():
        for method in {"DELETE", "OPTIONS", "PATCH"} - set(allowed.split(", ")):
            answer = await alice.request(method, path)
            assert (answer.status_code, answer.headers["allow"]) == (405, allowed), (method, path)


CASES = [
    (errors.InvalidInput("x", [errors.FieldProblem("items.0", "bad")]), 422, {}),
    (errors.Unauthenticated("x"), 401, {"www-authenticate": 'Bearer realm="intent-router"'}),
    (errors.Forbidden("x"), 403, {}),
    (errors.NotFound("x"), 404, {}),
    (errors.Conflict("x"), 409, {}),
    (errors.DuplicateKey("x"), 422, {}),
    (errors.TooManyRequests("x", retry_after=7), 429, {"retry-after": "7"}),
    (errors.Unavailable("x"), 503, {"retry-after": "5"}),
    (errors.PermanentToolError("secret"), 500, {}),
    (RuntimeError("secret"), 500, {}),
]


class Failing(Offering):
    """Capabilities that nobody can be told of."""

    def __init__(self, error: Exception) -> None:
        self._error = error

    def visible_to(self, person: Principal) -> list[Capability]:
        raise self._error


@each_row(("error", "status", "headers"), CASES, ids=lambda c: str(c)[:30])
async def test_each_error_has_its_status(
    services: Services, error: Exception, status: int, headers: dict[str, str]
) -> None:
    async with desk(replace(services, offered=Failing(error)), "alice") as client:
        answer = await client.get("/v1/capabilities")
    assert "secret" not in str(problem(answer, status))
    assert headers.items() <= dict(answer.headers).items()


async def test_field_faults_are_named(alice: AsyncClient) -> None:
    body = {"locale": "fr", "colour": "red", "metadata": {"a": "\x07"}}
    said = problem(await alice.post("/v1/conversations", json=body), 422)
    assert {fault["field"] for fault in said["errors"]} == {"locale", "colour", "metadata.a"}


async def test_openapi_tells_of_problems_and_bearer_tokens(alice: AsyncClient) -> None:
    document = (await alice.get("/openapi.json")).json()
    schemas = document["components"]["schemas"]
    assert {"ProblemDetails", "FieldFault", "Turn", "FlowRun"} <= set(schemas)
    assert "HTTPValidationError" not in schemas
    send = document["paths"]["/v1/conversations/{conversation}/messages"]["post"]
    assert set(send["responses"]) >= {"200", "202", "400", "401", "404", "409", "422", "429"}
    assert send["responses"]["422"]["content"][PROBLEM]["schema"]["$ref"].endswith("ProblemDetails")
    assert send["security"] == [{"HTTPBearer": []}]
    assert "/v1/dev/users" not in document["paths"]


@pytest.mark.slow
async def test_openapi_says_what_may_be_said(alice: AsyncClient) -> None:
    """The patterns of the document and the checks of the API are of one mind."""
    schemas = (await alice.get("/openapi.json")).json()["components"]["schemas"]
    said = Draft202012Validator(schemas["SaidText"])
    taken = ("a", " 你好 ", "a\tb\n", "\u200b.", "x" * 8000, "-", "]", "\\", "^", "😀")
    refused = ("", " \n", "\u200b\u00a0", "\u3000", "a\rb", "\x00", "\x7f.", "\x85.", "x" * 8001)
    for text in (*taken, *refused, "\U000e0001"):
        assert said.is_valid(text) == (text in taken), text
        answer = await alice.post("/v1/route", json={"text": text})
        assert answer.status_code == (200 if text in taken else 422)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("path", "schema", "taken", "refused"),
    [
        (
            "/v1/conversations",
            "NewConversation",
            {"metadata": {"a\tb": [{"": None}]}},
            [
                {"metadata": {"a\x9b": None}},
                {"metadata": {"a": {"\x00": 1}}},
                {"metadata": {"a": ["\x7f"]}},
                {"metadata": {f"n{number}": 1 for number in range(33)}},
            ],
        ),
        (
            "/v1/conversations/{conversation}/messages",
            "MessageBody",
            {"action": {"type": "choose", "value": {"a": "\n"}}},
            [
                {"action": {"type": "start", "flow": "\x83"}},
                {"action": {"type": "form", "values": {"\x90": 1}}, "text": "both"},
                {"action": {"type": "choose", "value": {"\x1b": 1}}},
                {"action": {"type": "tool_result", "tool_call_id": "\x00", "result": None}},
            ],
        ),
    ],
)
async def test_openapi_says_which_names_and_values_are_taken(
    alice: AsyncClient,
    conversation: str,
    path: str,
    schema: str,
    taken: dict[str, Any],
    refused: list[dict[str, Any]],
) -> None:
    document = (await alice.get("/openapi.json")).json()
    wanted = Draft202012Validator({**document, "$ref": f"#/components/schemas/{schema}"})
    address = conversation + path.partition("{conversation}")[2] if "{" in path else path
    for body in (taken, *refused):
        assert wanted.is_valid(body) == (body is taken), body
        answer = await alice.post(address, json=body)
        assert answer.status_code in ({200, 201} if body is taken else {422}), body


async def test_openapi_links_answers_to_what_follows_from_them(alice: AsyncClient) -> None:
    document = (await alice.get("/openapi.json")).json()
    operations = {
        operation["operationId"]: {parameter["name"] for parameter in operation["parameters"]}
        for methods in document["paths"].values()
        for operation in methods.values()
        if "parameters" in operation
    }
    begun = document["paths"]["/v1/conversations"]["post"]["responses"]["201"]["links"]
    assert begun["post_conversations_conversation_messages"]["parameters"] == {
        "conversation": "$response.body#/id"
    }
    links = [link for part in _dicts(document) for link in part.get("links", {}).values()]
    of_extensions = [link for each in load_extensions() for link in each.routes().links]
    assert len(links) == len(LINKS) + len(of_extensions)
    assert all(link["parameters"].keys() <= operations[link["operationId"]] for link in links)


def _dicts(value: Any) -> Iterator[dict[str, Any]]:
    if isinstance(value, dict):
        yield value
        value = list(value.values())
    for part in value if isinstance(value, list) else ():
        yield from _dicts(part)
