"""Threads for what every request needs: the directory, tenants' settings, changed files.

Python's default threads are anybody's, and so can all be in use: by name lookups that don't come
back, by a tool's code, by a library. What keeps the deployment up to date doesn't wait for those.
"""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import ParamSpec, TypeVar

UPKEEP_THREADS = 4
P = ParamSpec("P")
T = TypeVar("T")

_THREADS = ThreadPoolExecutor(UPKEEP_THREADS, thread_name_prefix="upkeep")
_CONFIGURATION = ThreadPoolExecutor(1, thread_name_prefix="configuration")
"""One thread for what tenants write: however long it takes, only tenants' documents wait."""


async def run_upkeep(function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Return the function's result, from a thread for the upkeep of the deployment."""
    call = partial(function, *args, **kwargs)
    return await asyncio.get_running_loop().run_in_executor(_THREADS, call)


async def run_configuration(function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Return the function's result, from the thread for tenants' documents."""
    call = partial(function, *args, **kwargs)
    return await asyncio.get_running_loop().run_in_executor(_CONFIGURATION, call)
