"""Tools of an extension's source in a process that stays."""

import asyncio
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest
from pydantic import JsonValue

from router.contracts.activities import ToolCall
from router.extension import Extension
from router.runtime.extensions import Extensions, LoadedExtension
from router.sdk import ToolContext
from router.sdk.tool_sources import PolledToolSource, Tool, make_tool
from tests.unit.runtime.test_composition import finds, running
from tests.unit.tool.samples import ALICE, NOW

pytestmark = pytest.mark.slow


class Catalog(PolledToolSource):
    """A catalogue whose services a test adds while the process runs."""

    name = "catalog"
    prefix = "catalog__"
    interval_s = 0.05
    services: Sequence[str] = ()

    async def fetch_tools(self) -> Sequence[Tool]:
        return [make_service(name) for name in self.services]


def make_service(name: str) -> Tool:
    async def order(arguments: Mapping[str, JsonValue], ctx: ToolContext) -> JsonValue:
        return {"ordered": name, "for": ctx.caller.id}

    made = make_tool(f"catalog__{name}", f"Orders {name}.", {}, order, permission="read")
    assert made.outward
    return made


class CatalogExtension(Extension):
    """The same, as an extension."""

    name = "catalog"

    def tool_sources(self) -> list[type[PolledToolSource]]:
        return [Catalog]


async def test_a_tool_that_a_source_publishes_is_found_and_called_and_ends_with_the_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    installed = Extensions([LoadedExtension(CatalogExtension(), "acme-catalog")])
    monkeypatch.setattr("router.runtime.definitions.load_configured", lambda _: installed)
    monkeypatch.setattr(Catalog, "services", ["flamingos"])
    async with running(data=tmp_path) as parts:
        while not await finds(parts, "catalog__flamingos", "flamingos"):  # noqa: ASYNC110 - polled
            await asyncio.sleep(0.05)
        Catalog.services = ["flamingos", "herons"]
        while not await finds(parts, "catalog__herons", "herons"):  # noqa: ASYNC110 - polled
            await asyncio.sleep(0.05)
        call = ToolCall(tool="catalog__herons", arguments={}, caller=ALICE, key="", now=NOW)
        assert await parts.caller.call(call, False) == {"ordered": "herons", "for": "alice"}
    assert not [task for task in asyncio.all_tasks() if "catalog" in task.get_name()]
