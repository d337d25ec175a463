"""Reading a file that somebody handed in: the workflow that does it, and what is asked."""

from router.contracts.payload import Payload
from router.domain.documents import Document

WORKFLOW = "Document"


class ReadFile(Payload):
    """The file that is to be read; `given_up` where nothing came of that, and it is to be noted."""

    tenant: str
    file: str
    given_up: bool = False


class DocumentKept(Payload):
    """That what rules read of a file is kept; `asks` where a model is to look for the rest."""

    asks: bool = False


class DocumentsOf(Payload):
    """Files of which one wants to know what was read; `seconds` is how long that may be waited.

    It is, where their types are wanted, also for a model to say what rules can't.
    """

    tenant: str
    files: list[str]
    seconds: float = 0
    types: bool = False
    estimate: bool = False
    """Whether to say how long the files that weren't read yet will take."""


class DocumentsRead(Payload):
    """What was read of those of them that have been, without their text."""

    documents: dict[str, Document] = {}
    seconds_left: float = 0.0
    """About how long it takes until all of them are read; 0: they are."""


MODEL_SECONDS = 10.0
"""How long a model may look at a document, and whoever needs all of it waits for that."""


def workflow_id(tenant: str, file: str) -> str:
    """The Temporal id of reading a file: `document/default/k3v5q0y7a1b2c3d4e5f6g7h8`."""
    return f"document/{tenant}/{file}"
