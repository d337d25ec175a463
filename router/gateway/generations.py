"""One house in two stores: a number that stands in both tells when one was restored alone.

The database keeps the house's id and a generation; Temporal keeps the same in the data of its
namespace, by task queue, which is backed up and restored with everything else of Temporal's. Once
a minute both go up, the database's first, so that a difference of one is a process that ended in
between. Another house at the same task queue would take half of this one's work for its own: that
is refused for the same reason.
"""

import logging
from dataclasses import dataclass
from datetime import timedelta

from temporalio.api.namespace.v1 import UpdateNamespaceInfo
from temporalio.api.workflowservice.v1 import DescribeNamespaceRequest, UpdateNamespaceRequest
from temporalio.client import Client
from temporalio.service import RPCError

from router.domain.errors import MisconfiguredError
from router.store.identity import Generation, Houses

EVERY = timedelta(minutes=1)
_RACE = 1
"""By so many the two differ where a process ended between them."""
_PATIENCE = timedelta(seconds=2)
_RECONCILE = (
    "restore both from one moment, or look at `intent-router reconcile`, and go on with what there "
    "is by `intent-router reconcile --yes`"
)

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Halves:
    """What the database says, and what Temporal says for a task queue; None: nothing."""

    queue: str
    ours: Generation
    theirs: Generation | None

    @property
    def trouble(self) -> str:
        """Why nobody may work with the two of them, and what to do; empty where they belong.

        >>> Halves("q", Generation("a", 7), Generation("a", 6)).trouble
        ''
        """
        ours, theirs = self.ours, self.theirs
        if theirs is None and ours.number == 0:
            return ""
        if theirs is None:
            return (
                f"Temporal knows nothing of this house at the task queue {self.queue!r}: it is "
                f"empty or older than the database, or ROUTER_TASK_QUEUE was another; {_RECONCILE}"
            )
        if theirs.house != ours.house:
            return (
                f"the task queue {self.queue!r} is another house's, whose database isn't this one: "
                "give this one a Temporal, a namespace or a ROUTER_TASK_QUEUE of its own; where "
                "its database was lost, and this one takes its place: `intent-router reconcile "
                "--yes`"
            )
        behind = ours.number - theirs.number
        if abs(behind) <= _RACE:
            return ""
        older = "Temporal is" if behind > 0 else "the database is"
        return f"{older} older than the other half by about {abs(behind)} minutes: {_RECONCILE}"


async def halves(client: Client, houses: Houses, queue: str) -> Halves:
    """Both, as they are now. `RPCError` and `Unavailable`: one of them can't be asked."""
    request = DescribeNamespaceRequest(namespace=client.namespace)
    described = await client.workflow_service.describe_namespace(request, timeout=_PATIENCE)
    noted = described.namespace_info.data.get(_key(queue), "")
    return Halves(queue, await houses.known(), Generation.read(noted))


async def check_halves(client: Client, houses: Houses, queue: str) -> None:
    """Return where work may begin with these two; a new house is noted in Temporal.

    Raises:
        MisconfiguredError: they don't belong together, with what to do.
    """
    found = await halves(client, houses, queue)
    if found.trouble:
        raise MisconfiguredError(found.trouble)
    if found.theirs is None:
        await _note(client, queue, found.ours)


async def advance(client: Client, houses: Houses, queue: str) -> Halves:
    """Both go up by one, unless another process did it within the minute, or they don't belong."""
    found = await halves(client, houses, queue)
    # Where Temporal may not be written to, the database's doesn't go up either.
    if found.theirs is not None and not found.trouble:
        late = found.theirs.number < found.ours.number
        after = found.ours if late else await houses.advanced(found.ours, EVERY)
        if after is not None:
            await _note(client, queue, after)
    return found


async def agree(client: Client, houses: Houses, queue: str) -> None:
    """Have both say the same from now on: whatever was apart has been looked at."""
    found = await halves(client, houses, queue)
    newest = max(found.ours.number, found.theirs.number if found.theirs else 0)
    await _note(client, queue, await houses.set(newest + 1))


async def _note(client: Client, queue: str, generation: Generation) -> None:
    info = UpdateNamespaceInfo(data={_key(queue): str(generation)})
    request = UpdateNamespaceRequest(namespace=client.namespace, update_info=info)
    try:
        await client.workflow_service.update_namespace(request, timeout=_PATIENCE)
    except RPCError as error:
        _log.warning(
            "Temporal doesn't take the house's generation (%s): a restore of one half alone won't "
            "be noticed; let the namespace be updated",
            error.message,
        )


def _key(queue: str) -> str:
    return f"intent-router/{queue}"
