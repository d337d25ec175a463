"""Tenants' documents that declare HTTP tools: what they may say, and what becomes of it."""

import pytest

from activities.capabilities import Capabilities
from router.directory.tenants import Origins, TenantEntry
from router.domain.configuration_documents import DocumentKind
from router.domain.errors import DefinitionError
from router.extensions.http.settings import HttpSettings
from router.settings import Settings
from tests.table import each_row
from tests.unit.runtime.documents import Desk, calling, said, weather
from tests.unit.runtime.editions import desk, house, settings

__all__ = ["desk", "house", "settings"]


def test_a_document_takes_the_place_of_the_file_s_tool_of_its_name(desk: Desk) -> None:
    draft = desk(("tools", "weather", weather()))
    assert said(draft.problems) == ""
    registry = draft.capabilities.registry
    assert registry["get_weather"].description == "Get the weather of a city."
    assert desk.house.registry["get_weather"].description != "Get the weather of a city."


REFUSED: dict[str, tuple[list[tuple[DocumentKind, str, str]], str]] = {
    "code-s-name": (
        [("tools", "t", weather(name="get_leave_balance"))],
        "has a name that is taken",
    ),
    "openapi": (
        [("tools", "t", '{"openapi": "x.yaml", "operations": {}}')],
        "there is no OpenAPI document beside it",
    ),
    "private-address": ([("tools", "t", weather("https://10.0.0.1/{city}"))], "isn't public"),
    "plain-http": ([("tools", "t", weather("http://example.com/{city}"))], "isn't https"),
    "the-house-s-secret": (
        [("tools", "t", weather("https://example.com/{env.ROUTER_TOOL_SECRET}/{city}"))],
        "ROUTER_TOOL_SECRET isn't set",
    ),
    "no-json": ([("tools", "t", "{")], "tools/t.json"),
    "two-of-one-tool": ([("tools", "a", weather()), ("tools", "b", weather())], "get_weather"),
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


def test_a_flow_may_call_the_tool_of_a_document_for_as_long_as_that_is_there(desk: Desk) -> None:
    flow, tool = calling("look_outside"), weather(name="look_outside")
    assert said(desk(("flows", "overtime", flow), ("tools", "w", tool)).problems) == ""
    assert "look_outside" in said(desk(("flows", "overtime", flow)).problems)


INTERNAL = "http://10.0.0.7:9000"


@each_row(
    ("origins", "fits"),
    [
        # The deployment's own tools go there, and that opens nothing to a tenant's.
        ({}, False),
        ({"tools": [INTERNAL]}, True),
        ({"servers": [INTERNAL]}, False),
        ({"tools": ["http://10.0.0.7:9001"]}, False),
    ],
)
def test_a_tenant_s_tools_reach_only_what_its_entry_names_for_tools(
    house: Capabilities, origins: Origins, *, fits: bool
) -> None:
    settings = Settings(_env_file=None, webhook_allow=[INTERNAL])
    desk = Desk(settings.having(HttpSettings(allow=[INTERNAL], _env_file=None)), house)
    look = weather(f"{INTERNAL}/{{city}}", name="look")

    draft = desk(("tools", "w", look), entry=TenantEntry(origins=origins))

    assert (draft.problems == []) is fits
    assert fits or "origins.tools in the file of ROUTER_TENANTS" in said(draft.problems)
