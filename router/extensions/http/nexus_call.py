"""A call of somebody else's Nexus operation, as the workflow that makes it is given it."""

from pydantic import JsonValue

from router.domain.messages import ValueObject

WORKFLOW = "http.NexusCall"
KEY_HEADER = "idempotency-key"


class NexusCall(ValueObject):
    """What is called, with what, and under which key; how long it may take in all, in seconds."""

    endpoint: str
    service: str
    operation: str
    input: JsonValue = None
    key: str = ""
    """Empty for a read."""
    seconds: float
