"""The gallery's stories, over its tools and the sample office as they are."""

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
import uvicorn

from company.office.service import office
from router.extensions.http.settings import HttpSettings
from router.flow.gallery import Gallery
from router.settings import Settings
from router.story.expectations import told
from router.story_runner.environment import Environment, opened
from router.story_runner.runner import Report, chosen, run_in
from tests.unit.flow.test_gallery import GALLERY

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("gallery")]

IN_SHORT = {"overtime"}
"""Of the others, what all their stories take is seconds of a processor each."""
NAMES = [
    pytest.param(name, marks=() if name in IN_SHORT else pytest.mark.slow)
    for name in (one.name for one in Gallery())
]
UNTOLD: dict[str, list[str]] = {}
"""By flow, what no story takes, as `flows test` says it; the flow's page says why."""


@asynccontextmanager
async def served_office() -> AsyncIterator[str]:
    server = uvicorn.Server(uvicorn.Config(office(), log_level="warning"))
    with socket.create_server(("127.0.0.1", 0)) as listening:
        serving = asyncio.create_task(server.serve([listening]))
        try:
            yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        finally:
            server.should_exit = True
            await serving


@pytest.fixture(scope="module")
async def desk() -> AsyncIterator[tuple[Environment, Settings]]:
    async with served_office() as address:
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("ROUTER_TOOL_OFFICE_URL", address)
            settings = Settings.load(
                flows=GALLERY,
                directory=GALLERY / "directory" / "sample.yaml",
            ).having(HttpSettings(tools=GALLERY / "tools", allow=[address]))
            async with opened(settings) as house:
                yield house, settings


@pytest.mark.parametrize("name", NAMES)
async def test_its_stories_go_as_they_are_written_and_take_every_way(
    desk: tuple[Environment, Settings], name: str
) -> None:
    house, settings = desk
    stories = chosen(settings, [GALLERY / "tests" / f"{name}.yaml"], "")
    report: Report = await run_in(house, stories, lambda _: None)
    assert ["\n".join(told(one)) for one in report.failed] == []
    (found,) = (c for c in report.coverage(house.catalog, whole=True) if c.definition.flow == name)
    assert [*found.states, *map(str, found.transitions)] == UNTOLD.get(name, [])
