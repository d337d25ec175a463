"""What tools ask for that is neither theirs nor the people system's, each under its name."""

from typing import Annotated, Protocol

from temporalio.client import Client

from router.domain.principals import Directory
from router.retrieval.encoders import Encoder
from router.sdk import people_directory
from router.settings import Settings
from router.store.blobs import Files, Results, SkillFiles
from router.store.database import Database
from router.store.flow_runs import Runs
from router.tool.context import Depends, Provider
from router.understanding.names import FlowNames

settings: Provider[Settings] = Provider("settings")
"""Those of the process, for providers that are made from them."""
directory: Provider[Directory] = people_directory
runs: Provider[Runs] = Provider("runs")
results: Provider[Results] = Provider("results")
skill_files: Provider[SkillFiles] = Provider("skill_files")
files: Provider[Files] = Provider("files")
database: Provider[Database] = Provider("database")
"""Where the project keeps its tables, for those who keep theirs beside them."""
encoder: Provider[Encoder | None] = Provider("encoder")
"""What turns texts into vectors; None where words alone are searched."""


class RequestKinds(Protocol):
    """The flows, as far as requests of one's own are spoken of."""

    def of(self, tenant: str, person: str | None = None) -> "RequestKinds":
        """Those of a tenant."""

    def look_ups(self) -> frozenset[str]:
        """Those that only look something up, forms of tools that read: they are no requests."""

    def names_of(self, flow: str) -> FlowNames | None:
        """What people call a flow; None where there is none of that name."""


request_kinds: Provider[RequestKinds] = Provider("request_kinds")
Kinds = Annotated[RequestKinds, Depends(request_kinds)]


class Connect(Protocol):
    """Gives a Temporal client, connected; raises `Unavailable` where none can be had."""

    async def __call__(self) -> Client:
        """The same one every time."""


temporal: Provider[Connect] = Provider("temporal")
"""For those who have something to say to a run."""
task_queue: Provider[str] = Provider("task_queue")
"""Where runs are worked on that a tool starts."""
