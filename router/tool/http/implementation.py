"""A declared endpoint as what stands behind a tool."""

from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import quote

from pydantic import JsonValue

from router.domain.errors import PermanentToolError, TransientToolError
from router.domain.texts import Localised
from router.tool.context import ToolContext
from router.tool.dependencies import Dependencies, Provider
from router.tool.http.answers import Redaction, failure_of, value_of
from router.tool.http.endpoint import Endpoint, Request, request
from router.tool.http.sending import Received, Sender, Unreached
from router.tool.http.wanted import Wanted
from router.tool.implementation import Arguments
from router.tool.json_schema import ArgumentSchema
from router.tool.keepable import keepable

KEY_HEADER = "Idempotency-Key"
_PRINTABLE = "!#$%&'()*+,-./:;<=>?@[]^_`{|}~"


@dataclass(frozen=True)
class HttpImplementation:
    """Checks arguments by the declared schema, sends them, and selects from the answer."""

    schema: ArgumentSchema
    endpoint: Endpoint
    wanted: Wanted
    seconds: float
    writes: bool
    repeatable: bool
    """True where a second call with the same key does nothing more."""
    sender: Sender
    redaction: Redaction
    from_document: bool = False
    """True for an operation of an OpenAPI document."""

    @property
    def parameters(self) -> dict[str, JsonValue]:
        """The schema as it is declared."""
        return self.schema.schema

    @property
    def providers(self) -> frozenset[Provider[Any]]:
        """None: what it needs stands in its file."""
        return frozenset()

    def problems(self, arguments: Arguments) -> list[str]:
        """What the schema says against them; null is as good as left out, where that may be."""
        return self.schema.problems(self.schema.given(arguments))

    async def call(
        self,
        arguments: Arguments,
        context: ToolContext,
        dependencies: Dependencies,  # noqa: ARG002 - what it needs stands in its file
    ) -> JsonValue:
        """What the server answers, as far as it is wanted.

        Raises:
            ArgumentsToolError: an argument fits nowhere, or the server says so.
            TransientToolError: the server is busy, broken or gone.
            PermanentToolError: it refuses, or the request can't be made of what it needs.
            UnusableResult: it has done what it was asked for, and its answer can't be used.
        """
        made = self._keyed(request(self.endpoint, self.schema.given(arguments), context), context)
        received = await self._sent(made)
        if not received.fine:
            raise failure_of(received, str(made.origin), self.redaction)
        return self.redaction.value(keepable(self.wanted.of(value_of(received))))

    async def _sent(self, made: Request) -> Received:
        """The answer. A write that can't be tried again for good ends where nothing was sent."""
        try:
            return await self.sender.send(made, self.seconds)
        except Unreached as error:
            if self.writes and not self.repeatable:
                done = Localised(zh=f"{error.said.zh}，什么也没做", en=f"{error}; nothing was done")
                raise PermanentToolError(done) from None
            raise TransientToolError(error.said) from None

    def _keyed(self, made: Request, context: ToolContext) -> Request:
        if not context.key:
            return made
        key = quote(context.key, safe=_PRINTABLE)
        return replace(made, headers={KEY_HEADER: key, **made.headers})
