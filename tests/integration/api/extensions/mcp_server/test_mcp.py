"""`/mcp` as a program on the wire meets it: what is refused, and what isn't another's to reach."""

import asyncio
import json
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import pytest
from fastapi import FastAPI
from httpx import AsyncClient, Response

from router.api.auth import CallerSession
from router.api.dependencies import Services
from router.directory.file import FileDirectory
from router.extensions.mcp_server.settings import McpServerSettings
from router.runtime.server import create_app
from tests.integration.api.conftest import QUEUE, As, client_of, desk, problem, served
from tests.integration.api.test_operators import among_us
from tests.integration.api.test_tokens import ISSUER, settings, signed
from tests.table import each_row
from tests.waiting import HANGS_AFTER_S

PATH = "/mcp"
ACCEPT = {"Accept": "application/json, text/event-stream"}
MODERN, HANDSHAKE = "2026-07-28", "2025-11-25"
FORMS: dict[str, Any] = {"elicitation": {"form": {}}}


def meta(**capabilities: Any) -> dict[str, Any]:
    return {
        "io.modelcontextprotocol/protocolVersion": MODERN,
        "io.modelcontextprotocol/clientCapabilities": capabilities,
    }


def message(method: str, **params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": 7, "method": method, "params": params}


def called(tool: str, **arguments: Any) -> dict[str, Any]:
    return message("tools/call", name=tool, arguments=arguments)


async def sent(client: AsyncClient, body: Any, revision: str, **more: str) -> Response:
    """The answer to a message of this revision, with what HTTP wants of it."""
    headers = {**ACCEPT, "MCP-Protocol-Version": revision}
    if revision == MODERN and isinstance(body, dict):
        params = body.get("params")
        if isinstance(params, dict):
            body = {**body, "params": {"_meta": meta(), **params}}
            name = params.get("name", params.get("uri"))
            headers |= {"Mcp-Name": name} if isinstance(name, str) else {}
        headers |= {"Mcp-Method": str(body.get("method"))}
    return await client.post(PATH, json=body, headers={**headers, **more})


def result_of(answer: Response) -> dict[str, Any]:
    assert answer.status_code == 200, answer.text
    told = answer.json()
    assert told["id"] == 7
    return dict(told["result"])


def refusal_of(answer: Response) -> str:
    result = result_of(answer)
    assert result["isError"]
    return str(result["content"][0]["text"])


REVISIONS = [MODERN, HANDSHAKE]


@each_row("revision", REVISIONS)
async def test_who_is_nobody_is_told_who_gives_tokens(app: FastAPI, revision: str) -> None:
    for token in (None, "nobody-of-ours"):
        answer = await sent(client_of(app, token), message("tools/list"), revision)
        problem(answer, 401)
        challenge = answer.headers["www-authenticate"]
        url = "http://localhost/.well-known/oauth-protected-resource/mcp"
        assert challenge == f'Bearer realm="intent-router", resource_metadata="{url}"'
    described = (await client_of(app, None).get(url)).json()
    assert described["resource"] == "http://localhost/mcp"
    assert "authorization_servers" not in described
    elsewhere = await client_of(app, None).get("/v1/capabilities")
    assert elsewhere.headers["www-authenticate"] == 'Bearer realm="intent-router"'


TOKENS = {
    "expired": {"exp": int(time.time()) - 120},
    "another issuer's": {"iss": "https://evil.example"},
    "another audience's": {"aud": "other"},
    "nobody's": {"sub": "nobody"},
}


@each_row("about", TOKENS.values(), ids=TOKENS.keys())
async def test_tokens_are_those_of_rest(services: Services, about: dict[str, Any]) -> None:
    app = create_app(replace(services, settings=settings()))
    fine = await sent(client_of(app, signed()), message("tools/list"), MODERN)
    assert "leave_request" in {tool["name"] for tool in result_of(fine)["tools"]}
    refused = await sent(client_of(app, signed(**about)), message("tools/list"), MODERN)
    problem(refused, 401)
    where = await client_of(app, None).get("/.well-known/oauth-protected-resource")
    assert where.json()["authorization_servers"] == [ISSUER]


PLACES: dict[str, tuple[dict[str, str], int]] = {
    "this machine": ({}, 200),
    "its page": ({"Origin": "http://localhost"}, 200),
    "another's page": ({"Origin": "https://evil.example"}, 403),
    "no page": ({"Origin": "null"}, 403),
    "a name that leads here": ({"Host": "evil.example"}, 421),
    "that name, and a page of it": (
        {"Host": "evil.example", "Origin": "http://evil.example"},
        421,
    ),
    "its own name": ({"Host": "desk.example.com"}, 200),
    "a page of its own name": (
        {"Host": "desk.example.com", "Origin": "https://desk.example.com"},
        200,
    ),
    "its own name, and another's page": (
        {"Host": "desk.example.com", "Origin": "https://evil.example"},
        403,
    ),
}


@pytest.mark.slow
@each_row("revision", REVISIONS)
@each_row(("headers", "status"), PLACES.values(), ids=PLACES.keys())
async def test_pages_of_others_reach_nothing(
    services: Services, headers: dict[str, str], status: int, revision: str
) -> None:
    named = settings().having(McpServerSettings(url="https://desk.example.com/mcp"))
    client = client_of(create_app(replace(services, settings=named)), signed())
    answer = await sent(client, message("tools/list"), revision, **headers)
    assert answer.status_code == status, answer.text
    if status != 200:
        problem(answer, status)
        assert "evil.example" in answer.text or "null" in answer.text


async def test_who_gives_tokens_stands_where_a_proxy_has_the_desk(services: Services) -> None:
    """The path that the challenge names is served, and no other."""
    for url, path in [
        ("https://a.example/desk/mcp", "/desk/mcp"),
        ("https://a.example/assistants/", "/assistants"),
        ("https://a.example", ""),
    ]:
        app = create_app(replace(services, settings=settings().having(McpServerSettings(url=url))))
        client = client_of(app, None)
        refused = await sent(client, message("tools/list"), MODERN, Host="a.example")
        named = refused.headers["www-authenticate"].partition('resource_metadata="')[2].rstrip('"')
        where = named.removeprefix("https://a.example")
        assert where == f"/.well-known/oauth-protected-resource{path}"
        assert (await client.get(where)).json()["resource"] == url.rstrip("/")
        problem(await client.get("/.well-known/oauth-protected-resource/elsewhere"), 404)


async def test_under_dev_a_name_that_leads_here_reaches_nothing(caller: As) -> None:
    answer = await sent(caller("alice"), message("tools/list"), MODERN, Host="evil.example")
    problem(answer, 403)


NO_MESSAGES: dict[str, Any] = {
    "nothing": b"",
    "no JSON": b"{",
    "no object": b"7",
    "a string": b'"tools/list"',
    "a batch": json.dumps([message("tools/list")]).encode(),
    "no method": json.dumps({"jsonrpc": "2.0", "id": 7}).encode(),
    "another protocol": json.dumps({**message("tools/list"), "jsonrpc": "1.0"}).encode(),
    "an id of another type": json.dumps({**message("tools/list"), "id": {}}).encode(),
    "deep": b"[" * 20_000,
    "a number of 5,000 digits": b'{"jsonrpc": "2.0", "id": ' + b"9" * 5_000 + b"}",
}


@each_row("revision", REVISIONS)
@each_row("body", NO_MESSAGES.values(), ids=NO_MESSAGES.keys())
async def test_what_is_no_message_is_refused(caller: As, body: bytes, revision: str) -> None:
    headers = {**ACCEPT, "MCP-Protocol-Version": revision, "Content-Type": "application/json"}
    answer = await caller("alice").post(PATH, content=body, headers=headers)
    assert answer.status_code == 400, answer.text
    assert answer.json()["error"]["code"] in {-32700, -32600}


@each_row("revision", REVISIONS)
async def test_a_body_has_bounds(caller: As, revision: str) -> None:
    answer = await sent(caller("alice"), called("say", text="长" * 70_000), revision)
    problem(answer, 413)


@each_row("method", ["GET", "DELETE", "PUT", "PATCH"])
async def test_nothing_is_held_between_requests(caller: As, method: str) -> None:
    answer = await caller("alice").request(method, PATH, headers=ACCEPT)
    problem(answer, 405)
    assert answer.headers["allow"] == "POST"


WRONG: dict[str, tuple[dict[str, Any], int]] = {
    "an unknown method": (message("tools/drop"), -32601),
    "a method of the client's": (message("elicitation/create"), -32601),
    "no name": (message("tools/call"), -32602),
    "arguments of another type": (message("tools/call", name="say", arguments=[]), -32602),
    "a cursor of another type": (message("tools/list", cursor={}), -32602),
    "no address": (message("resources/read"), -32602),
}


@each_row("revision", REVISIONS)
@each_row(("body", "code"), WRONG.values(), ids=WRONG.keys())
async def test_what_the_protocol_does_not_have_is_an_error_of_it(
    caller: As, body: dict[str, Any], code: int, revision: str
) -> None:
    answer = await sent(caller("alice"), body, revision)
    assert answer.status_code in {200, 400, 404}
    assert (answer.json()["id"], answer.json()["error"]["code"]) == (7, code)


HOSTILE: dict[str, tuple[dict[str, Any], str]] = {
    "an unknown tool": (called("drop_everything"), "没有这个工具"),
    "another role's tool": (called("audit"), "没有这个工具"),
    "a skill of another role's": (called("named-alone", request="x"), "没有这个工具"),
    "a skill that nobody is told of": (called("untold", request="x"), "没有这个工具"),
    "a front end's tool": (called("locate"), "没有这个工具"),
    "a tool that no form can ask for": (called("tangle"), "没有这个工具"),
    "an empty name": (called(""), "没有这个工具"),
    "no text": (called("say"), "'text' is a required property"),
    "text of another type": (called("say", text=["a"]), "text"),
    "only white space": (called("say", text="  \n"), "text"),
    "a control character": (called("say", text="a\x1bb"), "text"),
    "too much": (called("say", text="a" * 8_001), "text"),
    "a name nobody declared": (called("say", text="hi", user="bob"), "'user' isn't known here"),
    "no conversation of theirs": (called("say", text="hi", conversation="../v1"), "no such"),
    "a conversation with a NUL": (called("say", text="hi", conversation="\x00"), "no such"),
    "no question": (called("confirm", value=True, conversation="c"), "'question' is a required"),
    "a yes of another type": (
        called("confirm", value="yes", conversation="c", question="q"),
        "value",
    ),
    "no approval": (called("decide", approval="none"), "no such approval"),
    "a message that isn't": (called("turn", conversation="c", message_id="m"), "no such"),
    "a status that isn't": (called("flow_runs", status="all"), "status"),
    "a slot of another type": (called("leave_request", leave_type=7), "leave_type"),
}


@each_row("revision", REVISIONS)
@each_row(("body", "said"), HOSTILE.values(), ids=HOSTILE.keys())
async def test_what_cannot_be_is_told_and_changes_nothing(
    caller: As, body: dict[str, Any], said: str, revision: str
) -> None:
    alice = caller("alice")
    before = (await alice.get("/v1/conversations?limit=200")).json()["items"]
    assert said in refusal_of(await sent(alice, body, revision))
    after = (await alice.get("/v1/conversations?limit=200")).json()["items"]
    assert [each["id"] for each in after] == [each["id"] for each in before]


STATES: dict[str, Any] = {
    "nothing": "",
    "no JSON": "alice",
    "no object": "[]",
    "a field that isn't": '{"question": "q", "user": "bob"}',
    "a conversation with a NUL": '{"question": "q", "conversation": "\\u0000"}',
    "a conversation that isn't": '{"question": "q", "conversation": "never-was"}',
    "neither": '{"question": "q"}',
    "a round below none": '{"question": "q", "conversation": "c", "round": -1}',
    "huge": '{"question": "' + "q" * 5_000 + '"}',
}


@each_row("state", STATES.values(), ids=STATES.keys())
async def test_a_state_that_the_desk_never_gave_does_nothing(caller: As, state: str) -> None:
    answer = {"question": {"action": "accept", "content": {"confirmed": True}}}
    given = {"name": "say", "arguments": {"text": "hi"}, "_meta": meta(**FORMS)}
    for more in ({"requestState": state, "inputResponses": answer}, {"requestState": state}):
        body = message("tools/call", **given, **more)
        refusal_of(await sent(caller("alice"), body, MODERN))


async def test_headers_and_body_say_the_same(caller: As) -> None:
    body = message("tools/call", name="say", arguments={"text": "hi"}, _meta=meta())
    headers = {**ACCEPT, "MCP-Protocol-Version": MODERN, "Mcp-Method": "tools/call"}
    other = await caller("alice").post(PATH, json=body, headers={**headers, "Mcp-Name": "turn"})
    assert other.status_code == 400
    unknown = await sent(caller("alice"), message("tools/list"), "2031-01-01")
    assert unknown.status_code == 400


class TestHandshake:
    """Sessions of the revisions before: nothing of them is held anywhere."""

    async def begun(self, client: AsyncClient, **capabilities: Any) -> str:
        about = {"protocolVersion": HANDSHAKE, "clientInfo": {"name": "t", "version": "1"}}
        body = message("initialize", **about, capabilities=capabilities)
        answer = await client.post(PATH, json=body, headers=ACCEPT)
        assert result_of(answer)["protocolVersion"] == HANDSHAKE
        return str(answer.headers["mcp-session-id"])

    @pytest.mark.parametrize("session", ["x", "a.forms", f"{'a' * 24}.all", "..", "é"])
    async def test_a_session_that_never_began_is_not_there(self, caller: As, session: str) -> None:
        named = {**ACCEPT, "MCP-Protocol-Version": HANDSHAKE, "Mcp-Session-Id": session}
        headers = [(name.encode(), value.encode()) for name, value in named.items()]
        answer = await caller("alice").post(PATH, json=message("ping"), headers=headers)
        assert answer.status_code == 404

    async def test_a_session_says_whether_forms_are_shown_and_nothing_else(
        self, caller: As
    ) -> None:
        alice, bob = caller("alice"), caller("bob")
        plain, forms = await self.begun(alice), await self.begun(alice, **FORMS)
        for client in (alice, bob):
            for session, tool in ((plain, "confirm"), (forms, "decide")):
                listed = await sent(
                    client, message("tools/list"), HANDSHAKE, **{"Mcp-Session-Id": session}
                )
                names = {each["name"] for each in result_of(listed)["tools"]}
                assert names & {"confirm", "decide"} == {tool}

    async def test_answers_to_nothing_that_was_asked_are_passed_over(self, caller: As) -> None:
        session = await self.begun(caller("alice"), **FORMS)
        for id_ in (1, "a" * 24, "x" * 500, "\x00"):
            body = {"jsonrpc": "2.0", "id": id_, "result": {"action": "accept"}}
            answer = await sent(caller("alice"), body, HANDSHAKE, **{"Mcp-Session-Id": session})
            assert (answer.status_code, answer.text) == (202, "")

    async def test_notifications_are_taken_and_do_nothing(self, caller: As) -> None:
        body = {"jsonrpc": "2.0", "method": "notifications/initialized"}
        assert (await sent(caller("alice"), body, HANDSHAKE)).status_code == 202

    @pytest.mark.parametrize("accept", ["application/json", "text/event-stream", "text/html"])
    async def test_a_program_takes_both_shapes(self, caller: As, accept: str) -> None:
        answer = await sent(caller("alice"), message("ping"), HANDSHAKE, Accept=accept)
        assert answer.status_code == 406

    async def test_what_is_sent_is_json(self, caller: As) -> None:
        headers = {**ACCEPT, "MCP-Protocol-Version": HANDSHAKE, "Content-Type": "text/plain"}
        answer = await caller("alice").post(PATH, content=b"{}", headers=headers)
        assert answer.status_code == 415


async def test_a_service_account_has_no_requests_of_its_own(services: Services) -> None:
    people = "users:\n  - {id: webui, name: Web UI, roles: [service]}\n"
    app = create_app(replace(services, directory=FileDirectory.read(people, "people")))
    answer = await sent(client_of(app, "webui"), message("tools/list"), MODERN)
    assert "service account" in problem(answer, 403)["detail"]


async def test_many_requests_are_too_many(services: Services) -> None:
    client = desk(services, "alice", user_requests_per_minute=2)
    answers = [await sent(client, message("tools/list"), MODERN) for _ in "abc"]
    assert [each.status_code for each in answers] == [200, 200, 429]


async def test_a_repeat_with_the_same_key_does_nothing_twice(caller: As, unique: str) -> None:
    key = {"Idempotency-Key": unique}
    told = [
        result_of(await sent(caller("alice"), called("say", text="你好"), MODERN, **key))
        for _ in "ab"
    ]
    first, second = (each["structuredContent"] for each in told)
    assert (first["conversation"], first["turn"]) == (second["conversation"], second["turn"])


class TestSubscriptions:
    """A stream of news lasts as long as what let it begin."""

    @staticmethod
    @asynccontextmanager
    async def opened(services: Services, token: str) -> AsyncIterator[AsyncIterator[str]]:
        """The lines of one, opened with this token at an API of its own."""
        wanted = {"notifications": {"resourcesListChanged": True}, "_meta": meta()}
        headers = {**ACCEPT, "Authorization": f"Bearer {token}", "MCP-Protocol-Version": MODERN}
        headers |= {"Mcp-Method": "subscriptions/listen"}
        body = message("subscriptions/listen", **wanted)
        async with (
            served(create_app(services)) as address,
            AsyncClient(base_url=address, headers=headers, timeout=60) as client,
            client.stream("POST", PATH, json=body) as answer,
        ):
            assert answer.status_code == 200
            yield (line async for line in answer.aiter_lines() if line.startswith("data: "))

    async def test_it_ends_with_its_token(self, services: Services, unique: str) -> None:
        ends = int(time.time()) + 2
        person = among_us(services, unique, "clerk")
        there = replace(person, settings=settings(task_queue=QUEUE))
        async with self.opened(there, signed(sub=unique, exp=ends)) as lines:
            async with asyncio.timeout(HANGS_AFTER_S):
                told = [json.loads(line.removeprefix("data: ")) async for line in lines]
        assert [each.get("method", "its end") for each in told] == [
            "notifications/subscriptions/acknowledged",
            "its end",
        ]
        assert time.time() >= ends

    async def test_it_ends_once_its_person_is_gone(
        self, services: Services, unique: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("router.api.streams.HEARTBEAT", 0.05)
        there = among_us(services, unique, "clerk")
        async with self.opened(there, unique) as lines, asyncio.timeout(HANGS_AFTER_S):
            assert "acknowledged" in await anext(lines)
            monkeypatch.setattr(there.directory, "_people", {})
            assert [json.loads(line.removeprefix("data: "))["id"] async for line in lines] == [7]

    async def test_it_ends_with_a_fault_and_is_not_silent_for_good(
        self, services: Services, unique: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("router.api.streams.HEARTBEAT", 0.05)
        there = among_us(services, unique, "clerk")
        async with self.opened(there, unique) as lines, asyncio.timeout(HANGS_AFTER_S):
            assert "acknowledged" in await anext(lines)
            monkeypatch.setattr(CallerSession, "lasts", lambda _: 1 / 0)
            assert [json.loads(line.removeprefix("data: "))["id"] async for line in lines] == [7]


async def test_a_request_is_answered_though_its_token_has_just_ended(services: Services) -> None:
    token = signed(exp=int(time.time()) - 5)  # within what clocks may differ by
    client = client_of(create_app(replace(services, settings=settings())), token)
    for revision in REVISIONS:
        assert result_of(await sent(client, message("tools/list"), revision))["tools"]
