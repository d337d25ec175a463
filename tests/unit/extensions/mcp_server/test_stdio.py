"""The way from stdin to `/mcp`: whatever a program writes, its connection isn't ended by it."""

from typing import Any

import httpx2
import pytest
from mcp_types import PROTOCOL_VERSION_META_KEY, JSONRPCRequest

from router.extensions.mcp_server.stdio import Bridge, ReportedTransport

REVISION = {PROTOCOL_VERSION_META_KEY: "2026-07-28"}
METAS: list[Any] = [[], "x", 7, {PROTOCOL_VERSION_META_KEY: 7}]
NAMES: list[Any] = [7, None, [], {}, ""]
STRANGE: list[dict[str, Any] | None] = [
    *({"_meta": wrong} for wrong in METAS),
    *({"_meta": REVISION, "name": wrong} for wrong in NAMES),
    *(None, {}),
]


@pytest.mark.parametrize("params", STRANGE)
def test_what_a_program_writes_wrong_is_passed_on_for_the_desk_to_refuse(
    params: dict[str, Any] | None,
) -> None:
    message = JSONRPCRequest(jsonrpc="2.0", id=1, method="tools/call", params=params)
    headers = Bridge()._headers(message)
    assert all(isinstance(value, str) and value for value in headers.values())


def test_a_name_goes_into_its_header() -> None:
    params = {"_meta": REVISION, "name": "leave_request"}
    message = JSONRPCRequest(jsonrpc="2.0", id=1, method="tools/call", params=params)
    assert Bridge()._headers(message)["mcp-name"] == "leave_request"


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ('{"detail": "no such person"}', "no such person"),
        *((strange, "it answered 403") for strange in ("{}", "[]", "7", '{"detail": null}')),
    ],
)
async def test_a_refusal_of_whoever_stands_between_is_an_answer(body: str, said: str) -> None:
    transport = ReportedTransport("http://127.0.0.1:9")
    headers = {"content-type": "application/problem+json"}
    transport._inner = httpx2.MockTransport(
        lambda _: httpx2.Response(403, text=body, headers=headers)
    )  # type: ignore[assignment]
    answer = await transport.handle_async_request(httpx2.Request("POST", "http://127.0.0.1:9/mcp"))
    assert answer.json()["error"]["message"] == said
