"""Writing the audit trail: the line comes first, then the act.

Where a line can't be written the request fails (503) and nothing is done, looked at or decrypted.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

from starlette.requests import Request

from router.api.params import fresh_id
from router.domain.bounded_cache import BoundedCache
from router.domain.principals import Principal
from router.domain.records import Act, AuditEntry
from router.store.audit import AuditTrail
from router.telemetry import tracing

REQUEST_ID = "x-request-id"
LONGEST_ID = 64
MAX_REMEMBERED_ARRIVALS = 10_000


@dataclass(frozen=True)
class AuditWriter:
    """Notes what a person does in one request."""

    trail: AuditTrail
    person: Principal
    request_id: str

    async def note(
        self,
        act: Act,
        subject: str = "",
        *,
        whose: str = "",
        reason: str | None = "",
        detail: str = "",
    ) -> None:
        """Add the line; where this raises `Unavailable` the act may not be done."""
        deed = AuditEntry(
            id=fresh_id(),
            tenant=self.person.tenant,
            at=datetime.now(UTC),
            who=self.person.id,
            act=act,
            subject=subject,
            whose=whose,
            reason=reason or "",
            detail=detail,
            request_id=self.request_id,
            trace_id=tracing.ids().get("trace_id", ""),
        )
        await self.trail.note(deed)


class Arrivals:
    """Who came in without a proof of their own: noted once for each process that they come to."""

    def __init__(self) -> None:
        self._seen = BoundedCache[tuple[str, ...], bool](MAX_REMEMBERED_ARRIVALS)

    async def note(self, audit: AuditWriter, act: Act, *, whose: str, detail: str) -> None:
        """Note it, unless this process has."""
        arrival = (audit.person.tenant, audit.person.id, act, whose)
        if self._seen.get(arrival):
            return
        await audit.note(act, whose=whose, detail=detail)
        self._seen.put(arrival, True)


def request_id_of(request: Request) -> str:
    """What the trail calls the request: as its sender did in short visible ASCII, or we do."""
    named = request.headers.get(REQUEST_ID, "")
    is_fit = 1 <= len(named) <= LONGEST_ID and all("!" <= character <= "~" for character in named)
    return named if is_fit else fresh_id()


def sender_of(request: Request) -> str:
    """The address that a request came from, as far as the server knows."""
    return f"from {request.client.host}" if request.client else ""


def in_words(asked: Mapping[str, object]) -> str:
    """What a list was narrowed by, as the trail says it: `status=waiting held=True`."""
    return " ".join(f"{name}={value}" for name, value in asked.items() if value is not None)
