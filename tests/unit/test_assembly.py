"""The rooms put together, as a process that stays has them."""

import asyncio
import json
from pathlib import Path

from router.assembly import at_work, load_capabilities
from router.domain.messages import Message, Option
from router.domain.principals import EVERYONE, Principal
from router.flow.situation import Situation
from router.selection.index import CapabilityIndex
from router.settings import Settings
from tests.fakes.model_server import ModelServer
from tests.unit.tool.http.declaring import declaration
from tests.unit.tool.samples import NOW


async def found(index: CapabilityIndex) -> bool:
    """True once the index knows the tool that is declared below."""
    selection = await index.select("flamingos", always=["get_flamingos"])
    return "get_flamingos" in {candidate.name for candidate in selection.candidates}


async def test_a_tool_that_is_declared_meanwhile_is_found_and_can_be_chosen(
    tmp_path: Path,
) -> None:
    declared = tmp_path / "declared"
    declared.mkdir()
    async with ModelServer() as vectors:
        settings = Settings(
            data=tmp_path,
            http_tools=declared,
            llm_base_url=vectors.url,
            embedder="openai:scripted",
        )
        async with at_work(settings) as parts, asyncio.timeout(30):
            (declared / "a.json").write_text(json.dumps(declaration(name="get_flamingos")))
            while not await found(parts.index):  # noqa: ASYNC110 - it is a file that changes
                await asyncio.sleep(0.05)
            offered = [Option(label="Flamingos", value="get_flamingos")]
            situation = Situation(
                now=NOW, locale="en", roles=frozenset({EVERYONE}), offered=offered
            )
            reading = parts.reader.read(Message(text="Flamingos"), situation)
    assert [command.type for command in reading.commands] == ["start_flow"]


def test_currencies_are_converted_only_where_there_are_rates() -> None:
    alice = Principal(id="alice", name="Alice")

    def offered(settings: Settings) -> set[str]:
        return {tool.name for tool in load_capabilities(settings).visible_to(alice)}

    rates = Settings(rates_url="https://rates.example/daily.json")
    assert offered(rates) - offered(Settings()) == {"convert_currency"}
    assert "convert_currency" in load_capabilities(Settings()).registry
