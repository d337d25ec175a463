"""What a tool answers, however strange: a write is done, a read is no use, each is called once."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from router.contracts.activities import ToolCall
from router.domain.errors import PermanentToolError, TransientToolError, UnusableResult
from router.domain.principals import Principal
from router.store.database import Database
from router.tool.tool import Tool, tool
from tests.fakes.web_server import Reply, WebServer
from tests.integration.activities.test_calling import House
from tests.unit.extensions.http.declaring import Folder, declaration

NOW = datetime(2026, 11, 22, 10, 0, tzinfo=UTC)
READER = Principal(id="alice", name="Alice", locale="en")


class Bench(House):
    """Calls one tool on behalf of a flow."""

    async def call(self, called: Tool, **more: Any) -> Any:
        about: dict[str, Any] = {"key": "k" if called.writes else "", "flow_run": "f/default/r"}
        call = ToolCall(tool=called.name, arguments={}, caller=READER, now=NOW, **{**about, **more})
        return await self.caller_of(called).call(call)

    async def outcomes(self) -> list[str]:
        return [outcome for _, _, outcome in await self.audited()]


@pytest.fixture
def bench(database: Database) -> Bench:
    return Bench(database)


def answers(body: str) -> Any:
    return lambda _: Reply([body.encode()], 200, {"content-type": "application/json"})


DEEP = "[" * 300 + "]" * 300
DEEPER = "[" * 700 + "]" * 700


@pytest.mark.parametrize("idempotent", [True, False])
@pytest.mark.parametrize(
    ("body", "result"),
    [
        (r'{"a": "x\ud800y"}', {"a": "xy"}),
        (r'{"a\u0000": "x\u0000y"}', {"a": "xy"}),
        (DEEP, "the result is nested deeper than 60 levels"),
        (DEEPER, "the result is nested deeper than 60 levels"),
        ("1e999", "a number that is no JSON: inf"),
        ("{nope", "says that it is JSON, and isn't"),
        (f'"{"x" * 70_000}"', "more than 65536"),
    ],
    ids=["surrogate", "NUL", "deep", "deeper", "infinite", "broken", "long"],
)
async def test_a_write_that_was_answered_is_done_and_sent_once(
    bench: Bench, tmp_path: Path, *, idempotent: bool, body: str, result: Any
) -> None:
    async with WebServer(answers(body)) as server:
        endpoint = {"url": server.origin, "method": "PUT"}
        data = declaration(endpoint=endpoint, idempotent=idempotent)
        put = Folder(tmp_path).tool(data, server.origin)
        first, again = [await bench.call(put) for _ in range(2)]
    assert first == again
    if isinstance(result, str):
        assert first["note"].startswith("it is done, only its result can't be given: ")
        assert result in first["note"]
    else:
        assert first == result
    assert [got.method for got in server.requests] == ["PUT"]
    assert await bench.outcomes() == ["done", "done"]


@pytest.mark.parametrize("body", [DEEP, DEEPER, "1e999"])
async def test_a_read_of_no_use_is_told_in_two_languages(
    bench: Bench, tmp_path: Path, body: str
) -> None:
    async with WebServer(answers(body)) as server:
        get = Folder(tmp_path).tool(declaration(endpoint={"url": server.origin}), server.origin)
        with pytest.raises(UnusableResult, match="the result ") as refused:
            await bench.call(get)
    assert refused.value.said.zh.startswith("结果")
    assert await bench.outcomes() == ["failed"]


def gives(value: Any, kind: Any, **options: Any) -> Tool:
    async def give() -> Any:
        """Give it."""
        return value

    give.__annotations__["return"] = kind
    return tool(**{"permission": "read", **options})(give)


async def test_a_code_tool_is_no_different(bench: Bench) -> None:
    odd = {"a\ud800": ["x\x00y"]}
    assert await bench.call(gives(odd, Any)) == {"a": ["xy"]}
    assert await bench.call(gives(odd, Any, permission="write")) == {"a": ["xy"]}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("value", "kind"), [("many", int), ({"n": 1}, list[int]), (object(), Any), (b"\xff", Any)]
)
async def test_a_result_of_another_type_is_told_so(bench: Bench, value: Any, kind: Any) -> None:
    said = "isn't of the type that the tool declares"
    with pytest.raises(PermanentToolError, match=said):
        await bench.call(gives(value, kind))
    done = await bench.call(gives(value, kind, permission="write"))
    assert said in done["note"]


async def test_what_breaks_around_it_is_audited(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def broken(key: str, result: Any) -> None:
        raise ZeroDivisionError("s3cr3t")

    monkeypatch.setattr(bench.store.ledger, "finish", broken)
    with pytest.raises(TransientToolError, match="under the reference") as failed:
        await bench.call(gives(1, int, permission="write"))
    assert "s3cr3t" not in failed.value.said.model_dump_json()
    assert await bench.outcomes() == ["failed"]
    assert (await bench.records())[0].detail.endswith("(ZeroDivisionError: s3cr3t)")


async def test_a_form_reads_on_where_a_flow_would_not(bench: Bench) -> None:
    page = await bench.call(gives(["x" * 100] * 2000, list[str]), form=True)
    assert (page["page"], bool(page["read_more"])) == (1, True)
