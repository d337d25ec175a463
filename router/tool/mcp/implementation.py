"""What stands behind a tool of a server: the call, and what was answered.

What a server answered, as JSON that the rest of the house can carry, and files.

What stands behind a tool of a server: its schema, the ways to it, and how it fails here.
"""

from base64 import b64decode
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from hashlib import sha256
from mimetypes import guess_extension
from typing import Any
from urllib.parse import unquote, urlsplit

import mcp_types as types
from mcp import Client, MCPError
from pydantic import JsonValue, ValidationError

from router.domain.errors import (
    AnswersNeeded,
    ArgumentsToolError,
    PermanentToolError,
    RouterError,
    TransientToolError,
    UnknownOutcome,
    UnusableResult,
)
from router.domain.locale import Localised
from router.tool.context import Dependencies, Provider, ToolContext
from router.tool.implementation import Arguments, ArgumentSchema
from router.tool.mcp.connection import Away, Interview, Listing, Lost, McpConnection
from router.tool.mcp.transport import TOO_LONG
from router.tool.mcp.untrusted import LONGEST_ERROR, visible, visible_value
from router.tool.results import ToolFile, as_json

LONGEST_TEXT = 500_000
"""Characters of all texts of a result together; whoever carries them makes pages of them."""


def value_of(result: types.CallToolResult) -> object:
    """The result of a call: its structured content where it has such, else its texts.

    One text is that text; several, and whatever isn't text, are a list. Pictures, sounds and
    other bytes are a `ToolFile` each, which `router.tool.results.as_json` makes JSON of.
    """
    parts = contents(result.content)
    attached = [part for part in parts if not isinstance(part, str)]
    if result.structured_content is not None:
        value = result.structured_content
        return {"value": value, "attached": attached} if attached else value
    if len(parts) == 1 and not attached:
        return parts[0]
    return parts or None


def contents(blocks: Sequence[types.ContentBlock]) -> list[object]:
    """Each block as a text, a file or what describes it; together no longer than they may be."""
    found: list[object] = []
    left = LONGEST_TEXT
    for block in blocks:
        part = _part(block, left)
        left -= len(part) if isinstance(part, str) else 200
        if left < 0:
            found.append("… (more was left out)")
            break
        found.append(part)
    return found


def _part(block: types.ContentBlock, longest: int) -> object:
    if isinstance(block, types.TextContent):
        return visible(block.text, max(longest, 1))
    if isinstance(block, types.ImageContent | types.AudioContent):
        return _file(block.type, block.mime_type, block.data)
    if isinstance(block, types.ResourceLink):
        link = {"type": "resource_link", "uri": block.uri, "name": block.name}
        return {key: visible(text, 2000) for key, text in link.items()}
    return resource(block.resource, longest)


def resource(
    found: types.TextResourceContents | types.BlobResourceContents, longest: int = LONGEST_TEXT
) -> object:
    """A resource: its text, or the file that its bytes are."""
    uri = visible(found.uri, 2000)
    if isinstance(found, types.TextResourceContents):
        return {"type": "resource", "uri": uri, "text": visible(found.text, max(longest, 1))}
    last = unquote(urlsplit(uri).path.rpartition("/")[2])
    return _file(last or "resource", found.mime_type or "", found.blob)


def said(result: types.CallToolResult) -> str:
    """The words of a result that says it failed."""
    texts = [block.text for block in result.content if isinstance(block, types.TextContent)]
    return visible(" ".join(texts), LONGEST_ERROR).strip() or "it failed and doesn't say why"


def _file(name: str, mime_type: str, base64: str) -> ToolFile | dict[str, JsonValue]:
    """The file that was sent; where it can't be read, what was said of it."""
    said = visible(mime_type, 100)
    try:
        content = b64decode(base64, validate=True)
    except ValueError:
        return {"type": visible(name, 100), "mime_type": said, "unreadable": "it is no base64"}
    ending = "" if "." in name else guess_extension(said) or ""
    return ToolFile(visible(name, 200) + ending, said, content)


KEY = "intent-router/idempotency-key"
"""In the `_meta` of a call that writes: the same on every retry, for servers that look at it."""

_NO_WAY_BACK = "no back-channel"
"""What the official library says in a server that would ask during a call, and can't."""

Question = Callable[[Client, dict[str, Any], str, Interview], Awaitable[object]]
"""Asks a server, with arguments, an idempotency key and what the person has answered so far; what
it gives may have files in it."""


@dataclass(frozen=True)
class ServerTool:
    """An implementation on a server, or on the one that stands in for it."""

    about: str
    """The tool's name here, for what is said of it."""
    schema: ArgumentSchema
    connections: Sequence[McpConnection]
    has: Callable[[Listing], bool]
    """Whether a server can be asked: the one that stands in may lack it."""
    question: Question
    repeatable: bool
    """True where calling twice is the same as calling once."""
    kind = "mcp"

    @property
    def parameters(self) -> dict[str, JsonValue]:
        """The server's schema of the arguments."""
        return self.schema.schema

    @property
    def providers(self) -> frozenset[Provider[Any]]:
        """None: all that it needs is at the server."""
        return frozenset()

    def problems(self, arguments: Arguments) -> list[str]:
        """What the schema says against them."""
        return self.schema.problems(self.schema.given(arguments))

    async def call(self, arguments: Arguments, context: ToolContext, _: Dependencies) -> JsonValue:
        """Ask the first server that is there.

        Raises:
            ArgumentsToolError: it says that it failed.
            AnswersNeeded: it wants to know something from the person first.
            PermanentToolError: it refuses; or it isn't there, and nothing was done.
            TransientToolError: no server is there, and a retry does no harm.
            UnknownOutcome: it may have been done.
        """
        interview = Interview(context.answers)
        given = self.schema.given(arguments)
        key = sha256(context.key.encode()).hexdigest() if context.key else ""
        try:
            answer = await self._asked(
                lambda client: self.question(client, given, key, interview), interview
            )
        except (ArgumentsToolError, PermanentToolError) as error:
            if interview.asked:
                said = Localised(
                    zh=f"{self.about} 要先向本人问清楚（{interview.summary}）",
                    en=f"{self.about} {interview.summary}",
                )
                raise AnswersNeeded(said, interview.asked) from error
            raise
        return await as_json(visible_value(answer), context.keep)

    async def _asked(
        self, question: Callable[[Client], Awaitable[object]], interview: Interview
    ) -> object:
        why = "isn't there"
        for connection in self.connections:
            if connection.listing is None or not self.has(connection.listing):
                continue
            try:
                return await connection.ask(question, interview)
            except Away as away:
                why = f"isn't there: {away}"
            except Lost as lost:
                if not self.repeatable:
                    raise self._unknown(f"the server went before it answered ({lost})") from lost
                why = f"went before it answered: {lost}"
            except MCPError as error:
                raise self._refused(error) from error
            except (RuntimeError, ValidationError) as error:
                raise self._unreadable(error) from error
        if self.repeatable:
            raise TransientToolError(
                Localised(
                    zh=f"{self.about} 的服务器现在连不上（{why}）",
                    en=f"the server of {self.about} {why}",
                )
            )
        raise PermanentToolError(
            Localised(
                zh=f"{self.about} 的服务器现在连不上，什么也没做（{why}）",
                en=f"the server of {self.about} {why}; nothing was done",
            )
        )

    def _refused(self, error: MCPError) -> RouterError:
        words = visible(error.message, LONGEST_ERROR)
        if _NO_WAY_BACK in error.message:
            return PermanentToolError(_unaskable(self.about, words))
        if error.code == types.INVALID_PARAMS:
            return ArgumentsToolError(_in_its_words(self.about, words))
        if error.code == TOO_LONG and self.repeatable:
            return UnusableResult(
                Localised(
                    zh=f"{self.about} 的结果太长，请一次少要一些（原话：«{words}»）",
                    en=f"{self.about}: {words}; ask it for less at a time",
                )
            )
        if error.code in (types.INTERNAL_ERROR, types.PARSE_ERROR, TOO_LONG):
            if self.repeatable:
                return TransientToolError(_in_its_words(self.about, words))
            return self._unknown(words)
        return PermanentToolError(_in_its_words(self.about, words))

    def _unreadable(self, error: Exception) -> RouterError:
        words = visible(str(error), LONGEST_ERROR)
        if not self.repeatable:
            return self._unknown(f"its answer can't be read ({words})")
        # What isn't as the protocol has it is an answer all the same; anything else is none.
        kind = UnusableResult if isinstance(error, ValidationError) else PermanentToolError
        return kind(
            Localised(
                zh=f"{self.about} 的回答读不了（{words}）",
                en=f"{self.about} gave an answer that can't be read: {words}",
            )
        )

    def _unknown(self, why: str) -> UnknownOutcome:
        return UnknownOutcome(
            Localised(
                zh=f"{self.about} 可能办成了，也可能没有（{why}），请到办理它的系统里查一下",
                en=f"{self.about} may or may not have happened: {why}; "
                "look in the system it writes to",
            )
        )


def _unaskable(about: str, words: str) -> Localised:
    """What is to be done where a server wants to ask as this version of the protocol can't."""
    return Localised(
        zh=f"{about} 想在办理中间提问，它的连接方式做不到，请管理员在 MCP 服务器文件里给它加上 "
        f'"protocol": "legacy"（原话：«{words}»）',
        en=f"{about} wants to ask something in the middle of the call, which this session can't "
        f'carry: write "protocol": "legacy" for its server, or have its tool ask by '
        f"Resolve and Elicit ({words})",
    )


def _in_its_words(about: str, words: str) -> Localised:
    """What a server says, which nobody here can say in another language."""
    return Localised(zh=f"{about} 没有办成，原话：«{words}»", en=f"{about}: {words}")


def question_for(tool: str, about: str) -> Question:
    """The question that calls a tool of a server, by the name it has there."""

    async def ask(client: Client, arguments: dict[str, Any], key: str, _: Interview) -> object:
        meta: Any = {KEY: key} if key else None
        result = await client.call_tool(tool, arguments, meta=meta)
        if result.is_error:
            raise ArgumentsToolError(_in_its_words(about, said(result)))
        return value_of(result)

    return ask
