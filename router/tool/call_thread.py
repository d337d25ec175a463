"""The thread in which the plain functions of one call run."""

import asyncio
import contextvars
import threading
from collections.abc import Callable
from concurrent.futures import Future
from queue import SimpleQueue
from typing import Any, TypeVar

T = TypeVar("T")
_Work = tuple[contextvars.Context, Callable[[], Any], Future[Any]]


class CallThread:
    """Runs functions one after the other in a single thread, which starts with the first one.

    One thread for all functions of a call, since libraries such as `sqlite3` refuse an object that
    another thread has made. It is a daemon: a function that never returns doesn't keep the process
    from ending, as an executor's would.
    """

    def __init__(self) -> None:
        self._work: SimpleQueue[_Work | None] = SimpleQueue()
        self._thread: threading.Thread | None = None

    def submit(self, function: Callable[[], T]) -> Future[T]:
        """Let the thread call a function as soon as it has done what came before."""
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="tool call", daemon=True)
            self._thread.start()
        future: Future[T] = Future()
        self._work.put((contextvars.copy_context(), function, future))
        return future

    async def run(self, function: Callable[[], T]) -> T:
        """Return what the function returns. If the caller is cancelled, the function goes on."""
        return await asyncio.wrap_future(self.submit(function))

    def close(self) -> None:
        """Let the thread end after what it was given."""
        self._work.put(None)

    def _run(self) -> None:
        while (work := self._work.get()) is not None:
            context, function, future = work
            if not future.set_running_or_notify_cancel():
                continue
            try:
                future.set_result(context.run(function))
            except StopIteration as error:  # no future of asyncio takes this one
                future.set_exception(RuntimeError(f"it raised {error!r}"))
            except BaseException as error:  # noqa: BLE001 - the caller is told, whatever it is
                future.set_exception(error)
