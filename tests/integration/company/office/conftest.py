"""The office over an empty ledger, asked by alice."""

from collections.abc import AsyncIterator

import httpx
import pytest
from httpx import AsyncClient

from company.office.service import office


@pytest.fixture
async def client() -> AsyncIterator[AsyncClient]:
    transport, headers = httpx.ASGITransport(office()), {"X-User": "alice"}
    async with AsyncClient(transport=transport, base_url="http://office", headers=headers) as it:
        yield it
