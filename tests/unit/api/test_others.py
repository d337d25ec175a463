import asyncio
import re
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import timedelta

import httpx
import pytest
from fastapi import FastAPI

from router.api.deps import Services
from router.api.ownership import Ownership
from router.api.temporal import connect
from router.app import create_app
from router.domain.errors import NotFound, Unavailable
from router.domain.principals import Principal
from router.domain.records import ConversationRecord
from router.selection.index import CapabilityIndex
from router.settings import Settings
from router.store.database import Database
from router.store.store import Store
from tests.fakes.behaviours import Behaviour, fails
from tests.fakes.model_server import ModelServer
from tests.unit.api.conftest import As, capability, client_of
from tests.unit.selection.encoders import PairsEncoder

PAGE_FILE = re.compile(r'(?:src|href)="(/web/[^"]+)"|from "\./([^"]+)"')


class TestHealth:
    async def test_without_a_model_it_is_degraded(self, alice: httpx.AsyncClient) -> None:
        answer = await alice.get("/readyz")
        checks = answer.json()["checks"]
        assert (answer.status_code, answer.json()["status"]) == (200, "degraded")
        states = {name: check["status"] for name, check in checks.items()}
        assert states == {
            "temporal": "ready",
            "worker": "ready",
            "database": "ready",
            "llm": "degraded",
            "embedder": "ready",
        }
        assert (await alice.get("/healthz")).json() == {"status": "ok"}

    @pytest.mark.parametrize(
        ("listing", "status", "said"),
        [
            (None, "ready", "qwen at "),
            (fails(404), "ready", "qwen at "),
            (fails(503), "degraded", "answers 503"),
            (fails(401), "degraded", "refuses the key (401)"),
        ],
    )
    async def test_a_model_counts_where_its_server_answers(
        self, services: Services, listing: Behaviour | None, status: str, said: str
    ) -> None:
        async with ModelServer() as server:
            server.listing = listing or server.listing
            found = await self.llm(services, server.url)
        assert found["status"] == status
        assert said in found["detail"]

    async def test_a_model_that_is_out_of_reach_is_no_model(self, services: Services) -> None:
        found = await self.llm(services, "http://127.0.0.1:9/v1")
        assert found["status"] == "degraded"
        assert "can't be reached" in found["detail"]

    async def llm(self, services: Services, url: str) -> dict[str, str]:
        model = {"llm_base_url": url, "llm_model": "qwen"}
        settings = services.settings.model_copy(update=model)
        async with client_of(create_app(replace(services, settings=settings)), None) as client:
            checks: dict[str, dict[str, str]] = (await client.get("/readyz")).json()["checks"]
        return checks["llm"]

    async def test_an_encoder_that_fails_is_told(self, services: Services) -> None:
        encoder = PairsEncoder()
        encoder.broken = True
        index = CapabilityIndex(encoder)
        await index.update([capability("tool", "look")])
        async with client_of(create_app(replace(services, index=index)), None) as client:
            answer = (await client.get("/readyz")).json()
        assert answer["checks"]["embedder"]["status"] == "degraded"
        assert "out of reach" in answer["checks"]["embedder"]["detail"]

    async def test_without_a_worker_it_is_down(self, services: Services) -> None:
        settings = services.settings.model_copy(update={"task_queue": "deserted"})
        async with client_of(create_app(replace(services, settings=settings)), None) as client:
            answer = await client.get("/readyz")
        assert (answer.status_code, answer.json()["status"]) == (503, "down")
        assert "deserted" in answer.json()["checks"]["worker"]["detail"]

    async def test_without_a_database_it_is_down(self, services: Services) -> None:
        nowhere = Store(Database("postgresql://u:hunter2@127.0.0.1:9/router"))
        async with client_of(create_app(replace(services, store=nowhere)), None) as client:
            answer = await client.get("/readyz")
            assert (answer.status_code, answer.json()["status"]) == (503, "down")
            assert "hunter2" not in answer.text


class Wire:
    """A TCP wire to a server, which can be cut."""

    def __init__(self, host: str, port: int) -> None:
        self._there = (host, port)
        self._ends: set[asyncio.StreamWriter] = set()

    async def laid(self) -> str:
        self._server = await asyncio.start_server(self._join, "127.0.0.1", 0)
        return f"127.0.0.1:{self._server.sockets[0].getsockname()[1]}"

    async def cut(self) -> None:
        self._server.close()
        for end in self._ends:
            end.transport.abort()
        await asyncio.sleep(0.1)

    async def _join(self, near: asyncio.StreamReader, back: asyncio.StreamWriter) -> None:
        far, forth = await asyncio.open_connection(*self._there)
        self._ends |= {back, forth}
        await asyncio.gather(self._pass(near, forth), self._pass(far, back), return_exceptions=True)

    async def _pass(self, source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
        while data := await source.read(65536):
            sink.write(data)
            await sink.drain()
        sink.close()


class TestTemporalGone:
    @pytest.fixture
    async def client(self, services: Services) -> AsyncIterator[httpx.AsyncClient]:
        """The API with a Temporal client whose server went away."""
        host, _, port = services.temporal.service_client.config.target_host.rpartition(":")
        wire = Wire(host, int(port))
        settings = services.settings.model_copy(update={"temporal_address": await wire.laid()})
        temporal = await connect(settings)
        await wire.cut()
        async with client_of(create_app(replace(services, temporal=temporal)), "alice") as client:
            yield client

    async def test_what_needs_it_is_503_soon(self, client: httpx.AsyncClient) -> None:
        begun = (await client.post("/v1/conversations")).json()["id"]
        path = f"/v1/conversations/{begun}"
        for answer in (
            await client.get(path),
            await client.get(f"{path}/messages/m"),
            await client.post(f"{path}/cancel"),
            await client.post(f"{path}/messages?wait=0", json={"text": "hi"}),
        ):
            assert answer.status_code == 503
            assert answer.elapsed < timedelta(seconds=20)
            assert answer.headers["retry-after"]

    async def test_what_does_not_need_it_works(self, client: httpx.AsyncClient) -> None:
        for path in ("/v1/conversations", "/v1/flow-runs", "/v1/approvals", "/v1/capabilities"):
            assert (await client.get(path)).status_code == 200
        assert (await client.get("/readyz")).status_code == 503

    async def test_connecting_says_what_to_do(self) -> None:
        settings = Settings(temporal_address="127.0.0.1:9", _env_file=None)
        with pytest.raises(Unavailable, match="ROUTER_TEMPORAL_ADDRESS="):
            await connect(settings)


class TestCapabilities:
    async def test_they_are_the_callers_in_their_language(self, caller: As) -> None:
        items = (await caller("alice").get("/v1/capabilities")).json()["items"]
        parameters = items[0].pop("parameters")
        assert parameters["properties"]["start"] == {
            "title": "开始",
            "type": "string",
            "format": "date",
        }
        assert items[0] == {
            "kind": "flow",
            "name": "leave_request",
            "title": "leave_request 中文",
            "description": "leave_request 中文",
            "examples": ["办 leave_request"],
        }
        assert [item["name"] for item in items] == [
            "leave_request",
            "policy-advisor",
            "get_leave_balance",
            "locate",
            "tangle",
        ]
        theirs = (await caller("dave").get("/v1/capabilities?kind=flow")).json()["items"]
        assert [item["title"] for item in theirs] == ["leave_request English", "audit English"]
        skills = (await caller("dave").get("/v1/capabilities?kind=skill")).json()["items"]
        assert [item["title"] for item in skills] == ["policy-advisor English"]
        assert not {"permission", "parameters", "examples"} & set(skills[0])
        assert theirs[0]["examples"] == ["do leave_request"]
        tools = (await caller("dave").get("/v1/capabilities?kind=tool")).json()["items"]
        assert [each["name"] for each in tools if each.get("client")] == ["locate"]


class TestRoute:
    async def test_a_text_that_a_rule_takes(self, alice: httpx.AsyncClient) -> None:
        answer = await alice.post("/v1/route", json={"text": "我要请假"})
        assert answer.json() == {
            "text": "我要请假",
            "normalised": "我要请假",
            "patterns": [
                {"flow": "leave_request", "pattern": "请假", "span": [2, 4], "blocked_by": None}
            ],
            "entities": [],
            "candidates": [],
            "decision": {
                "kind": "flow",
                "target": "leave_request",
                "by": "pattern",
                "slots": {"leave_type": "annual"},
                "confidence": 1.0,
                "reason": "请假",
            },
        }

    async def test_a_text_that_no_rule_takes(self, alice: httpx.AsyncClient) -> None:
        decision = (await alice.post("/v1/route", json={"text": "天气如何"})).json()["decision"]
        assert (decision["kind"], decision["by"]) == ("clarify", "fallback")
        assert "slots" not in decision

    @pytest.mark.parametrize("body", [{}, {"text": " "}, {"text": "\x00"}, {"text": "a", "x": 1}])
    async def test_bad_texts(self, alice: httpx.AsyncClient, body: dict[str, str]) -> None:
        assert (await alice.post("/v1/route", json=body)).status_code == 422


class TestPage:
    @pytest.mark.parametrize("page", ["/", "/docs"])
    async def test_the_pages_and_all_they_are_made_of_are_here(
        self, alice: httpx.AsyncClient, page: str
    ) -> None:
        seen: set[str] = set()
        waiting = [page]
        while waiting:
            path = waiting.pop()
            answer = await alice.get(path)
            assert answer.status_code == 200, path
            assert "innerHTML" not in answer.text
            assert "default-src 'self'" in answer.headers["content-security-policy"]
            assert (
                not re.search(r"<script(?![^>]*src)| style=| on\w+=", answer.text) or ".js" in path
            )
            seen.add(path)
            found = (a or f"/web/{b}" for a, b in PAGE_FILE.findall(answer.text))
            waiting += [one for one in found if one not in seen]
        assert len(seen) > 3

    @pytest.mark.parametrize("file", ["app.js", "chat.js", "style.css", "index.html", "docs.js"])
    async def test_nothing_is_asked_of_other_hosts(
        self, alice: httpx.AsyncClient, file: str
    ) -> None:
        assert "://" not in (await alice.get(f"/web/{file}")).text

    async def test_head_is_answered(self, alice: httpx.AsyncClient) -> None:
        assert (await alice.head("/")).status_code == 200

    async def test_it_may_load_nothing_from_elsewhere(self, alice: httpx.AsyncClient) -> None:
        policy = (await alice.get("/")).headers["content-security-policy"]
        assert "default-src 'self'" in policy
        assert "img-src 'self' blob:" in policy
        assert "connect-src" not in policy
        assert "unsafe" not in policy
        config = (await alice.get("/web/config.json")).json()
        assert config == {"auth": "dev", "oidc": None}

    async def test_it_may_ask_the_issuer_where_there_is_one(self, services: Services) -> None:
        settings = Settings(
            auth="jwt",
            jwt_secret="x" * 32,
            oidc_issuer="https://id.example:8443/realms/house/",
            oidc_client_id="desk",
            _env_file=None,
        )
        async with client_of(create_app(replace(services, settings=settings)), None) as client:
            page, config = await client.get("/"), await client.get("/web/config.json")

        policy = page.headers["content-security-policy"]
        assert policy.endswith("; connect-src 'self' https://id.example:8443")
        assert config.json() == {
            "auth": "jwt",
            "oidc": {
                "issuer": "https://id.example:8443/realms/house",
                "client_id": "desk",
                "scope": "openid profile",
            },
        }

    async def test_everybody_may_know_who_they_are_and_whom_to_ask(self, caller: As) -> None:
        frank = caller("frank")
        assert (await frank.get("/v1/me")).json() == {
            "id": "frank",
            "name": "Frank Novak",
            "locale": "en",
            "roles": ["employee"],
        }
        people = (await frank.get("/v1/people")).json()
        assert people["next"] is None
        assert people["items"][0] == {"id": "alice", "name": "王丽 Alice", "department": "sales"}
        assert {person["id"] for person in people["items"]} > {"bob", "carol", "frank"}

    async def test_strangers_are_told_of_nobody(self, app: FastAPI) -> None:
        async with client_of(app, None) as client:
            for path in ("/v1/me", "/v1/people"):
                assert (await client.get(path)).status_code == 401

    async def test_dev_offers_people_to_be(self, app: FastAPI) -> None:
        async with client_of(app, None) as client:
            people = (await client.get("/v1/dev/users")).json()
        assert [person["id"] for person in people][:2] == ["alice", "bob"]


class CountingConversations:
    def __init__(self) -> None:
        self.asked = 0

    async def find(self, tenant: str, conversation: str) -> ConversationRecord | None:
        self.asked += 1
        if conversation == "none":
            return None
        return ConversationRecord.model_validate(
            {
                "id": conversation,
                "tenant": tenant,
                "owner": "alice",
                "locale": "zh",
                "created_at": "2026-01-01T00:00:00Z",
            }
        )


async def test_ownership_remembers_what_was_used_last() -> None:
    rows = CountingConversations()
    ownership = Ownership(rows, remembered=2)  # type: ignore[arg-type]
    alice = Principal(id="alice", name="Alice")
    for conversation in ("a", "b", "a", "a", "c", "a"):
        await ownership.owned(alice, conversation)
    assert rows.asked == 3
    await ownership.owned(alice, "b")
    assert rows.asked == 4
    for stranger, conversation in ((Principal(id="bob", name="Bob"), "a"), (alice, "none")):
        with pytest.raises(NotFound):
            await ownership.owned(stranger, conversation)
