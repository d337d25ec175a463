"""Letting time pass on the test server.

Its clock may skip while nobody holds a lock on it; tasks under way hold one each. Now and then
the server forgets to let go of one (seen with 1.40, once in some twenty stories on a busy machine:
nothing is pending in any workflow, and the clock goes on at its usual pace). Then one is
let go of in its place, which is what the server's own interface offers for that.
"""

import asyncio
from datetime import timedelta

from temporalio.api.testservice.v1 import UnlockTimeSkippingRequest
from temporalio.service import RPCError
from temporalio.testing import WorkflowEnvironment

from router.domain.errors import Unavailable

AT_ONCE = timedelta(days=7)
"""A call that takes long is given up by the client, and every timer on the way takes its time."""
STUCK_AFTER = 2.0
"""Seconds of real time; a week takes a tenth of that."""
MOST_LOOKS = 15


async def skip(environment: WorkflowEnvironment, duration: timedelta) -> None:
    """Return when so much time has passed, with all that was due in it begun.

    Raises:
        Unavailable: the clock stands.
    """
    while duration > timedelta():
        part = min(duration, AT_ONCE)
        await _skip(environment, part)
        duration -= part


async def _skip(environment: WorkflowEnvironment, part: timedelta) -> None:
    sleeping = asyncio.ensure_future(environment.sleep(part))
    try:
        for _ in range(MOST_LOOKS):
            before = await environment.get_current_time()
            await asyncio.wait([sleeping], timeout=STUCK_AFTER)
            if sleeping.done():
                await sleeping
                return
            moved = await environment.get_current_time() - before
            if moved < 2 * timedelta(seconds=STUCK_AFTER):
                await environment.client.test_service.unlock_time_skipping(
                    UnlockTimeSkippingRequest()
                )
    except RPCError as error:
        raise Unavailable(f"the test server can't skip {part}: {error}; try again") from error
    finally:
        sleeping.cancel()
    raise Unavailable(f"the test server's clock doesn't get through {part}: try again")
