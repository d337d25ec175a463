"""Reading a file that somebody handed in: the workflow that has it done, and what it is given."""

from router.contracts.payload import Payload

WORKFLOW = "Document"


class ReadFile(Payload):
    """The file that is to be read; `given_up` where nothing came of that, and it is to be noted."""

    tenant: str
    file: str
    given_up: bool = False


class DocumentKept(Payload):
    """That what rules read of a file is kept; `asks` where a model is to look for the rest."""

    asks: bool = False


MODEL_SECONDS = 10.0
"""How long a model may look at a document, and whoever needs all of it waits for that."""


def workflow_id(tenant: str, file: str) -> str:
    """The Temporal id of reading a file: `document/default/k3v5q0y7a1b2c3d4e5f6g7h8`."""
    return f"document/{tenant}/{file}"
