"""Texts as vectors, from any server that has OpenAI's `/v1/embeddings`."""

import asyncio
from collections.abc import Sequence
from hashlib import blake2b
from typing import Any

import numpy as np
import openai
from numpy.typing import NDArray

from router.llm.client import question
from router.llm.connection import ModelConnection
from router.llm.refusals import unwrapping
from router.llm.stream import UnreadableAnswer, whole
from router.telemetry.tracing import outgoing

Vectors = NDArray[np.float32]

BATCH = 64
AT_ONCE = 4
MAX_TEXT = 8000
"""Characters of a text that are looked at; a server refuses what exceeds its model's context."""
DEFAULT_SECONDS = 30.0


class OpenAIEmbeddings:
    """The encoder `openai:<model>`: rows of length one, in the order of the texts.

    Models that want to be told queries from documents are given prefixes, as their cards say.
    """

    def __init__(
        self,
        base_url: str,
        model: str,
        api_key: str | None = None,
        seconds: float = DEFAULT_SECONDS,
        query_prefix: str = "",
        document_prefix: str = "",
    ) -> None:
        self.name = f"openai:{model}"
        self.dimensions: int | None = None
        """Known once the first text was encoded."""
        self._connection = ModelConnection(base_url, model, api_key)
        self._model = model
        self._base_url = base_url
        self._seconds = seconds
        self._query_prefix = query_prefix
        self._document_prefix = document_prefix
        made_by = "\n".join((self._connection.endpoint, query_prefix, document_prefix))
        self.version = blake2b(made_by.encode(), digest_size=6).hexdigest()
        """Other vectors have another version: the same name may mean another model elsewhere."""

    async def queries(self, texts: Sequence[str]) -> Vectors:
        """What people ask, a unit vector a row; raises `ModelUnavailable` or `ModelRefused`."""
        return await self._encoded([self._query_prefix + text for text in texts])

    async def documents(self, texts: Sequence[str]) -> Vectors:
        """What can be found, a unit vector a row; raises the same."""
        return await self._encoded([self._document_prefix + text for text in texts])

    async def aclose(self) -> None:
        """Give its sockets back."""
        await self._connection.aclose()

    async def _encoded(self, texts: list[str]) -> Vectors:
        batches = [texts[start : start + BATCH] for start in range(0, len(texts), BATCH)]
        rows: list[Vectors] = []
        for start in range(0, len(batches), AT_ONCE):
            tasks = map(self._batch, batches[start : start + AT_ONCE])
            # All are awaited before the first error goes up: no request is left behind.
            for result in await asyncio.gather(*tasks, return_exceptions=True):
                if isinstance(result, BaseException):
                    raise result
                rows.append(result)
        return np.concatenate(rows) if rows else np.zeros((0, self.dimensions or 0), np.float32)

    async def _batch(self, texts: list[str]) -> Vectors:
        create = self._connection.client.embeddings.with_streaming_response.create
        # Servers refuse an empty text.
        asked = [text[:MAX_TEXT].strip() or "-" for text in texts]
        with question("embeddings", "openai", self._model, self._base_url):
            async with self._connection.failing_as_ours(self._seconds):
                with unwrapping(openai.APIConnectionError):
                    async with create(
                        model=self._model,
                        input=asked,
                        encoding_format="float",
                        extra_headers=outgoing(),
                    ) as response:
                        body = await whole(response.iter_bytes())
                self._connection.refuse_error(body)
                return self._checked(_rows(body, len(texts)))

    def _checked(self, rows: Vectors) -> Vectors:
        """The rows at length one, all as long as every row before."""
        self.dimensions = self.dimensions or rows.shape[1]
        if rows.shape[1] != self.dimensions:
            now, before = rows.shape[1], self.dimensions
            raise UnreadableAnswer(f"it has {now} dimensions, and had {before} before")
        lengths = np.linalg.norm(rows, axis=1, keepdims=True)
        if not np.all(np.isfinite(lengths) & (lengths > 0)):
            raise UnreadableAnswer("it holds a vector without a direction")
        unit: Vectors = rows / lengths
        return unit


def _rows(body: Any, count: int) -> Vectors:
    data = body.get("data") if isinstance(body, dict) else None
    if not isinstance(data, list) or len(data) != count:
        raise UnreadableAnswer(f"it doesn't hold one vector for each of {count} texts")
    try:
        ordered = sorted(data, key=lambda entry: int(entry["index"]))
        rows = np.array([entry["embedding"] for entry in ordered], dtype=np.float32)
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        raise UnreadableAnswer(f"its vectors can't be read: {error}") from None
    if rows.ndim != 2 or rows.shape[1] == 0:  # noqa: PLR2004
        raise UnreadableAnswer("it holds no vectors")
    return rows
