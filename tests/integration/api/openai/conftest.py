"""The face over a real server and socket, with the conversation that echoes what it is told."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import pytest
from fastapi import FastAPI
from httpx import AsyncClient, Response

from router.api.dependencies import Services
from router.directory.file import FileDirectory
from router.runtime.server import create_app
from tests.integration.api.conftest import client_of, served

PATH = "/v1/chat/completions"
SERVICE = """
users:
  - {id: alice, name: Alice, locale: en}
  - {id: bob, name: Bob, locale: zh}
  - {id: webui, name: Open WebUI, roles: [service]}
  - {id: other-ui, name: Another, roles: [service]}
  - {id: zed, name: Zed, tenant: acme}
"""


def body(*texts: str, **more: Any) -> dict[str, Any]:
    """A chat whose user said these, each answered but the last."""
    messages: list[dict[str, Any]] = []
    for text in texts:
        messages += [{"role": "user", "content": text}, {"role": "assistant", "content": "…"}]
    return {"model": "intent-router", "messages": messages[:-1], **more}


async def ask(
    client: AsyncClient, *texts: str, headers: dict[str, str] | None = None, **more: Any
) -> Response:
    return await client.post(PATH, json=body(*texts, **more), headers=headers or {})


def said(answer: Response) -> str:
    assert answer.status_code == 200, answer.text
    text: str = answer.json()["choices"][0]["message"]["content"]
    return text


@asynccontextmanager
async def house(services: Services, **settings: Any) -> AsyncIterator[FastAPI]:
    changed = services.settings.model_copy(update=settings)
    yield create_app(replace(services, settings=changed))


@pytest.fixture
async def serviced(services: Services, tmp_path: Any) -> Services:
    """With a directory in which two service accounts are."""
    file = tmp_path / "people.yaml"
    file.write_text(SERVICE, encoding="utf-8")
    return replace(services, directory=FileDirectory.load(file))


@pytest.fixture(scope="session")
async def address(app: FastAPI) -> AsyncIterator[str]:
    async with served(app) as address:
        yield address


__all__ = ["PATH", "ask", "body", "client_of", "house", "said", "served"]
