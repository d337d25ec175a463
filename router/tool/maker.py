"""How a dependency is made of a function, a generator or a class, and closed again."""

import inspect
from asyncio import CancelledError, wrap_future
from collections.abc import Callable, Mapping
from contextlib import (
    AbstractContextManager,
    AsyncExitStack,
    asynccontextmanager,
    contextmanager,
)
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

from router.domain.errors import MisconfiguredError, Problem
from router.domain.source_lines import name_of, source_of
from router.tool.call_thread import CallThread

MakerKind = Literal["function", "generator", "async generator"]
"""How a maker is called; a class is called as a function is."""


@dataclass(frozen=True)
class Maker:
    """A function or class, and how it is called."""

    function: Callable[..., Any]
    kind: MakerKind


class OpenDependencies:
    """Dependencies that were made, each closed after those that were made later."""

    def __init__(self, thread: CallThread | None = None) -> None:
        self._stack = AsyncExitStack()
        self._thread = thread

    async def close(self, *error: Any) -> None:
        """Close all of them; generators are told the error of the call, if there is one.

        A generator that catches the error doesn't keep it from the caller.
        """
        await self._stack.__aexit__(*(error or (None, None, None)))

    async def run(self, function: Callable[[], Any]) -> Any:
        """Return what a function returns, which runs in the thread of the call if there is one."""
        result = function() if self._thread is None else await self._thread.run(function)
        return await result if inspect.iscoroutine(result) else result

    async def open(self, maker: Maker, given: Mapping[str, Any]) -> Any:
        """Return what the maker makes with these arguments.

        Raises `MisconfiguredError` if a generator yields nothing.
        """
        if maker.kind == "function":
            return await self.run(partial(maker.function, **given))
        try:
            if maker.kind == "async generator":
                made = asynccontextmanager(maker.function)(**given)
                return await self._stack.enter_async_context(made)
            entered = contextmanager(maker.function)(**given)
            # First, since a call may be cancelled while the thread is still opening it.
            self._stack.push_async_exit(partial(self._leave, entered))
            return await self.run(entered.__enter__)
        except RuntimeError as error:
            if str(error) != "generator didn't yield":
                raise
            what = f"the dependency {name_of(maker.function)} yields nothing"
            told = Problem(*source_of(maker.function), what, "yield what it gives, once")
            raise MisconfiguredError(str(told)) from None

    async def _leave(self, entered: AbstractContextManager[Any], *error: Any) -> None:
        leave = partial(entered.__exit__, *error)
        if self._thread is None:
            leave()
            return
        closing = self._thread.submit(leave)
        if error[0] is not CancelledError:
            # A call that was cancelled doesn't wait for a function that is still running.
            await wrap_future(closing)
