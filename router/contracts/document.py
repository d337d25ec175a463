"""Reading a file that somebody handed in: the workflow that has it done, and what it is given."""

from router.contracts.payload import Payload

WORKFLOW = "Document"


class ReadFile(Payload):
    """The file that is to be read; `given_up` where nothing came of that, and it is to be noted."""

    tenant: str
    file: str
    given_up: bool = False


def workflow_id(tenant: str, file: str) -> str:
    """The Temporal id of reading a file: `document/default/k3v5q0y7a1b2c3d4e5f6g7h8`."""
    return f"document/{tenant}/{file}"
