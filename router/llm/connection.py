"""A model at a base URL: one HTTP client for it, and errors of this project for its own."""

import asyncio
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx2
import openai

from router.domain.errors import MisconfiguredError
from router.domain.loopback import may_be_proxied
from router.formats.http_body import PACKED, Unread, bounding
from router.llm.protocols import DEFAULT, protocol
from router.llm.refusals import BrokenOff, StatusAnswer, body_error, refusing, status_error
from router.llm.stream import MAX_BYTES, UnreadableAnswer
from router.llm.types import ModelUnavailable

CONNECT_SECONDS = 5.0
_UNBOUNDED = httpx2.Timeout(None, connect=CONNECT_SECONDS)
"""`failing_as_ours` bounds the whole; these would let a slow drip go on for ever."""


class ModelConnection:
    """A model at a base URL, with the key for it; on loopback no proxy stands between.

    Raises `MisconfiguredError` for a proxy of the environment that can't be used, and if the
    protocol of an extension makes no headers.
    """

    def __init__(
        self, base_url: str, model: str, api_key: str | None = None, spoken: str = DEFAULT
    ) -> None:
        self.endpoint = f"{model} at {re.sub(r'//[^/@]*@', '//', base_url)}"
        """Which model and where, for people and as a key; holds no secret."""
        self._carrier = self._carried(base_url)
        self.client: Any = protocol(spoken).connect(base_url, api_key, self._carrier)
        self._secret = api_key or ""

    def _carried(self, base_url: str) -> httpx2.AsyncClient:
        bounded = bounding(MAX_BYTES, lambda answer: answer.is_success)
        try:
            return openai.DefaultAsyncHttpxClient(
                timeout=_UNBOUNDED,
                trust_env=may_be_proxied(base_url),
                headers={"Accept-Encoding": PACKED},
                # Nobody but the server that is named is told what people wrote.
                follow_redirects=False,
                event_hooks={"response": [bounded, refusing]},
            )
        except (ImportError, ValueError) as error:
            raise MisconfiguredError(
                f"{self.endpoint} can't be reached through the proxy that the environment names in "
                f"HTTP_PROXY, HTTPS_PROXY or ALL_PROXY: {str(error).partition('. ')[0]}; name one "
                "that begins with http://, unset it, or `pip install socksio` for socks5://"
            ) from None

    async def aclose(self) -> None:
        """Give its sockets back."""
        await self._carrier.aclose()

    @asynccontextmanager
    async def failing_as_ours(self, seconds: float) -> AsyncIterator[None]:
        """Give what is within so many seconds; raises `ModelUnavailable` or `ModelRefused`."""
        limit = asyncio.timeout(seconds)
        try:
            async with limit:
                yield
        except TimeoutError:
            if not limit.expired():
                raise  # not ours: from something that was awaited within
            # What is left of a turn's time is never a round number.
            waited = round(seconds, 1)
            raise ModelUnavailable(f"{self.endpoint} took longer than {waited:g} s") from None
        except StatusAnswer as answer:
            raise status_error(self.endpoint, answer, self._secret) from None
        except (UnreadableAnswer, Unread) as error:
            raise ModelUnavailable(f"{self.endpoint}: its answer can't be read: {error}") from None
        except (BrokenOff, httpx2.HTTPError) as error:
            cause = str(error) if isinstance(error, BrokenOff) else type(error).__name__
            raise ModelUnavailable(
                f"{self.endpoint} can't be reached, or broke off: {cause}; is it running?"
            ) from None

    def refuse_error(self, body: Any) -> None:
        """Raise the error that came in the body of an answer with status 200, if one did."""
        if isinstance(body, dict) and body.get("error"):
            raise body_error(self.endpoint, body["error"], self._secret)
