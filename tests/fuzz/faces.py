"""Entrances of the API: REST, those that speak as others do, links in mails, outside events."""

from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

from pydantic import SecretStr

from router.extensions.mail.decision_links import DecisionLinks
from router.extensions.mail.settings import MailSettings
from router.runtime.server import openapi_document
from router.webhook.webhook_files import OtherSystems
from tests.fuzz.desk import desk
from tests.fuzz.entrance import Entrance, Outcome, Take, as_bytes, registered
from tests.integration.api import (
    test_configuration,
    test_files,
    test_isolation,
    test_prompts,
    test_webhooks,
)
from tests.integration.api.extensions.ag_ui import test_run
from tests.integration.api.extensions.authoring import (
    test_flow_drafts,
    test_flow_publications,
    test_flow_reviews,
)
from tests.integration.api.extensions.mcp_server import test_mcp
from tests.integration.api.extensions.openai import test_errors, test_requests
from tests.integration.api.extensions.openai.conftest import body as chat


def request(method: str, target: str, who: str, body: Any = b"", **headers: str) -> bytes:
    """An input that is a request."""
    named = "".join(f"\n{name.replace('_', '-')}: {value}" for name, value in headers.items())
    return f"{method.upper()} {target} {who}{named}\n\n".encode() + as_bytes(body)


@asynccontextmanager
async def _api() -> AsyncIterator[Take]:
    async with desk() as here:
        yield here.take


def _requests() -> Iterator[bytes]:
    """Every operation there is, and what tests send to some."""
    yield from _operations()
    yield from _forgeries()
    said = {"text": "我要请假", "message_id": "m-1"}
    actions = ({"type": "choose", "value": 1}, {"type": "form", "values": {"a": [1]}})
    for sent in (said, *({"action": action} for action in actions)):
        yield request("POST", "/v1/conversations/{conversation}/messages", "alice", sent)


def _operations() -> Iterator[bytes]:
    for (method, path), row in test_isolation.TABLE.items():
        yield request(method, path, row.owner, row.body if row.body is not None else b"")
    for path, operations in openapi_document()["paths"].items():
        for method in operations.keys() & test_isolation.METHODS:
            for who in ("alice", "olga"):
                yield request(method, path, who, b"" if method == "get" else b"{}")


def _forgeries() -> Iterator[bytes]:
    """What hostile tables have, a request each."""
    for at, body, _ in test_configuration.HOSTILE.values():
        yield request("PUT", f"{test_configuration.PATH}/{at}", "olga", body)
    for text in test_flow_drafts.HOSTILE.values():
        sent = {"flow": "overtime", "text": text}
        yield request("POST", f"{test_flow_drafts.PATH}/examination", "olga", sent)
    for body in test_flow_publications.HOSTILE:
        yield request("POST", "/v1/flow-publications/overtime", "olga", body)
    for body in test_flow_reviews.HOSTILE:
        yield request("POST", "/v1/flow-reviews", "olga", body)
    for body, _ in test_prompts.HOSTILE.values():
        yield request("PUT", "/v1/prompts/route/shares", "olga", body)
    for body, _ in test_files.HOSTILE.values():
        kind = test_files.MULTIPART["Content-Type"]
        yield request("POST", "/v1/files", "alice", body, content_type=kind)


registered(Entrance("rest", "every operation of the REST API", _api, _requests, "request"))


def _faced(path: str, tried: Callable[[], Iterator[Any]], **headers: str) -> Callable[[], Any]:
    def requests() -> Iterator[bytes]:
        for body in tried():
            yield request("POST", path, "alice", body, **headers)

    return requests


def _chats() -> Iterator[Any]:
    yield chat("hi")
    yield {**chat("hi"), "stream": True, "stream_options": {"include_usage": True}}
    yield from (sent for sent, _, _ in test_errors.HOSTILE.values())
    for text in test_requests.HOSTILE:
        yield chat(text)


registered(
    Entrance(
        "openai",
        "Chat Completions as OpenAI has them",
        _api,
        _faced("/v1/chat/completions", _chats),
        "request",
    )
)


def _runs() -> Iterator[Any]:
    about = {"threadId": "t1", "runId": "r1", "state": {}, "context": [], "forwardedProps": {}}
    whole = {**about, "messages": test_run.user("hello"), "tools": []}
    tool = {"name": "locate", "description": "Where they are.", "parameters": {"type": "object"}}
    yield whole
    yield {**whole, "tools": [tool], "resume": [test_run.entry(payload=True)]}
    for body, _ in test_run.REFUSED.values():
        yield whole | body if isinstance(body, dict) else body


registered(Entrance("ag-ui", "runs as AG-UI has them", _api, _faced("/ag-ui", _runs), "request"))


def _messages() -> Iterator[bytes]:
    accept = "application/json, text/event-stream"
    bodies = [test_mcp.message(each) for each in ("tools/list", "initialize", "ping")]
    bodies += [body for body, _ in test_mcp.HOSTILE.values()]
    bodies += [test_mcp.called("say", text="hi"), test_mcp.called("flow_runs")]
    for body in bodies:
        old = {"accept": accept, "mcp_protocol_version": test_mcp.HANDSHAKE}
        yield request("POST", "/mcp", "alice", body, **old)
        params = {"_meta": test_mcp.meta(elicitation={}), **body["params"]}
        new = {**old, "mcp_protocol_version": test_mcp.MODERN, "mcp_method": body["method"]}
        if isinstance(params.get("name"), str):
            new["mcp_name"] = params["name"]
        yield request("POST", "/mcp", "alice", {**body, "params": params}, **new)


registered(Entrance("mcp", "messages of the Model Context Protocol", _api, _messages, "request"))

# Links in mails

SECRET = SecretStr("what links in mails are signed with here")
LINKS = DecisionLinks(SECRET, 72)
MAIL = MailSettings(
    host="127.0.0.1",
    port=1,
    tls="none",
    sender="desk@example.com",
    public_url="http://127.0.0.1:1",
    link_secret=SECRET,
)


@asynccontextmanager
async def _mail() -> AsyncIterator[Take]:
    async with desk() as here:
        app = here.app("mail", settings=here.services.settings.having(MAIL))

        async def take(data: bytes) -> Outcome:
            now = datetime.now(UTC)
            approval = await here.store.runs.find_approval("default", here.ids["approval"])
            assert approval is not None
            due = approval.model_copy(update={"expires": now + timedelta(days=1)})
            tokens = {
                b"{link}": LINKS.token(due, now),
                b"{old}": LINKS.token(
                    due.model_copy(update={"expires": datetime(2020, 1, 1, tzinfo=UTC)}), now
                ),
                b"{stop}": LINKS.stopping("default", "bob"),
            }
            for name, token in tokens.items():
                data = data.replace(name, token.encode())
            return await here.take(data, app)

        yield take


def _links() -> Iterator[bytes]:
    kind = {"content_type": "application/x-www-form-urlencoded"}
    for place in ("decisions", "digests"):
        for token in ("{link}", "{old}", "{stop}", "x.y.z", "%00"):
            path = f"/adapters/mail/{place}/{token}"
            yield request("GET", path, "")
            yield request("POST", path, "", "decision=return&comment=more", **kind)


registered(Entrance("mail-links", "links that mails lead to", _mail, _links, "request"))

# Events from outside


@asynccontextmanager
async def _outside() -> AsyncIterator[Take]:
    async with desk() as here:
        sources = (test_webhooks.WAREHOUSE, test_webhooks.OTHERS)
        app = here.app("outside", systems=OtherSystems(telling=sources))
        number = 0

        async def take(data: bytes) -> Outcome:
            """The body is signed as it is, unless the input has a signature of its own."""
            nonlocal number
            number += 1
            head, _, body = data.partition(b"\n\n")
            if b"webhook-" not in head.lower():
                run, name = here.ids["run"], "arrived"
                text = body.decode("utf-8", "replace")
                body = text.encode()
                signed = test_webhooks.signed(test_webhooks.THEIRS, text, f"{run}/{name}/{number}")
                lines = "".join(f"\n{key}: {value}" for key, value in signed.items())
                head += lines.encode()
            return await here.take(head + b"\n\n" + body, app)

        yield take


def _events() -> Iterator[bytes]:
    path = "/v1/flow-runs/{run}/events/arrived"
    bodies: tuple[Any, ...] = ({"boxes": 2}, [], "{", {"boxes": "two"}, {"no": 1})
    for body in (*bodies, '{"boxes": 2, "boxes": 3}'):
        yield request("POST", path, "", body)
    forged = {
        "webhook_id": "{run}/arrived/1",
        "webhook_timestamp": "1",
        "webhook_signature": "v1,x",
    }
    yield request("POST", path, "", {"boxes": 2}, **forged)


registered(Entrance("outside-events", "what other systems tell runs", _outside, _events, "request"))
