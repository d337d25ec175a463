"""The face over a real server and socket, with the conversation that echoes what it is told."""

from dataclasses import replace
from typing import Any

import pytest
from httpx import AsyncClient, Response

from router.api.dependencies import Services
from router.directory.file import FileDirectory
from tests.integration.api.conftest import until

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


async def release(client: AsyncClient) -> None:
    """Let the held turn of the latest conversation end, as soon as it runs."""

    async def standing() -> Response:
        latest = (await client.get("/v1/conversations")).json()["items"]
        return await client.get(f"/v1/conversations/{latest[0]['id'] if latest else 'none'}")

    await until(standing, lambda answer: answer.json()["status"] == "running")
    path = f"/v1/conversations/{(await standing()).json()['id']}/messages"
    assert (await client.post(path, json={"text": "release"})).status_code == 200


def fault(answer: Response, status: int) -> Any:
    """What a refusal of this status says, in OpenAI's shape."""
    assert answer.status_code == status, answer.text
    return answer.json()["error"]


def said(answer: Response) -> str:
    assert answer.status_code == 200, answer.text
    text: str = answer.json()["choices"][0]["message"]["content"]
    return text


@pytest.fixture
async def serviced(services: Services, tmp_path: Any) -> Services:
    """With a directory in which two service accounts are."""
    file = tmp_path / "people.yaml"
    file.write_text(SERVICE, encoding="utf-8")
    return replace(services, directory=FileDirectory.load(file))
