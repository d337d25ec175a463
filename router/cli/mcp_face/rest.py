"""What of the REST API other agents need, on behalf of one person."""

from typing import Any
from urllib.parse import quote

import httpx

from router.domain.errors import RouterError, Unavailable

SECONDS = 60.0
"""How long a turn is waited for; one that takes longer goes on, and can be asked for."""
CONNECTED_WITHIN = 5.0


class Refused(RouterError):
    """The API said no; says why."""


class Desk:
    """A person at the API. `aclose` lets go of the connections.

    Every method raises `Refused` with the API's reason, and `Unavailable` where it isn't there.
    """

    def __init__(self, url: str, token: str) -> None:
        self._url = url
        timeout = httpx.Timeout(SECONDS + 30, connect=CONNECTED_WITHIN)
        headers = {"Authorization": f"Bearer {token}"}
        self._http = httpx.AsyncClient(base_url=url, headers=headers, timeout=timeout)

    async def aclose(self) -> None:
        """Close the connections."""
        await self._http.aclose()

    async def capabilities(self, kind: str | None = None) -> list[dict[str, Any]]:
        """What the person may use."""
        items: list[dict[str, Any]] = (await self._get("/v1/capabilities", kind=kind))["items"]
        return items

    async def begin(self) -> str:
        """A new conversation's id."""
        return str((await self._post("/v1/conversations", {}))["id"])

    async def send(self, conversation: str, message: dict[str, Any]) -> dict[str, Any]:
        """The turn that answers a message, or that it still runs."""
        path = f"/v1/conversations/{quote(conversation, safe='')}/messages"
        return await self._post(path, message, wait=SECONDS)

    async def turn(self, conversation: str, message: str) -> dict[str, Any]:
        """The turn that answered an earlier message, or that it still runs."""
        place = f"{quote(conversation, safe='')}/messages/{quote(message, safe='')}"
        return await self._get(f"/v1/conversations/{place}")

    async def flow_runs(self, status: str | None = None) -> dict[str, Any]:
        """What the person has asked for, and how it stands."""
        return await self._get("/v1/flow-runs", status=status)

    async def approvals(self) -> dict[str, Any]:
        """What waits for the person's decision."""
        return await self._get("/v1/approvals")

    async def decide(self, approval: str, decision: dict[str, Any]) -> dict[str, Any]:
        """What a decision led to."""
        return await self._post(f"/v1/approvals/{quote(approval, safe='')}/decision", decision)

    async def _get(self, path: str, **query: Any) -> dict[str, Any]:
        given = {name: value for name, value in query.items() if value is not None}
        return await self._answer(self._http.build_request("GET", path, params=given))

    async def _post(self, path: str, body: dict[str, Any], **query: Any) -> dict[str, Any]:
        return await self._answer(self._http.build_request("POST", path, json=body, params=query))

    async def _answer(self, request: httpx.Request) -> dict[str, Any]:
        try:
            response = await self._http.send(request)
            answer: dict[str, Any] = response.json()
        except httpx.TimeoutException:
            raise Unavailable(f"the API at {self._url} doesn't answer in time: ask again") from None
        except (httpx.HTTPError, ValueError):
            raise Unavailable(
                f"no API answers at {self._url}: start `intent-router dev`, or name another with "
                "--url"
            ) from None
        if response.is_error:
            raise Refused(_reason(answer))
        return answer


def _reason(problem: dict[str, Any]) -> str:
    """What a problem of RFC 9457 says, with the fields at fault."""
    said = str(problem.get("detail") or problem.get("title") or "it refuses")
    fields = [f"{each.get('field')} {each.get('detail')}" for each in problem.get("errors") or []]
    return f"{said} ({'; '.join(fields)})" if fields else said
