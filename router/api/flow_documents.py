"""Flows that only some people of a tenant have yet, or that are to come."""

from router.api.dependencies import RequestWork, Services
from router.api.flow_reading import read_flow_text
from router.flow.definition import FlowDefinition
from router.isolation.runner import LimitExceeded


async def partly_held(services: Services, work: RequestWork, flow: str) -> FlowDefinition | None:
    """Return a flow that nobody else has as a share of people has it, or as it is to come.

    Args:
        services: Those of the API.
        work: Reads the flow for the caller.
        flow: The name of a flow that the tenant doesn't have as a whole.

    Returns:
        `None` if there is no such document, or it can't be read.
    """
    kept, tenant = services.store.configuration, work.person.tenant
    head = await kept.head(tenant, "flows", flow)
    if head is None or head.held is None:
        return None
    document = await kept.find(tenant, "flows", flow, head.held)
    if document is None:
        return None
    known = services.configuration.vocabulary(tenant)
    try:
        read = await work.run(read_flow_text, f"{flow}.yaml", document.text, known)
    except LimitExceeded:
        return None
    return read.definition
