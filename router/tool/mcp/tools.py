"""The tools of a server as tools of this house: under names, permissions and roles of ours.

Resources and prompts of a server, readable as tools are: listed, and read by name.

What a server says of itself never makes anything easier: a tool writes, and so is confirmed,
until the operator's file says that it reads; one that calls itself destructive is confirmed
even then.
"""

import logging
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import mcp_types as types
from mcp import Client
from pydantic import JsonValue

from router.domain.errors import ArgumentsToolError, PermanentToolError
from router.domain.locale import LOCALES, Locale, Localised
from router.tool.implementation import ArgumentSchema
from router.tool.labels import labelled
from router.tool.mcp.connection import Interview, Listing, McpConnection
from router.tool.mcp.file import ServerEntry, ToolEntry, names
from router.tool.mcp.implementation import (
    LONGEST_TEXT,
    Question,
    ServerTool,
    contents,
    question_for,
    resource,
)
from router.tool.mcp.untrusted import LONGEST_TITLE, worded_schema, wording
from router.tool.signature import SourceLine
from router.tool.tool import Permission, Tool, ToolOptions

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
    lacking = await _lacking(client, name, given)
    answered = _answered(name, lacking, interview) if lacking else {}
    prompt = await client.get_prompt(name, {**given, **answered} or None)
    parts = contents([message.content for message in prompt.messages])
    roles = [message.role for message in prompt.messages]
    return [{"role": role, "content": part} for role, part in zip(roles, parts, strict=False)]


async def _lacking(
    client: Client, prompt: str, given: Mapping[str, str]
) -> list[types.PromptArgument]:
    """What the prompt needs beside what is given; nothing of one that isn't there."""
    listed = (await client.list_prompts()).prompts
    takes = next((each.arguments for each in listed if each.name == prompt), None)
    return [each for each in takes or [] if each.required and each.name not in given]


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
        raise ArgumentsToolError(
            Localised(
                zh=f"提示词 {prompt} 还需要：{'、'.join(properties)}",
                en=f"the prompt {prompt} also needs: {', '.join(properties)}",
            )
        )
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
        _warn_of_strangers(name, entry, schema)
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
    return Localised(
        zh=f"{server}：{title.zh}" if title.zh in shared["zh"] else title.zh,
        en=f"{server}: {title.en}" if title.en in shared["en"] else title.en,
    )


@dataclass(frozen=True)
class _Shown:
    title: Localised
    description: str


def _warn_of_strangers(name: str, entry: ToolEntry, schema: ArgumentSchema) -> None:
    """What a server's arguments are called is known only once it is there."""
    there = schema.schema["properties"]
    known = list(there) if isinstance(there, dict) else []
    for stranger in sorted(set(entry.labels) - set(known)):
        listed = ", ".join(known) or "none"
        _log.warning("%s has no argument %s to be labelled; it has: %s", name, stranger, listed)


def _is_destructive(tool: types.Tool) -> bool:
    return tool.annotations is not None and tool.annotations.destructive_hint is True


def _title(tool: types.Tool) -> Localised:
    annotated = tool.annotations.title if tool.annotations else None
    said = wording(tool.title or annotated or "", LONGEST_TITLE)
    words = said or wording(tool.name, LONGEST_TITLE).replace("_", " ").capitalize()
    return Localised(zh=words, en=words)
