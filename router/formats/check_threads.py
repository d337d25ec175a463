"""Checks of values against schemas of others, kept off the event loop once they take long.

Nearly every check takes less than a millisecond, so it is tried where it is asked for. One that
takes more is done again from its beginning in a thread, with a budget at whose end it stops and
says so. These threads do nothing else: no check waits for files or keeps a directory from being
read.
"""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from router.formats.schema_check import QUICK, THOROUGH, CheckBudget, CheckTooCostly, spend_at_most

T = TypeVar("T")

_THREADS = ThreadPoolExecutor(max_workers=2, thread_name_prefix="schema-check")
"""Started at the first check that takes long."""


async def check_off_loop(check: Callable[[], T]) -> T:
    """Return the check's result without holding up the loop.

    Args:
        check: Called once or twice, so it changes nothing. All that it checks against schemas has
            one budget together; a value that exceeds `THOROUGH` has that as its problem.

    Raises:
        Exception: Whatever the check raises.
    """
    try:
        return _check_within(QUICK, check)
    except CheckTooCostly:
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(_THREADS, _check_within, THOROUGH, check)


def _check_within(budget: CheckBudget, check: Callable[[], T]) -> T:
    with spend_at_most(budget):
        return check()
