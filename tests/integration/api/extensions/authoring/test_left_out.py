"""The API without the extension: flows come from files and from documents, as ever."""

from collections.abc import AsyncIterator
from itertools import count

import pytest
from httpx import AsyncClient

from router.api.dependencies import Services
from tests.integration.api.conftest import desk, problem
from tests.integration.api.test_configuration import ok
from tests.table import each_row
from tests.unit.runtime.documents import overtime

_NUMBERS = count()


@pytest.fixture
async def olga(services: Services) -> AsyncIterator[AsyncClient]:
    async with desk(services, "olga", extensions_off=frozenset({"authoring"})) as client:
        yield client


@each_row(
    "path",
    [
        "/v1/flow-drafts",
        "/v1/flow-drafts/beginnings",
        "/v1/flow-gallery",
        "/v1/flow-publications/overtime",
        "/v1/flow-reviews",
        "/v1/flow-trials",
    ],
)
async def test_there_are_no_calls_for_authors(olga: AsyncClient, path: str) -> None:
    problem(await olga.get(path), 404)


async def test_the_page_is_told_and_loads_no_panel_for_authors(olga: AsyncClient) -> None:
    extensions = ok(await olga.get("/web/config.json"))["extensions"]

    assert {"authoring", "importers"}.isdisjoint(extensions)


async def test_a_document_of_a_flow_is_written_and_holds(olga: AsyncClient) -> None:
    path = f"/v1/configuration/flows/left_out_{next(_NUMBERS)}"
    text = overtime().replace("flow: overtime", f"flow: {path.rpartition('/')[2]}")

    written = ok(await olga.put(path, json={"text": text}))
    refused = await olga.put(path, json={"text": "flow: ["}, headers={"If-Match": '"1"'})
    retired = await olga.delete(path)

    assert written["active"] == 1
    assert "nothing was changed" in problem(refused, 422)["detail"]
    assert ok(retired)["active"] is None
