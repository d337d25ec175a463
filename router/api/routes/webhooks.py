"""Events that other systems haven't heard of yet, or never will unless they are sent again."""

from datetime import UTC, datetime

from fastapi import APIRouter
from pydantic import BaseModel

from router.api.dependencies import Audited, Given, Operator, Paged, known
from router.api.errors import problems
from router.api.idempotency import IdempotencyKey, claim
from router.api.params import StrictRoute
from router.domain.errors import NotFound
from router.domain.webhook_events import WebhookDelivery, WebhookState

router = APIRouter(prefix="/v1/webhooks", tags=["operators"], route_class=StrictRoute)


class UndeliveredEvent(BaseModel):
    """An event that a consumer hasn't heard of."""

    id: str
    """The `webhook-id` that it is sent under."""
    url: str
    """Where to, without the query."""
    event: str
    subject: str
    """The run that it is of, or the conversation."""
    state: WebhookState
    attempts: int
    created_at: datetime
    due: datetime | None
    """When it is tried next; null while an earlier one goes first, and where it was given up."""
    error: str
    """What the last try came to."""

    @classmethod
    def of(cls, delivery: WebhookDelivery) -> "UndeliveredEvent":
        """The same as operators see it: without what it says."""
        return cls(**delivery.model_dump(include={*cls.model_fields}))


class UndeliveredPage(BaseModel):
    """Events, newest first."""

    items: list[UndeliveredEvent]
    next: str | None


@router.get("/deliveries", responses=problems(404))
async def index(
    services: Given,
    operator: Operator,
    audit: Audited,
    page: Paged,
    state: WebhookState = "dead",
) -> UndeliveredPage:
    """List events that were given up, or that wait to be delivered, newest first."""
    await audit.note("webhooks.list", detail=f"state={state}")
    found, following = await services.store.webhooks.listed(
        operator.tenant, state, page.after, page.limit
    )
    return UndeliveredPage(items=[UndeliveredEvent.of(one) for one in found], next=following)


@router.post("/deliveries/{delivery}/retry", responses=problems(404, 409))
async def retry(
    delivery: str, services: Given, operator: Operator, audit: Audited, key: IdempotencyKey
) -> UndeliveredEvent:
    """Have an event sent again, under the same `webhook-id`, and tried for three more days."""
    id_ = known(delivery, "event that is to be delivered")
    await claim(services, operator, key, f"webhook {id_}")
    await audit.note("webhooks.retry", id_)
    found = await services.store.webhooks.retry(operator.tenant, id_, datetime.now(UTC))
    if found is None:
        raise NotFound("There is no such event that wasn't delivered.")
    return UndeliveredEvent.of(found)
