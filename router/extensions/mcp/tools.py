"""The tools of a server as tools of this house: names, permissions, calls, and what is answered.

What a server says of itself never makes anything easier: a tool writes, and so is confirmed, until
the operator's file says that it reads; one that calls itself destructive is confirmed even then.
Resources and prompts of a server are tools too: they are listed, and read by name.
"""

import json
import logging
from base64 import b64decode
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
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
from router.domain.source_lines import SourceLine
from router.extensions.mcp.connection import Away, Listing, Lost, McpConnection
from router.extensions.mcp.elicitation import Interview
from router.extensions.mcp.file import ServerEntry, names
from router.extensions.mcp.keeper import TOO_LONG
from router.extensions.mcp.untrusted import LONGEST_ERROR, title, visible, worded_schema, wording
from router.tool.context import Dependencies, ToolContext
from router.tool.context_values import CONTEXT_VALUES
from router.tool.implementation import Arguments, ArgumentSchema, SchemaImplementation
from router.tool.labels import labelled
from router.tool.results import ToolFile, as_json
from router.tool.tool import Permission, Tool, ToolOptions

MOST_DESCRIBED = 1024 * 1024
"""Characters that all tools of a server are described in, with their schemas."""
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
CALL_CONTEXT = "intent-router/context"
"""In the `_meta` of every call: what the server's entry wants to know of the caller."""

_NO_WAY_BACK = "no back-channel"
"""What the official library says in a server that would ask during a call, and can't."""

AskUser = Callable[[Client, dict[str, Any], Mapping[str, JsonValue], Interview], Awaitable[object]]
"""Asks a server, with arguments, `_meta` and what the person has answered so far; what it gives may
have files in it."""


@dataclass(frozen=True)
class ServerTool(SchemaImplementation):
    """An implementation on a server, or on the one that stands in for it."""

    about: str
    """The tool's name here, for what is said of it."""
    connections: Sequence[McpConnection]
    has: Callable[[Listing], bool]
    """Whether a server can be asked: the one that stands in may lack it."""
    question: AskUser
    repeatable: bool
    """True where calling twice is the same as calling once."""
    server: str
    called: str
    """The server's name, and the tool's own there: by these the file speaks of it."""
    context: Sequence[str] = ()
    """The names of what the server is told about the caller."""
    kind = "mcp"

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
        meta = self._meta(context)
        try:
            answer = await self._asked(
                lambda client: self.question(client, given, meta, interview), interview
            )
        except (ArgumentsToolError, PermanentToolError) as error:
            if not interview.asked:
                raise
            zh = f"{self.about} 要先向本人问清楚（{interview.summary}）"
            said = Localised(zh=zh, en=f"{self.about} {interview.summary}")
            raise AnswersNeeded(said, interview.asked) from error
        return await as_json(answer, context.keep)

    def _meta(self, context: ToolContext) -> dict[str, JsonValue]:
        meta: dict[str, JsonValue] = {}
        if context.key:
            meta[KEY] = sha256(context.key.encode()).hexdigest()
        if self.context:
            meta[CALL_CONTEXT] = {name: CONTEXT_VALUES[name](context) for name in self.context}
        return meta

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
            zh = (
                f"{self.about} 想在办理中间提问，它的连接方式做不到，请管理员在 MCP 服务器文件里"
                f'给它加上 "protocol": "legacy"（原话：«{words}»）'
            )
            en = (
                f"{self.about} wants to ask something in the middle of the call, which this "
                'session can\'t carry: write "protocol": "legacy" for its server, or have its '
                f"tool ask by Resolve and Elicit ({words})"
            )
            return PermanentToolError(Localised(zh=zh, en=en))
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


def _in_its_words(about: str, words: str) -> Localised:
    """What a server says, which nobody here can say in another language."""
    return Localised(zh=f"{about} 没有办成，原话：«{words}»", en=f"{about}: {words}")


def question_for(tool: str, about: str) -> AskUser:
    """The question that calls a tool of a server, by the name it has there."""

    async def ask(client: Client, arguments: dict[str, Any], meta: Any, _: Interview) -> object:
        result = await client.call_tool(tool, arguments, meta=meta or None)
        if result.is_error:
            raise ArgumentsToolError(_in_its_words(about, said(result)))
        return value_of(result)

    return ask


MOST_LISTED = 100

_TEXT: Mapping[str, JsonValue] = {"type": "string", "minLength": 1, "maxLength": 2000}


def _takes(*required: str, **properties: Any) -> dict[str, JsonValue]:
    return {"type": "object", "properties": properties, "required": list(required)}


_PAGE = _takes(cursor={**_TEXT, "description": "Where the last page ended"})


@dataclass(frozen=True)
class Extra:
    """Something that a server can be asked: besides its tools, or one of them."""

    name: str
    title: Localised
    description: str
    parameters: Mapping[str, JsonValue]
    has: Callable[[Listing], bool]
    question: AskUser
    usual: Permission = "read"
    destroys: bool = False


async def _list_resources(client: Client, arguments: dict[str, Any], *_: object) -> JsonValue:
    page = await client.list_resources(cursor=arguments.get("cursor"))
    listed: list[JsonValue] = []
    for each in page.resources[:MOST_LISTED]:
        name, description = title(each.title or each.name, 200), wording(each.description or "")
        listed.append({"uri": each.uri, "name": name, "description": description})
    return {"resources": listed, "next": page.next_cursor}


async def _read_resource(client: Client, arguments: dict[str, Any], *_: object) -> object:
    read = await client.read_resource(arguments["uri"])
    shown = max(1, len(read.contents))
    return [resource(each, LONGEST_TEXT // shown) for each in read.contents[:MOST_LISTED]]


async def _list_prompts(client: Client, arguments: dict[str, Any], *_: object) -> JsonValue:
    page = await client.list_prompts(cursor=arguments.get("cursor"))
    listed: list[JsonValue] = []
    for each in page.prompts[:MOST_LISTED]:
        takes: list[JsonValue] = [argument.name for argument in each.arguments or []]
        said = wording(each.description or "")
        listed.append({"name": each.name, "description": said, "arguments": takes})
    return {"prompts": listed, "next": page.next_cursor}


async def _get_prompt(
    client: Client, arguments: dict[str, Any], _: Mapping[str, JsonValue], interview: Interview
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
    form = types.ElicitRequestFormParams(
        message=f"What does the prompt {prompt} need?",
        requested_schema=_takes(*properties, **properties),
    )
    answer = interview.answer(form)
    if isinstance(answer, types.ErrorData):
        zh = f"提示词 {prompt} 还需要：{'、'.join(properties)}"
        en = f"the prompt {prompt} also needs: {', '.join(properties)}"
        raise ArgumentsToolError(Localised(zh=zh, en=en))
    if answer.action != "accept":
        said = Localised(zh=f"没有取提示词 {prompt}。", en=f"the prompt {prompt} wasn't fetched")
        raise PermanentToolError(said)
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
        _takes("uri", uri={**_TEXT, "description": "As list_resources gives it"}),
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
        _takes(
            "name",
            name={**_TEXT, "description": "As list_prompts gives it"},
            arguments={"type": "object", "additionalProperties": {"type": "string"}},
        ),
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
    label: str
    """The server's name beside those of all tenants: by it calls are counted and it is rested."""

    def tools(self) -> list[Tool]:
        """Its tools, and those that read its resources and prompts where it has such.

        A tool whose schema is none is left out, and so is one that has the name of another.
        """
        offers = self.entry.offers
        own: dict[str, types.Tool] = {}
        for tool in filter(lambda tool: offers(tool.name), self.listing.tools):
            own.setdefault(tool.name, tool)
        extras = [
            replace(
                extra,
                title=_marked(extra.title, self.name),
                description=extra.description.format(server=self.name),
            )
            for extra in EXTRAS
            if extra.has(self.listing) and offers(extra.name) and extra.name not in own
        ]
        called = names(self.name, [*own, *(extra.name for extra in extras)])
        asked = [*(_asking(tool, called[name]) for name, tool in own.items()), *extras]
        found = (self._tool(each, called[each.name]) for each in asked)
        return [*self._with_room([tool for tool in found if tool is not None])]

    def _with_room(self, tools: Sequence[Tool]) -> Iterator[Tool]:
        """Those whose descriptions have room together: all are searched in."""
        left = MOST_DESCRIBED
        for tool in tools:
            about = len(tool.description) + len(json.dumps(tool.parameters, ensure_ascii=False))
            if about <= left:
                left -= about
                yield tool
            else:
                said = "the tool %s is left out: the server describes its tools in more than %d"
                _log.warning(f"{said} characters", tool.name, MOST_DESCRIBED)

    def _tool(self, asked: Extra, name: str) -> Tool | None:
        entry = self.entry.entry(asked.name)
        try:
            read = worded_schema(asked.parameters)
            schema = ArgumentSchema(labelled(read, entry.labels), is_read=True)
        except ValueError as error:
            _log.warning("the tool %s is left out, for its arguments' schema: %s", name, error)
            return None
        # What a server's arguments are called is known only once it is there.
        there = schema.schema["properties"]
        known = list(there) if isinstance(there, dict) else []
        for stranger in sorted(set(entry.labels) - set(known)):
            listed = ", ".join(known) or "none"
            _log.warning("%s has no argument %s to be labelled; it has: %s", name, stranger, listed)
        permission = entry.permission or asked.usual
        repeatable = entry.idempotent or permission == "read"
        return Tool(
            name=name,
            title=entry.title or asked.title,
            description=asked.description,
            examples=entry.examples,
            permission=permission,
            roles=self.entry.roles if entry.roles is None else entry.roles,
            confirm=entry.confirm or asked.destroys,
            idempotent=entry.idempotent,
            timeout=entry.timeout or self.entry.timeout,
            retries=entry.retries,
            options=ToolOptions(
                at_once=self.entry.calls, pool=f"mcp {self.label}", system=f"mcp {self.label}"
            ),
            implementation=self._implementation(asked, schema, name, repeatable),
            source=self.source,
            description_zh=entry.description_zh,
        )

    def _implementation(
        self, asked: Extra, schema: ArgumentSchema, name: str, repeatable: bool
    ) -> ServerTool:
        return ServerTool(
            schema,
            about=name,
            connections=self.connections,
            has=asked.has,
            question=asked.question,
            repeatable=repeatable,
            server=self.name,
            called=asked.name,
            context=self.entry.context,
        )


def _asking(tool: types.Tool, name: str) -> Extra:
    """A tool of a server, which is called so here, as it describes itself."""
    said = tool.annotations
    called = title(tool.name)
    words = title(tool.title or (said and said.title) or "")
    words = words or called.replace("_", " ").capitalize()
    return Extra(
        tool.name,
        Localised(zh=words, en=words),
        wording(tool.description or "") or called,
        tool.input_schema,
        lambda listing: listing.has(tool.name),
        question_for(tool.name, name),
        usual="write",
        destroys=said is not None and said.destructive_hint is True,
    )


def told_apart(servers: Mapping[str, Sequence[Tool]]) -> dict[str, list[Tool]]:
    """The tools by server, with the server's name before a title that another server has too."""
    shared: dict[Locale, set[str]] = {}
    for locale in LOCALES:
        titles = ({tool.title.within(locale) for tool in each} for each in servers.values())
        counted = Counter(title for each in titles for title in each)
        shared[locale] = {title for title, count in counted.items() if count > 1}
    return {
        server: [replace(tool, title=_marked(tool.title, server, shared)) for tool in tools]
        for server, tools in servers.items()
    }


def _marked(
    title: Localised, server: str, shared: Mapping[Locale, set[str]] | None = None
) -> Localised:
    """The title with the server's name before it; in a language only where it is shared."""
    zh = f"{server}：{title.zh}" if shared is None or title.zh in shared["zh"] else title.zh
    en = f"{server}: {title.en}" if shared is None or title.en in shared["en"] else title.en
    return Localised(zh=zh, en=en)
