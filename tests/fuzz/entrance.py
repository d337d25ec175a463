"""Entrances, a registry of them, and where each begins."""

import json
from collections.abc import Awaitable, Callable, Iterable, Iterator
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, Literal

CORPUS = Path(__file__).parent / "corpus"
ON_THE_LOOP = 0.25
"""Seconds of its processor's time for which a loop may stand still: everybody waits for it."""
BESIDE_IT = 5.0
"""The same of what is read on a thread or in a process of its own, for whoever sent it waits."""

Form = Literal["json", "text", "bytes", "request"]
"""Which changes make another input of one: a request is a head, an empty line and its body."""


@dataclass(frozen=True)
class Outcome:
    """What became of an input."""

    status: int = 200
    """As HTTP has it; of a function, 422 where it refused."""
    written: frozenset[str] = frozenset()
    """The tables that it changed."""
    said: str = ""
    seconds: float = 0.0
    """Processor time that it took in a child process, where it was tried there."""
    memory: int = 0
    """Bytes that it took there."""

    @property
    def refused(self) -> bool:
        """True where nothing of it may have been kept."""
        return self.status >= 400


Take = Callable[[bytes], Awaitable[Outcome]]
"""Takes an input in as the product would; raises nothing but what is a fault of the product's."""


@dataclass(frozen=True)
class Entrance:
    """Where bytes of strangers come in."""

    name: str
    about: str
    open: Callable[[], AbstractAsyncContextManager[Take]]
    tried: Callable[[], Iterable[bytes]] = tuple
    """Inputs that other tests have: their hostile tables, and what they take for sound."""
    form: Form = "text"
    stop: float = ON_THE_LOOP
    longest: int = 20_000
    """Bytes of an input."""
    memory: int = 256 * 1024 * 1024
    """Bytes that one input may take at once."""
    words: tuple[str, ...] = ()
    """Of the language that inputs are written in; changes put them into inputs."""
    foreseen: frozenset[int] = frozenset()
    """Statuses from 500 on that its protocol has for what isn't done here."""

    @property
    def folder(self) -> Path:
        """Its corpus."""
        return CORPUS / self.name

    def seeds(self) -> Iterator[bytes]:
        """All it begins with, none twice."""
        kept = (path.read_bytes() for path in sorted(self.folder.iterdir()))
        yield from dict.fromkeys(one for one in (*kept, *self.tried()) if len(one) <= self.longest)


ENTRANCES: dict[str, Entrance] = {}
MODULES = ("texts", "papers", "faces", "callbacks", "costs")
"""Where entrances are: of functions, of files, of HTTP, of chat platforms, and of languages."""


def registered(entrance: Entrance) -> Entrance:
    """Known by its name from now on."""
    assert entrance.name not in ENTRANCES
    ENTRANCES[entrance.name] = entrance
    return entrance


def entrances() -> dict[str, Entrance]:
    """All there are, by name."""
    # What flow files ask of any company is declared there.
    import_module("tests.conftest")
    for module in MODULES:
        import_module(f"tests.fuzz.{module}")
    return ENTRANCES


def as_bytes(value: Any) -> bytes:
    """What a table of tests has as an input: bytes and texts as they are, all else as JSON."""
    if isinstance(value, bytes):
        return value
    text = value if isinstance(value, str) else json.dumps(value)
    return text.encode("utf-8", "surrogatepass")
