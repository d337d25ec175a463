"""Documents of declared tools over REST, with the extension and without it."""

from collections.abc import AsyncIterator
from dataclasses import replace
from itertools import count

import pytest
from httpx import AsyncClient

from router.api.dependencies import Services
from router.runtime.tenant_configuration import Configuration
from tests.integration.api.conftest import house_of, problem
from tests.integration.api.test_configuration import PATH, Company, ok, put
from tests.table import each_row
from tests.unit.runtime.documents import overtime, weather

_NUMBERS = count()


@pytest.fixture
def tenant() -> str:
    return f"h{next(_NUMBERS)}"


@pytest.fixture
async def olga(services: Services, tenant: str) -> AsyncIterator[AsyncClient]:
    async with Company(services, tenant)("olga") as client:
        yield client


@pytest.fixture
async def without(services: Services, tenant: str) -> AsyncIterator[AsyncClient]:
    """The same operator at an API that leaves out the extension."""
    settings = services.settings.replace(extensions_off=frozenset({"http"}))
    configuration = Configuration(house_of(settings), services.store)
    less = replace(services, settings=settings, configuration=configuration)
    async with Company(less, tenant)("olga") as client:
        yield client


@pytest.mark.slow
async def test_what_another_document_needs_can_not_be_taken_away(olga: AsyncClient) -> None:
    look = "{call: look_outside, with: {city: \"'x'\"}, save: sky, next: noted, on_error: noted}"
    flow = (
        overtime()
        .replace("approved: noted", "approved: look")
        .replace("  noted: {say", f"  look: {look}\n  noted: {{say")
    )
    refused = problem(await put(olga, "flows/overtime", flow), 422)
    assert refused["errors"][0]["field"].startswith("flows/overtime.yaml:")
    ok(await put(olga, "tools/sky", weather(name="look_outside")))
    ok(await put(olga, "flows/overtime", flow))
    kept = problem(await olga.delete(f"{PATH}/tools/sky"), 422)
    assert "look_outside" in str(kept["errors"])
    assert ok(await olga.get(f"{PATH}/tools/sky"))["active"] == 1


@each_row(
    "text", [overtime(), '{"command": "sh", "args": ["-c", "true"]}', "{", "[" * 100_000, "3", ""]
)
async def test_what_declares_no_tool_is_refused_and_nothing_is_kept(
    olga: AsyncClient, text: str
) -> None:
    problem(await put(olga, "tools/x", text), 422)
    assert ok(await olga.get(PATH))["items"] == []


async def test_without_the_extension_its_documents_are_kept_and_named_and_new_ones_refused(
    olga: AsyncClient, without: AsyncClient, tenant: str
) -> None:
    ok(await put(olga, "tools/sky", weather(name="look_outside")))

    refused = problem(await put(without, "tools/rain", weather(name="look_up")), 422)
    again = problem(await without.post(f"{PATH}/tools/sky/activate", json={"version": 1}), 422)
    ok(await put(without, "flows/overtime", overtime().replace("加班", f"加班{tenant}")))
    listed = ok(await without.get(PATH))
    shown = ok(await without.get(f"{PATH}/tools/sky"))

    sentence = (
        "no extension that is loaded reads documents of the kind tools; load the extension http"
    )
    assert sentence in str(refused["errors"]).replace("'", "")
    assert sentence in str(again["errors"]).replace("'", "")
    assert {each["kind"] for each in listed["items"]} == {"tools", "flows"}
    assert "tools/sky.json:1: no extension that is loaded" in listed["unfit"]
    assert shown["text"] == weather(name="look_outside")
    assert ok(await without.delete(f"{PATH}/tools/sky"))["active"] is None
    assert ok(await without.get(PATH))["unfit"] is None
