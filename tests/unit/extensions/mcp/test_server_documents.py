"""Tenants' documents that declare MCP servers: what they may say, and what becomes of it."""

import json

import pytest

from router.directory.tenants import Origins, SelectionOfNames, TenantEntry
from router.domain.configuration_documents import DocumentKind
from router.domain.errors import DefinitionError
from tests.table import each_row
from tests.unit.runtime.documents import Desk, calling, said, server
from tests.unit.runtime.editions import desk, house, settings

__all__ = ["desk", "house", "settings"]


def servers(count: int) -> str:
    each = {"url": "https://crm.example.com/mcp"}
    return json.dumps({f"crm{n}": each for n in range(count)})


REFUSED: dict[str, tuple[list[tuple[DocumentKind, str, str]], str]] = {
    "a-program": (
        [("servers", "crm", '{"crm": {"command": "sh"}}')],
        "servers/crm.json:1: no program is started for a document",
    ),
    "a-server-at-a-private-address": (
        [("servers", "crm", server(url="https://10.0.0.1/mcp"))],
        "10.0.0.1, which isn't public",
    ),
    "a-server-over-plain-http": (
        [("servers", "crm", server(url="http://crm.example.com/mcp"))],
        "servers/crm.json:3: http://crm.example.com isn't https",
    ),
    "a-server-with-a-password": (
        [("servers", "crm", server(url="https://me:secret@crm.example.com/mcp"))],
        "it has a name or password before the host",
    ),
    "a-server-with-the-house-s-secret": (
        [("servers", "crm", server(headers={"Authorization": "{env.ROUTER_TOOL_SECRET}"}))],
        "ROUTER_TOOL_SECRET isn't set",
    ),
    "two-of-one-server": (
        [("servers", "a", server()), ("servers", "b", server())],
        "there are tools already whose names begin with crm__; give the MCP server crm",
    ),
    "servers-without-end": (
        [("servers", "many", servers(21))],
        "a tenant has at most 20 systems in its servers",
    ),
    "a-key-that-servers-have-not": ([("servers", "crm", server(user="x"))], "there is no key user"),
}


@pytest.mark.slow
@each_row(("documents", "why"), REFUSED.values(), ids=REFUSED)
def test_what_does_not_fit_is_refused_at_its_place(
    desk: Desk, documents: list[tuple[DocumentKind, str, str]], why: str
) -> None:
    draft = desk(*documents)
    assert why in said(draft.problems)
    with pytest.raises(DefinitionError):
        draft.edition(has_model=False)


def test_a_flow_may_call_what_an_mcp_server_of_a_document_is_yet_to_list(desk: Desk) -> None:
    flow = calling("crm__find")
    known = desk(("flows", "overtime", flow), ("servers", "crm", server()))
    assert known.problems == []
    assert "crm__" in known.capabilities.registry.prefixes
    assert "crm__find" in said(desk(("flows", "overtime", flow)).problems)


@each_row(
    ("tools", "fits"),
    [(["*"], True), (["crm__*"], True), (["crm__find"], True), (["get_leave_balance"], False)],
)
def test_a_tenant_has_the_servers_whose_tools_the_house_gives_it(
    desk: Desk, tools: list[str], *, fits: bool
) -> None:
    entry = TenantEntry(tools=SelectionOfNames(only=tools))
    draft = desk(("servers", "crm", server()), entry=entry)
    assert (draft.problems == []) is fits
    assert ("gives this tenant no tool crm__*" in said(draft.problems)) is not fits


INTERNAL = "http://10.0.0.7:9000"


@each_row(
    ("origins", "fits"),
    [({}, False), ({"servers": [INTERNAL]}, True), ({"tools": [INTERNAL]}, False)],
)
def test_a_tenant_s_servers_are_only_where_its_entry_names_servers(
    desk: Desk, origins: Origins, *, fits: bool
) -> None:
    crm = server(url=f"{INTERNAL}/mcp")

    draft = desk(("servers", "crm", crm), entry=TenantEntry(origins=origins))

    assert (draft.problems == []) is fits
    assert fits or "origins.servers in the file of ROUTER_TENANTS" in said(draft.problems)


FEW = TenantEntry.model_validate({"author_tools": {"except": ["crm__refund"]}})


def test_authors_call_no_tool_kept_from_them_while_its_server_is_away(desk: Desk) -> None:
    crm: tuple[DocumentKind, str, str] = ("servers", "crm", server())
    refund = desk(crm, ("flows", "overtime", calling("crm__refund")), entry=FEW)
    assert "authors of this tenant can't use the tool crm__refund" in said(refund.problems)
    assert not desk(crm, ("flows", "overtime", calling("crm__look_up")), entry=FEW).problems
