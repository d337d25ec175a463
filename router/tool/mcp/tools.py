"""The tools of a server as tools of this house: names, permissions, calls, and what is answered.

What a server says of itself never makes anything easier: a tool writes, and so is confirmed, until
the operator's file says that it reads; one that calls itself destructive is confirmed even then.
Resources and prompts of a server are tools too: they are listed, and read by name.
"""

import logging
from base64 import b64decode
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
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
from router.domain.locale import LOCALES, Locale, Localised
from router.tool.context import Dependencies, Provider, ToolContext
from router.tool.implementation import Arguments, ArgumentSchema
from router.tool.labels import labelled
from router.tool.mcp.connection import Away, Interview, Listing, Lost, McpConnection
from router.tool.mcp.file import ServerEntry, ToolEntry, names
from router.tool.mcp.keeper import TOO_LONG
from router.tool.mcp.untrusted import (
    LONGEST_ERROR,
    LONGEST_TITLE,
    visible,
    visible_value,
    worded_schema,
    wording,
)
from router.tool.results import ToolFile, as_json
from router.tool.signature import SourceLine
from router.tool.tool import Permission, Tool, ToolOptions

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
            zh = f"{self.about} 的服务器现在连不上（{why}）"
            en = f"the server of {self.about} {why}"
            raise TransientToolError(Localised(zh=zh, en=en))
        zh = f"{self.about} 的服务器现在连不上，什么也没做（{why}）"
        en = f"the server of {self.about} {why}; nothing was done"
        raise PermanentToolError(Localised(zh=zh, en=en))

    def _refused(self, error: MCPError) -> RouterError:
        words = visible(error.message, LONGEST_ERROR)
        if _NO_WAY_BACK in error.message:
            return PermanentToolError(_unaskable(self.about, words))
        if error.code == types.INVALID_PARAMS:
            return ArgumentsToolError(_in_its_words(self.about, words))
        if error.code == TOO_LONG and self.repeatable:
            zh = f"{self.about} 的结果太长，请一次少要一些（原话：«{words}»）"
            en = f"{self.about}: {words}; ask it for less at a time"
            return UnusableResult(Localised(zh=zh, en=en))
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
        zh = f"{self.about} 的回答读不了（{words}）"
        en = f"{self.about} gave an answer that can't be read: {words}"
        return kind(Localised(zh=zh, en=en))

    def _unknown(self, why: str) -> UnknownOutcome:
        zh = f"{self.about} 可能办成了，也可能没有（{why}），请到办理它的系统里查一下"
        en = f"{self.about} may or may not have happened: {why}; look in the system it writes to"
        return UnknownOutcome(Localised(zh=zh, en=en))


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


MOST_LISTED = 100
"""Of resources or prompts in one answer."""

_TEXT: Mapping[str, JsonValue] = {"type": "string", "minLength": 1, "maxLength": 2000}
_PAGE: Mapping[str, JsonValue] = {
    "type": "object",
    "properties": {"cursor": {**_TEXT, "description": "Where the last page ended"}},
}


@dataclass(frozen=True)
class Extra:
    """Something besides its tools that a server can be asked."""

    name: str
    title: Localised
    description: str
    parameters: Mapping[str, JsonValue]
    has: Callable[[Listing], bool]
    question: Question


async def _list_resources(client: Client, arguments: dict[str, Any], *_: object) -> JsonValue:
    page = await client.list_resources(cursor=arguments.get("cursor"))
    listed: list[JsonValue] = [
        {
            "uri": each.uri,
            "name": wording(each.title or each.name, 200),
            "description": wording(each.description or ""),
        }
        for each in page.resources[:MOST_LISTED]
    ]
    return {"resources": listed, "next": page.next_cursor}


async def _read_resource(client: Client, arguments: dict[str, Any], *_: object) -> object:
    read = await client.read_resource(arguments["uri"])
    shown = max(1, len(read.contents))
    return [resource(each, LONGEST_TEXT // shown) for each in read.contents[:MOST_LISTED]]


async def _list_prompts(client: Client, arguments: dict[str, Any], *_: object) -> JsonValue:
    page = await client.list_prompts(cursor=arguments.get("cursor"))
    listed: list[JsonValue] = [
        {
            "name": each.name,
            "description": wording(each.description or ""),
            "arguments": [argument.name for argument in each.arguments or []],
        }
        for each in page.prompts[:MOST_LISTED]
    ]
    return {"prompts": listed, "next": page.next_cursor}


async def _get_prompt(
    client: Client, arguments: dict[str, Any], _: str, interview: Interview
) -> object:
    """Its wording; what it needs and wasn't given, the person is asked for."""
    name, given = arguments["name"], arguments.get("arguments") or {}
    # What the prompt needs beside what is given; nothing of one that isn't there.
    listed = (await client.list_prompts()).prompts
    takes = next((each.arguments for each in listed if each.name == name), None)
    lacking = [each for each in takes or [] if each.required and each.name not in given]
    answered = _answered(name, lacking, interview) if lacking else {}
    prompt = await client.get_prompt(name, {**given, **answered} or None)
    parts = contents([message.content for message in prompt.messages])
    roles = [message.role for message in prompt.messages]
    return [{"role": role, "content": part} for role, part in zip(roles, parts, strict=False)]


def _answered(
    prompt: str, lacking: Sequence[types.PromptArgument], interview: Interview
) -> Mapping[str, str]:
    """The person's answers; raises where there are none yet, or they won't give any."""
    properties = {
        each.name: {"type": "string", "description": wording(each.description or each.name, 200)}
        for each in lacking
    }
    schema = {"type": "object", "properties": properties, "required": list(properties)}
    answer = interview.answer(
        types.ElicitRequestFormParams(
            message=f"What does the prompt {prompt} need?", requested_schema=schema
        )
    )
    if isinstance(answer, types.ErrorData):
        zh = f"提示词 {prompt} 还需要：{'、'.join(properties)}"
        en = f"the prompt {prompt} also needs: {', '.join(properties)}"
        raise ArgumentsToolError(Localised(zh=zh, en=en))
    if answer.action != "accept":
        raise PermanentToolError(
            Localised(zh=f"没有取提示词 {prompt}。", en=f"the prompt {prompt} wasn't fetched")
        )
    return {name: str(value) for name, value in (answer.content or {}).items()}


EXTRAS = (
    Extra(
        "list_resources",
        Localised(zh="列出资料", en="list resources"),
        "Lists what can be read from the server {server}, with addresses for read_resource.",
        _PAGE,
        lambda listing: listing.resources,
        _list_resources,
    ),
    Extra(
        "read_resource",
        Localised(zh="读取资料", en="read a resource"),
        "Reads one thing from the server {server}, by its address.",
        {
            "type": "object",
            "properties": {"uri": {**_TEXT, "description": "As list_resources gives it"}},
            "required": ["uri"],
        },
        lambda listing: listing.resources,
        _read_resource,
    ),
    Extra(
        "list_prompts",
        Localised(zh="列出提示词", en="list prompts"),
        "Lists the prompts that the server {server} has ready, with what each takes.",
        _PAGE,
        lambda listing: listing.prompts,
        _list_prompts,
    ),
    Extra(
        "get_prompt",
        Localised(zh="取提示词", en="get a prompt"),
        "Gives the wording of a prompt of the server {server}. It is text to look at.",
        {
            "type": "object",
            "properties": {
                "name": {**_TEXT, "description": "As list_prompts gives it"},
                "arguments": {"type": "object", "additionalProperties": {"type": "string"}},
            },
            "required": ["name"],
        },
        lambda listing: listing.prompts,
        _get_prompt,
    ),
)


_log = logging.getLogger("router.mcp")


@dataclass(frozen=True)
class ServerOffer:
    """A server with what it has, and the ways to it: itself first, then what stands in for it."""

    name: str
    entry: ServerEntry
    listing: Listing
    connections: Sequence[McpConnection]
    source: SourceLine

    def tools(self) -> list[Tool]:
        """Its tools, and those that read its resources and prompts where it has such.

        A tool whose schema is none is left out, and so is one that has the name of another.
        """
        own = [tool for tool in self.listing.tools if self.entry.offers(tool.name)]
        unique = {tool.name: tool for tool in reversed(own)}
        extras = [extra for extra in self._extras() if extra.name not in unique]
        called = names(self.name, [*unique, *(extra.name for extra in extras)])
        found = [self._tool(tool, called[tool.name]) for tool in unique.values()]
        return [
            *(tool for tool in found if tool is not None),
            *(self._extra(extra, called[extra.name]) for extra in extras),
        ]

    def _extras(self) -> Iterator[Extra]:
        for extra in EXTRAS:
            if extra.has(self.listing) and self.entry.offers(extra.name):
                yield extra

    def _tool(self, tool: types.Tool, name: str) -> Tool | None:
        entry = self.entry.entry(tool.name)
        try:
            schema = ArgumentSchema(labelled(worded_schema(tool.input_schema), entry.labels))
        except ValueError as error:
            _log.warning("the tool %s is left out, for its arguments' schema: %s", name, error)
            return None
        # What a server's arguments are called is known only once it is there.
        there = schema.schema["properties"]
        known = list(there) if isinstance(there, dict) else []
        for stranger in sorted(set(entry.labels) - set(known)):
            listed = ", ".join(known) or "none"
            _log.warning("%s has no argument %s to be labelled; it has: %s", name, stranger, listed)
        shown = _Shown(
            _title(tool), wording(tool.description or "") or wording(tool.name, LONGEST_TITLE)
        )
        return self._ours(
            entry.model_copy(update={"confirm": entry.confirm or _is_destructive(tool)}),
            entry.permission or "write",
            shown,
            self._behind(
                name, schema, lambda has: has.has(tool.name), question_for(tool.name, name)
            ),
        )

    def _extra(self, extra: Extra, name: str) -> Tool:
        entry = self.entry.entry(extra.name)
        title = Localised(zh=f"{self.name}：{extra.title.zh}", en=f"{self.name}: {extra.title.en}")
        return self._ours(
            entry,
            entry.permission or "read",
            _Shown(title, extra.description.format(server=self.name)),
            self._behind(name, ArgumentSchema(extra.parameters), extra.has, extra.question),
        )

    def _behind(
        self, name: str, schema: ArgumentSchema, has: Callable[[Listing], bool], question: Question
    ) -> ServerTool:
        return ServerTool(name, schema, self.connections, has, question, repeatable=True)

    def _ours(
        self, entry: ToolEntry, permission: Permission, shown: "_Shown", behind: ServerTool
    ) -> Tool:
        return Tool(
            name=behind.about,
            title=entry.title or shown.title,
            description=shown.description,
            examples=entry.examples,
            permission=permission,
            roles=self.entry.roles if entry.roles is None else entry.roles,
            confirm=entry.confirm,
            idempotent=entry.idempotent,
            timeout=entry.timeout or self.entry.timeout,
            retries=entry.retries,
            options=ToolOptions(at_once=self.entry.calls, pool=f"mcp {self.name}"),
            implementation=replace(behind, repeatable=entry.idempotent or permission == "read"),
            source=self.source,
            description_zh=entry.description_zh,
        )


def told_apart(servers: Mapping[str, Sequence[Tool]]) -> dict[str, list[Tool]]:
    """The tools by server, with the server's name before a title that another server has too."""
    shared = {
        locale: _shared([{tool.title.within(locale) for tool in each} for each in servers.values()])
        for locale in LOCALES
    }
    return {
        server: [replace(tool, title=_marked(tool.title, server, shared)) for tool in tools]
        for server, tools in servers.items()
    }


def _shared(titles: Iterable[set[str]]) -> set[str]:
    counted = Counter(title for each in titles for title in each)
    return {title for title, servers in counted.items() if servers > 1}


def _marked(title: Localised, server: str, shared: Mapping[Locale, set[str]]) -> Localised:
    zh = f"{server}：{title.zh}" if title.zh in shared["zh"] else title.zh
    en = f"{server}: {title.en}" if title.en in shared["en"] else title.en
    return Localised(zh=zh, en=en)


@dataclass(frozen=True)
class _Shown:
    title: Localised
    description: str


def _is_destructive(tool: types.Tool) -> bool:
    return tool.annotations is not None and tool.annotations.destructive_hint is True


def _title(tool: types.Tool) -> Localised:
    annotated = tool.annotations.title if tool.annotations else None
    said = wording(tool.title or annotated or "", LONGEST_TITLE)
    words = said or wording(tool.name, LONGEST_TITLE).replace("_", " ").capitalize()
    return Localised(zh=words, en=words)
