"""The process that forks a child for each job; `router.isolation.runner` starts it.

It has imported the modules that jobs need, so that a job costs a fork and not an import, and holds
neither settings nor secrets. A job arrives as three things over the socket whose number is the
first argument: its limits, the connection over which the child reads the call and writes the
result, and a pipe for how the child ended. The child is killed when its connection is closed.
"""

import gc
import importlib
import os
import pickle
import select
import signal
import socket
import sys
import traceback
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, get_type_hints

from pydantic import BaseModel, TypeAdapter

from router.domain.errors import DefinitionError, FieldProblem, InvalidInput, Problem
from router.domain.locale import Localised
from router.isolation.limits import ProcessLimits, bound_process, seclude_process

REFUSED, OUT_OF_MEMORY, TOO_LONG, FAILED = 10, 11, 12, 13
"""Exit statuses of a child that has no result; with `REFUSED` and `FAILED` it says why."""
MAX_TRACEBACK_CHARS = 4_000
MAX_MESSAGE_BYTES = 4_096
MAX_PREPARATION_BYTES = 65_536


class ChildEnd(BaseModel):
    """How a child ended: its exit status, or minus the signal that killed it, and its cost."""

    status: int
    cpu_seconds: float
    peak_memory_bytes: int


class Refusal(BaseModel):
    """An `InvalidInput` or a `DefinitionError` that a function has raised, as JSON."""

    message: Localised | None
    """Of an `InvalidInput`; None: it is a `DefinitionError`."""
    fields: tuple[FieldProblem, ...] = ()
    problems: tuple[Problem, ...] = ()

    @classmethod
    def from_error(cls, error: InvalidInput | DefinitionError) -> "Refusal":
        """Take the error apart."""
        if isinstance(error, DefinitionError):
            return cls(message=None, problems=tuple(error.problems))
        return cls(message=error.said, fields=tuple(error.problems))

    def as_error(self) -> InvalidInput | DefinitionError:
        """Put the error together again."""
        if self.message is None:
            return DefinitionError(list(self.problems))
        return InvalidInput(self.message, list(self.fields))


def result_adapter(function: Callable[..., Any]) -> TypeAdapter[Any]:
    """Return what writes a function's results as JSON and reads them, by its annotation."""
    return TypeAdapter(get_type_hints(function)["return"])


@dataclass(frozen=True)
class _Child:
    pid: int
    connection: socket.socket
    end: int
    """The pipe for how it ended."""
    alive: int
    """A pipe of which only the child has the other end: it hangs up when the child is gone."""


class _Jobs:
    def __init__(self, arrivals: socket.socket) -> None:
        self._arrivals = arrivals
        self._poll = select.poll()
        self._poll.register(arrivals, select.POLLIN)
        self._children: dict[int, _Child] = {}

    def serve(self) -> None:
        """Fork a child for each job until nobody sends any more."""
        while True:
            for descriptor, _ in self._poll.poll():
                if descriptor == self._arrivals.fileno():
                    if not self._accept():
                        return  # the children end with this process
                elif descriptor in self._children:
                    self._finish(self._children[descriptor], descriptor)

    def _accept(self) -> bool:
        message, descriptors, _, _ = socket.recv_fds(self._arrivals, MAX_MESSAGE_BYTES, 2)
        if not message:
            return False
        limits = ProcessLimits.model_validate_json(message)
        connection, end = socket.socket(fileno=descriptors[0]), descriptors[1]
        alive, its_end = os.pipe()
        pid = os.fork()
        if pid == 0:
            # Nothing that a child does may reach the loop above.
            try:
                self._let_go_of_others()
                os.close(end)
                os.close(alive)
                _run(connection, limits)
            finally:
                os._exit(FAILED)
        os.close(its_end)
        child = _Child(pid, connection, end, alive)
        for descriptor in (connection.fileno(), alive):
            self._children[descriptor] = child
            self._poll.register(descriptor, 0)  # to be told of its hang-up alone
        return True

    def _let_go_of_others(self) -> None:
        """Close, in a new child, what belongs to others: their ends couldn't be told otherwise."""
        self._arrivals.close()
        for other in set(self._children.values()):
            other.connection.close()
            os.close(other.end)
            os.close(other.alive)

    def _finish(self, child: _Child, descriptor: int) -> None:
        if descriptor != child.alive:  # nobody waits for the result any more
            os.kill(child.pid, signal.SIGKILL)
        for each in (child.connection.fileno(), child.alive):
            self._poll.unregister(each)
            del self._children[each]
        _, status, used = os.wait4(child.pid, 0)
        end = ChildEnd(
            status=os.waitstatus_to_exitcode(status),
            cpu_seconds=used.ru_utime + used.ru_stime,
            peak_memory_bytes=used.ru_maxrss * 1024,
        )
        with suppress(BrokenPipeError):
            os.write(child.end, end.model_dump_json().encode())
        os.close(child.end)
        os.close(child.alive)
        child.connection.close()


def _run(connection: socket.socket, limits: ProcessLimits) -> None:
    """Read a call, make it, write its result, and exit."""
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    bound_process(limits)
    try:
        with connection.makefile("rb") as sent:
            function, arguments, named = pickle.load(sent)  # noqa: S301 - the parent's own
        output = result_adapter(function).dump_json(function(*arguments, **named))
        status = 0 if len(output) <= limits.output_bytes else TOO_LONG
    except MemoryError:
        os._exit(OUT_OF_MEMORY)
    except (InvalidInput, DefinitionError) as error:
        output, status = Refusal.from_error(error).model_dump_json().encode(), REFUSED
    except Exception:  # noqa: BLE001 - its parent raises it, with this text
        output, status = traceback.format_exc()[-MAX_TRACEBACK_CHARS:].encode(), FAILED
    if status != TOO_LONG:
        connection.sendall(output)
    os._exit(status)


def main(descriptor: int, modules: Sequence[str]) -> None:
    """Import the modules, say that this process is ready, and serve."""
    arrivals = socket.socket(fileno=descriptor)
    arrivals.set_inheritable(False)
    seclude_process()
    for name in modules:
        importlib.import_module(name)
    prepare = pickle.loads(arrivals.recv(MAX_PREPARATION_BYTES))  # noqa: S301 - the parent's own
    if prepare is not None:
        prepare()
    nowhere = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(nowhere, stream)
    gc.collect()
    gc.freeze()  # a child that collects garbage then copies no page of what is here
    arrivals.send(b"!")
    _Jobs(arrivals).serve()


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2:])
