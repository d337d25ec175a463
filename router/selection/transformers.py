"""Any sentence-transformers model, by its name or the folder that it is in.

The package and torch are several gigabytes, so they are an extra that nothing else needs:
`pip install 'intent-router[sentence-transformers]'`. Runs on the CPU.
"""

import asyncio
import re
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from hashlib import blake2b
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from router.domain.errors import MisconfiguredError
from router.selection.encoder import Vectors, unit_rows, well_formed

BATCH = 32
_PACKAGE = "sentence-transformers"


class Prompts(NamedTuple):
    """What is written before a text, by the side that it is on."""

    query: str = ""
    document: str = ""


FAMILIES: tuple[tuple[str, Prompts], ...] = (
    (
        r"e5.*instruct",
        Prompts(
            "Instruct: Given a request, retrieve the tool or process that serves it\nQuery: ",
        ),
    ),
    (r"(?:^|[/_-])e5(?:$|[-_])", Prompts("query: ", "passage: ")),
    (r"bge-.*-zh", Prompts("为这个句子生成表示以用于检索相关文章：")),
    (r"bge-.*-en", Prompts("Represent this sentence for searching relevant passages: ")),
    (r"nomic-embed", Prompts("search_query: ", "search_document: ")),
)
"""Prompts by model name, from the cards of models whose own files don't say them."""


class SentenceTransformersEncoder:
    """A sentence-transformers model on the CPU. `router.selection.encoder.Encoder`.

    Args:
        model: A name on the model hub, or a folder. A name's weights can change under it
            unnoticed; a folder's files are part of the version.
    """

    def __init__(self, model: str) -> None:
        self._model_name = model
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="encoder")
        self.dimensions: int | None = None

    @property
    def name(self) -> str:
        """`sentence-transformers:<model>`."""
        return f"{_PACKAGE}:{self._model_name}"

    @cached_property
    def version(self) -> str:
        """The package's version and, for a folder, a fingerprint of its files."""
        try:
            installed = version(_PACKAGE)
        except PackageNotFoundError:
            installed = "absent"
        return f"{installed}+{_fingerprint(Path(self._model_name))}"

    async def queries(self, texts: Sequence[str]) -> Vectors:
        """Vectors of what somebody asks, with the model's prompt for queries."""
        return await self._encoded(texts, is_query=True)

    async def documents(self, texts: Sequence[str]) -> Vectors:
        """Vectors of what may be the answer, with the model's prompt for documents."""
        return await self._encoded(texts, is_query=False)

    async def _encoded(self, texts: Sequence[str], *, is_query: bool) -> Vectors:
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._thread, self._encode, texts, is_query)

    def _encode(self, texts: Sequence[str], is_query: bool) -> Vectors:
        if not texts:
            return np.empty((0, self.dimensions or 0), np.float32)
        prompts = self._prompts
        rows = self._model.encode(
            [well_formed(text) for text in texts],
            prompt=prompts.query if is_query else prompts.document,
            batch_size=BATCH,
            show_progress_bar=False,
        )
        vectors = unit_rows(np.asarray(rows))
        self.dimensions = vectors.shape[1]
        return vectors

    @cached_property
    def _prompts(self) -> Prompts:
        return model_prompts(self._model_name, getattr(self._model, "prompts", None) or {})

    @cached_property
    def _model(self) -> Any:
        try:
            from sentence_transformers import SentenceTransformer
        except ImportError as error:
            raise MisconfiguredError(
                f"ROUTER_EMBEDDER is {self.name}, and the package {_PACKAGE} isn't installed; "
                f"pip install 'intent-router[{_PACKAGE}]'"
            ) from error
        try:
            return SentenceTransformer(self._model_name, device="cpu")
        except (OSError, ValueError) as error:
            raise MisconfiguredError(
                f"ROUTER_EMBEDDER is {self.name}, and the model can't be loaded ({error}); "
                "name a model of the hub, or a folder that holds one"
            ) from error


def model_prompts(model: str, own: dict[str, str]) -> Prompts:
    """What to write before texts: the model's own prompts, else those of its family's card.

    >>> model_prompts("intfloat/multilingual-e5-base", {}).document
    'passage: '
    >>> model_prompts("some/model", {"query": "q: ", "passage": "p: "})
    Prompts(query='q: ', document='p: ')
    """
    if any(own.get(side) for side in ("query", "document", "passage")):
        return Prompts(own.get("query", ""), own.get("document") or own.get("passage", ""))
    matching = (prompts for pattern, prompts in FAMILIES if re.search(pattern, model.lower()))
    return next(matching, Prompts())


def _fingerprint(folder: Path) -> str:
    """Of names, sizes and times: reading gigabytes to find nothing changed would cost more."""
    if not folder.is_dir():
        return "hub"
    digest = blake2b(digest_size=8)
    for file in sorted(path for path in folder.rglob("*") if path.is_file()):
        status = file.stat()
        digest.update(f"{file.name}|{status.st_size}|{status.st_mtime_ns}\n".encode())
    return digest.hexdigest()
