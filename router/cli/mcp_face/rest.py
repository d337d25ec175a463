"""What of the REST API other agents need, on behalf of one person."""

from typing import Any
from urllib.parse import quote

from router.cli.rest import Rest

SECONDS = 60.0
"""How long a turn is waited for; one that takes longer goes on, and can be asked for."""


class Desk:
    """A person at the API. `aclose` lets go of the connections.

    Every method raises `Refused` with the API's reason, and `Unavailable` where it isn't there.
    """

    def __init__(self, url: str, token: str) -> None:
        self._rest = Rest(url, token)

    async def aclose(self) -> None:
        """Close the connections."""
        await self._rest.aclose()

    async def capabilities(self, kind: str | None = None) -> list[dict[str, Any]]:
        """What the person may use."""
        listed = await self._rest.get("/v1/capabilities", kind=kind)
        items: list[dict[str, Any]] = listed["items"]
        return items

    async def begin(self) -> str:
        """A new conversation's id."""
        return str((await self._rest.post("/v1/conversations", {}))["id"])

    async def send(self, conversation: str, message: dict[str, Any]) -> dict[str, Any]:
        """The turn that answers a message, or that it still runs."""
        path = f"/v1/conversations/{quote(conversation, safe='')}/messages"
        return await self._rest.post(path, message, wait=SECONDS)

    async def turn(self, conversation: str, message: str) -> dict[str, Any]:
        """The turn that answered an earlier message, or that it still runs."""
        place = f"{quote(conversation, safe='')}/messages/{quote(message, safe='')}"
        return await self._rest.get(f"/v1/conversations/{place}")

    async def flow_runs(self, status: str | None = None) -> dict[str, Any]:
        """What the person has asked for, and how it stands."""
        return await self._rest.get("/v1/flow-runs", status=status)

    async def approvals(self) -> dict[str, Any]:
        """What waits for the person's decision."""
        return await self._rest.get("/v1/approvals")

    async def decide(self, approval: str, decision: dict[str, Any]) -> dict[str, Any]:
        """What a decision led to."""
        return await self._rest.post(f"/v1/approvals/{quote(approval, safe='')}/decision", decision)
