"""The API asked without a network: a request goes in as ASGI has it, and its answer comes out.

Everything behind it is real: Temporal's server with the smallest workflows that keep the contracts
(`tests.integration.api.workflows`), SQLite, the sample directory.
"""

import asyncio
import re
import tempfile
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field, replace
from typing import Any
from urllib.parse import quote, unquote
from uuid import uuid4

from fastapi import FastAPI
from sqlalchemy import Connection, Engine, event
from temporalio.client import Client
from temporalio.worker import Worker

from router.api.dependencies import Services
from router.contracts import flow
from router.runtime.server import create_app
from router.store.database import Database
from router.store.store import Store
from tests.databases import migrate
from tests.fuzz.entrance import Outcome
from tests.integration.api.conftest import QUEUE, Offering, capability, services_over
from tests.integration.api.test_runs import approval_record, run_record
from tests.integration.api.workflows import EchoConversation, OneApprovalFlow
from tests.temporal import dev_server, register_attributes
from workflows.document import DocumentWorkflow

PATIENCE = 60.0
"""Seconds until a request that isn't answered is a fault; only a busy machine is slow here."""
_PRINTABLE = "".join(map(chr, range(0x21, 0x7F)))
_WRITES = re.compile(
    r"\s*(?:INSERT(?: OR \w+)? INTO|REPLACE INTO|UPDATE|DELETE FROM)\s+\"?(\w+)", re.IGNORECASE
)


@dataclass
class Written:
    """The tables in which rows were changed, as far as it was committed."""

    tables: set[str] = field(default_factory=set)
    _open: dict[int, set[str]] = field(default_factory=dict)

    @contextmanager
    def noting(self) -> Iterator[None]:
        """Listen to every database of this process meanwhile."""
        heard: dict[str, Callable[..., Any]] = {
            "after_cursor_execute": self._executed,
            "commit": self._committed,
            "rollback": self._rolled_back,
        }
        for name, listener in heard.items():
            event.listen(Engine, name, listener)
        try:
            yield
        finally:
            for name, listener in heard.items():
                event.remove(Engine, name, listener)

    def taken(self) -> frozenset[str]:
        """Those since it was last asked."""
        found, self.tables = frozenset(self.tables), set()
        return found

    def _executed(self, connection: Connection, cursor: Any, statement: str, *_: Any) -> None:
        if (found := _WRITES.match(statement)) and cursor.rowcount != 0:
            self._open.setdefault(id(connection), set()).add(found[1])

    def _committed(self, connection: Connection) -> None:
        self.tables |= self._open.pop(id(connection), set())

    def _rolled_back(self, connection: Connection) -> None:
        self._open.pop(id(connection), None)


@dataclass
class Asked:
    """One request over ASGI, and its answer as far as it came."""

    app: FastAPI
    scope: dict[str, Any]
    body: bytes
    status: int = 0
    answer: bytearray = field(default_factory=bytearray)
    _given: bool = False
    _over: asyncio.Event = field(default_factory=asyncio.Event)

    async def outcome(self) -> tuple[int, str]:
        """Its status, and the beginning of what it says. Of events the first is enough."""
        try:
            async with asyncio.timeout(PATIENCE):
                await self.app(self.scope, self._receive, self._send)
        except Exception:
            # An application raises what it has answered with 500, for its server to log.
            if not self.status:
                raise
        return self.status, bytes(self.answer[:400]).decode("utf-8", "replace")

    async def _receive(self) -> dict[str, Any]:
        if not self._given:
            self._given = True
            return {"type": "http.request", "body": self.body, "more_body": False}
        await self._over.wait()
        return {"type": "http.disconnect"}

    async def _send(self, message: Any) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            kinds = dict(message["headers"])
            if b"text/event-stream" in kinds.get(b"content-type", b"") and self._is_endless:
                self._over.set()
        elif message["type"] == "http.response.body":
            if len(self.answer) < 400:
                self.answer += message.get("body", b"")
            if not message.get("more_body"):
                self._over.set()

    @property
    def _is_endless(self) -> bool:
        return bool(self.scope["method"] == "GET")


@dataclass
class Desk:
    """An API with something in it: a conversation of alice's, and her run that waits for bob."""

    services: Services
    store: Store
    temporal: Client
    written: Written
    apps: dict[str, FastAPI] = field(default_factory=dict)
    ids: dict[str, str] = field(default_factory=dict)

    def app(self, key: str = "", **changes: Any) -> FastAPI:
        """The API, or one whose services are others; the same one for the same key."""
        if key not in self.apps:
            self.apps[key] = create_app(replace(self.services, **changes))
        return self.apps[key]

    async def furnish(self) -> None:
        """Make what inputs can name: `{conversation}`, `{run}` and `{approval}`."""
        status, said = await self.ask(
            "POST", "/v1/conversations", {"authorization": "Bearer alice"}
        )
        assert status == 201, said
        record = run_record(uuid4().hex[:12])
        await self.temporal.start_workflow(
            flow.WORKFLOW, "bob", id=record.workflow_id, task_queue=QUEUE
        )
        approval = approval_record(record)
        await self.store.runs.publish(record, [approval])
        found = re.search(r'"id":"([^"]+)"', said)
        self.ids = {
            "conversation": found[1] if found else "",
            "run": record.id,
            "approval": approval.id,
        }

    async def ask(
        self,
        method: str,
        target: str,
        headers: Mapping[str, str],
        body: bytes = b"",
        app: FastAPI | None = None,
    ) -> tuple[int, str]:
        """What a request is answered with: its status, and the beginning of what it says."""
        target = quote(target, safe=_PRINTABLE) or "/"
        raw, _, query = target.partition("?")
        sent = {"host": "localhost", "content-length": str(len(body)), **headers}
        scope = {
            "type": "http",
            "asgi": {"version": "3.0", "spec_version": "2.3"},
            "http_version": "1.1",
            "method": method,
            "scheme": "http",
            "path": unquote(raw),
            "raw_path": raw.encode(),
            "query_string": query.encode(),
            "root_path": "",
            "headers": [(n.lower().encode(), _value(v)) for n, v in sent.items()],
            "client": ("127.0.0.1", 5),
            "server": ("localhost", 80),
        }
        return await Asked(app or self.app(), scope, body).outcome()

    async def take(self, data: bytes, app: FastAPI | None = None) -> Outcome:
        """Send what an input of the form `request` says.

        Its first line is `METHOD target who`, those below it are headers, then comes the body.
        """
        head, _, body = data.partition(b"\n\n")
        for name, id_ in self.ids.items():
            head, body = (
                part.replace(b"{%s}" % name.encode(), id_.encode()) for part in (head, body)
            )
        first, *lines = head.decode("utf-8", "replace").split("\n")
        method, target, who = (*first.split(" ", 2), "", "", "")[:3]
        method = re.sub(r"[^A-Z]", "", method.upper())[:10] or "GET"
        headers = {"content-type": "application/json"}
        if who.strip():
            headers["authorization"] = f"Bearer {who}"
        for line in lines[:20]:
            name, colon, value = line.partition(":")
            if colon and re.fullmatch(r"[\w-]{1,60}", name, re.ASCII):
                headers[name.lower()] = value.strip()
        headers.pop("content-length", None)
        return await self.outcome(self.ask(method, target[:4000], headers, body, app))

    async def outcome(self, asking: Any) -> Outcome:
        """What became of a request that is about to be sent, and of what it set off."""
        self.written.taken()
        others = asyncio.all_tasks()
        status, said = await asking
        await settled(others)
        return Outcome(status, self.written.taken(), said)


def _value(written: str) -> bytes:
    """A header's value as a server lets it through."""
    return re.sub(r"[\x00-\x1f\x7f]", "", written)[:4000].encode()


async def settled(others: "set[asyncio.Task[Any]]") -> None:
    """Once what the product goes on with by itself is done: what comes next has its own outcome.

    But for `others`, who were at work before: servers that share the loop never end.
    """
    going = [task for task in asyncio.all_tasks() - others if _is_ours(task)]
    if going:
        await asyncio.wait(going, timeout=PATIENCE)


def _is_ours(task: "asyncio.Task[Any]") -> bool:
    code = getattr(task.get_coro(), "cr_code", None)
    return code is not None and "/router/" in code.co_filename


async def _services(temporal: Client, store: Store) -> Services:
    offering = Offering(
        capability("flow", "leave_request"),
        capability("flow", "audit", "hr"),
        capability("skill", "policy-advisor"),
        capability("tool", "get_leave_balance"),
        capability("tool", "locate", client=True),
    )
    return await services_over(temporal, store, offering, 10_000_000)


@asynccontextmanager
async def desk() -> AsyncIterator[Desk]:
    """One of its own, as good as new; the one that is open already, for who asks within."""
    if _OPEN:
        yield _OPEN[0]
        return
    written = Written()
    workflows = [EchoConversation, OneApprovalFlow, DocumentWorkflow]
    with tempfile.TemporaryDirectory() as folder, written.noting():
        database = Database(f"sqlite:///{folder}/router.db")
        await migrate(database)
        store = Store(database)
        async with await dev_server() as environment:
            await register_attributes(environment.client)
            async with Worker(environment.client, task_queue=QUEUE, workflows=workflows):
                services = await _services(environment.client, store)
                made = Desk(services, store, environment.client, written)
                await made.furnish()
                _OPEN.append(made)
                try:
                    yield made
                finally:
                    _OPEN.clear()
        await store.aclose()
        await database.dispose()


_OPEN: list[Desk] = []
