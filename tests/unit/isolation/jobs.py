"""What the tests of isolation run in child processes."""

import os
import signal
import socket
import time

import re2

from router.domain.errors import DefinitionError, InvalidInput, Problem
from router.domain.locale import Localised

READY = b"ready"


def double(number: int) -> int:
    """Return twice the number."""
    return 2 * number


def refuse(field: str) -> str:
    """Refuse a field in both languages."""
    raise InvalidInput.at(field, Localised(zh="太长", en="it is too long"))


def find_problems(file: str) -> str:
    """Find one problem of a file."""
    raise DefinitionError([Problem(file, 3, "it is wrong", "mend it", ("states", 0))])


def fail(why: str) -> str:
    """Fail by a mistake of the program."""
    raise KeyError(why)


def spin(seconds: float) -> str:
    """Use the processor for so long."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        pass
    return "done"


def stay_in_native_code(exponent: int) -> str:
    """Multiply with the interpreter held, where no handler of Python's would run."""
    return str((7**exponent).bit_length())


def sleep(seconds: float) -> str:
    """Wait for so long."""
    time.sleep(seconds)
    return "awake"


def take_memory(size: int) -> int:
    """Take so many bytes."""
    return len(bytearray(size))


def take_native_memory(groups: int) -> str:
    """Have RE2 allocate what it likes."""
    return str(re2.search("()" * groups + "b", "a" * 10 + "b") is None)


def write(characters: int) -> str:
    """Return a text of so many characters."""
    return "x" * characters


def crash(number: int) -> str:
    """End by a signal, as native code does that overruns its stack."""
    os.kill(os.getpid(), number)
    return "still there"


def tell_and_wait(address: str) -> str:
    """Say over a socket that this has begun, with its pid, and then wait for ever."""
    with socket.socket(socket.AF_UNIX) as told:
        told.connect(address)
        told.send(str(os.getpid()).encode())
        signal.pause()
    return "never"


def names_of_environment() -> list[str]:
    """Return the variables that a job can read."""
    return sorted(os.environ)
