"""A server that speaks OpenAI's API, reached through the openai client.

The client only carries bytes here: it retries nothing (whoever runs the activity does), and
what it raises comes out as this project's errors.
"""

import asyncio
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import openai

from router.domain.errors import MisconfiguredError
from router.domain.loopback import may_be_proxied
from router.llm import failures
from router.llm.bodies import Unreadable
from router.llm.errors import ModelUnavailable

CONNECT_SECONDS = 5.0
_UNBOUNDED = openai.Timeout(None, connect=CONNECT_SECONDS)
"""`failing_as_ours` bounds the whole; these would let a slow drip go on for ever."""
NO_KEY = "none"
"""Sent where no key is set: left without, the client would look for one in the environment."""


class Connection:
    """A model at a base URL, with the key for it; on loopback no proxy stands between.

    Raises:
        MisconfiguredError: it would go through a proxy of the environment that can't be used.
    """

    def __init__(self, base_url: str, model: str, api_key: str | None = None) -> None:
        self.endpoint = f"{model} at {re.sub(r'//[^/@]*@', '//', base_url)}"
        """Which model and where, for people and as a key; holds no secret."""
        self.client = openai.AsyncOpenAI(
            base_url=base_url,
            api_key=api_key or NO_KEY,
            max_retries=0,
            timeout=_UNBOUNDED,
            http_client=self._carrier(base_url),
        )
        self._secret = api_key or ""

    def _carrier(self, base_url: str) -> openai.DefaultAsyncHttpxClient:
        try:
            return openai.DefaultAsyncHttpxClient(
                timeout=_UNBOUNDED, trust_env=may_be_proxied(base_url)
            )
        except (ImportError, ValueError) as error:
            raise MisconfiguredError(
                f"{self.endpoint} can't be reached through the proxy that the environment names in "
                f"HTTP_PROXY, HTTPS_PROXY or ALL_PROXY: {str(error).partition('. ')[0]}; name one "
                "that begins with http://, unset it, or `pip install socksio` for socks5://"
            ) from None

    async def aclose(self) -> None:
        """Give its sockets back."""
        await self.client.close()

    @asynccontextmanager
    async def failing_as_ours(self, seconds: float) -> AsyncIterator[None]:
        """Give what is within so many seconds.

        Raises:
            ModelUnavailable: the server is busy, broken or gone, or took too long.
            ModelRefused: it won't take the request.
        """
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
        except openai.APIStatusError as error:
            raise failures.of_status(self.endpoint, error, self._secret) from None
        except failures.DROPPED as error:
            raise failures.of_connection(self.endpoint, error) from None
        except Unreadable as error:
            raise ModelUnavailable(f"{self.endpoint}: its answer can't be read: {error}") from None

    def refuse_error(self, body: Any) -> None:
        """Raise the error that came in the body of an answer with status 200, if one did."""
        if isinstance(body, dict) and body.get("error"):
            raise failures.of_body(self.endpoint, body["error"], self._secret)
