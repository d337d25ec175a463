"""A flow as BPMN over HTTP."""

from collections.abc import AsyncIterator
from itertools import count

import pytest
from httpx import AsyncClient

from router.api.dependencies import Services
from tests.integration.api.conftest import problem
from tests.integration.api.test_configuration import Company, ok

_NUMBERS = count()


@pytest.fixture
async def anna(services: Services) -> AsyncIterator[AsyncClient]:
    async with Company(services, f"drawn{next(_NUMBERS)}")("anna") as client:
        yield client


@pytest.mark.slow
async def test_a_flow_is_documented_as_bpmn_and_so_is_the_authors_draft_of_it(
    anna: AsyncClient,
) -> None:
    path = "/v1/flow-drafts/leave_request/bpmn"

    held = await anna.get(path, params={"locale": "en"})
    assert (held.status_code, held.headers["content-type"]) == (200, "application/xml")
    assert "Manager decides" in held.text

    text = ok(await anna.get("/v1/flow-drafts/leave_request"))["text"]
    changed = {"text": text.replace("Manager decides", "The boss decides"), "revision": 0}
    ok(await anna.put("/v1/flow-drafts/leave_request", json=changed))
    assert "The boss decides" in (await anna.get(path, params={"locale": "en"})).text

    ok(await anna.put("/v1/flow-drafts/leave_request", json={"text": "flow: 1", "revision": 1}))
    assert problem(await anna.get(path), 422)["errors"]
