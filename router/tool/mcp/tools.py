"""The tools of a server as tools of this house: under names, permissions and roles of ours.

What a server says of itself never makes anything easier: a tool writes, and so is confirmed,
until the operator's file says that it reads; one that calls itself destructive is confirmed
even then.
"""

import logging
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import mcp_types as types

from router.domain.texts import LOCALES, Locale, Localised
from router.tool.json_schema import ArgumentSchema
from router.tool.labels import labelled
from router.tool.mcp.calling import Question, ServerTool, question_for
from router.tool.mcp.connection import Connection, Listing
from router.tool.mcp.extras import EXTRAS, Extra
from router.tool.mcp.file import ServerEntry, ToolEntry
from router.tool.mcp.names import names
from router.tool.mcp.untrusted import LONGEST_TITLE, worded_schema, wording
from router.tool.signature import Source
from router.tool.tool import Options, Permission, Tool

_log = logging.getLogger("router.mcp")


@dataclass(frozen=True)
class Offer:
    """A server with what it has, and the ways to it: itself first, then what stands in for it."""

    name: str
    entry: ServerEntry
    listing: Listing
    connections: Sequence[Connection]
    source: Source

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
            options=Options(at_once=self.entry.calls, pool=f"mcp {self.name}"),
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
