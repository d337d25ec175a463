"""Bodies of answers that come over HTTP from whoever, within bounds however they are packed.

A client's own ways to read one whole know no bound, and take the text for what its server says.
"""

import zlib
from collections.abc import AsyncIterable, AsyncIterator, Awaitable, Callable, Iterator
from math import inf

import httpx2

PACKED = "gzip"
"""What to accept: nothing else is unpacked, but for `deflate`."""
MOST_SAID = 64 * 1024
"""Bytes of an answer that isn't fine: what it is about comes early."""
_GZIP_OR_ZLIB = 47
_PIECE = 64 * 1024


class Unread(httpx2.StreamError):
    """Bytes that can't be unpacked, or more of them than are read."""


async def unpacked(raw: AsyncIterable[bytes], encoding: str, most: float) -> AsyncIterator[bytes]:
    """The body, piece by piece and never more than `most` bytes of it; raises `Unread`.

    httpx2 keeps what follows the end of what was packed, and copies all of that at each piece.
    """
    encoding = encoding.strip().lower()
    if encoding not in ("identity", "gzip", "x-gzip", "deflate", ""):
        raise Unread(f"it is packed as {encoding[:40]!r}, which it wasn't asked for")
    unpacking = None if encoding in ("identity", "") else zlib.decompressobj(_GZIP_OR_ZLIB)
    left = coming = most
    async for packed in raw:
        # Packed bytes that come to nothing have a bound too: empty blocks, say.
        coming -= len(packed)
        for piece in _pieces(unpacking, packed) if unpacking else (packed,):
            left -= len(piece)
            if left < 0:
                yield piece[: int(left)]
                break
            yield piece
        if min(left, coming) < 0:
            raise Unread(f"it is over {most // 1024} KiB")
        if unpacking and unpacking.eof:
            return


def _pieces(unpacking: "zlib._Decompress", packed: bytes) -> Iterator[bytes]:
    try:
        while piece := unpacking.decompress(packed, _PIECE):
            yield piece
            packed = unpacking.unconsumed_tail
    except zlib.error as error:
        raise Unread(f"it can't be unpacked: {error}") from None


class _Bounded(httpx2.AsyncByteStream):
    def __init__(
        self, response: httpx2.Response, below: httpx2.AsyncByteStream, most: float
    ) -> None:
        self._below = below
        self._encoding = response.headers.pop("content-encoding", "")
        self._is_fine = response.is_success
        self._most = most if self._is_fine else min(most, MOST_SAID)

    async def __aiter__(self) -> AsyncIterator[bytes]:
        try:
            async for piece in unpacked(self._below, self._encoding, self._most):
                yield piece
        except Unread:
            if self._is_fine:
                raise

    async def aclose(self) -> None:
        await self._below.aclose()


def bounding(
    most: int, besides: Callable[[httpx2.Response], bool] = lambda _: False
) -> Callable[[httpx2.Response], Awaitable[None]]:
    """A hook for a client's answers: each is UTF-8, and ends once it is longer than `most` bytes.

    It ends in an `Unread`, or just so where it isn't fine: its status says more. Those of which
    `besides` is true are unpacked alone: whoever takes them piece by piece has bounds.
    """

    async def limit(response: httpx2.Response) -> None:
        response.encoding = "utf-8"
        if isinstance(response.stream, httpx2.AsyncByteStream):
            bound = inf if besides(response) else most
            response.stream = _Bounded(response, response.stream, bound)

    return limit
