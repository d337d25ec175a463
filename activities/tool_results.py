"""What a call came to, made such that everything on its way can take it.

the tool ▸ kept ▸ ledger (writes) ▸ carried ▸ workflow, event log, models

A write that has answered is done, whatever it answered: where the answer can't be kept or carried,
the result says so in its place. A read has failed then. What is too long is given by pages.
"""

import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

from pydantic import JsonValue

from activities import provided
from activities.outages import outlast
from router.contracts.activities import ToolCall
from router.domain.errors import ArgumentsToolError, TooManyRequests, UnusableResult
from router.domain.file_types import MOST_BYTES
from router.domain.locale import Locale, Localised
from router.domain.principals import Principal
from router.domain.records import FileRecord, ResultPage
from router.formats.keepable import keepable
from router.store.blobs import Results
from router.tool.context import Dependencies
from router.tool.results import ToolFile
from router.tool.tool import Tool


@dataclass(frozen=True)
class Keeping:
    """`router.tool.results.KeepFiles`: files are their caller's, as if they had handed them in."""

    tool: Tool
    owner: Principal
    dependencies: Dependencies

    async def __call__(self, files: Mapping[str, ToolFile]) -> None:
        """Keep them; raises `UnusableResult` for one of over 10 MiB, or too many in a day."""
        for file in files.values():
            if (size := len(file.content)) > MOST_BYTES:
                zh = f"“{self.tool.title.zh}”给出的文件“{file.name[:80]}”有 {size} 字节"
                en = f"{self.tool.name} gave the file {file.name[:80]!r} of {size} bytes"
                zh = f"{zh}，超过了 {MOST_BYTES}，请一次少要一些"
                en = f"{en}, more than {MOST_BYTES}; ask it for less at a time"
                raise UnusableResult(Localised(zh=zh, en=en))
        store = await self.dependencies.resolve(provided.files)
        most = (await self.dependencies.resolve(provided.settings)).user_files_per_day
        for id_, file in files.items():
            about = (file.name, file.content, datetime.now(UTC), file.type)
            try:
                await store.keep(FileRecord.of(id_, self.owner, *about), file.content, most)
            except TooManyRequests as error:
                raise UnusableResult(error.said) from error


@dataclass(frozen=True)
class FileOpening:
    """`router.tool.results.Open`: what the caller may read, and nothing else that there is."""

    caller: Principal
    dependencies: Dependencies

    async def __call__(self, file: str) -> ToolFile:
        """The file; raises `ArgumentsToolError` where it isn't the caller's."""
        store = await self.dependencies.resolve(provided.files)
        about = await store.find(self.caller.tenant, file)
        if about is not None and about.owner == self.caller.id:
            content = await store.content(about.tenant, about.id)
            if content is not None:
                return ToolFile(about.name, about.type, content)
        zh, en = f"您没有文件 {file[:40]}", f"you have no file {file[:40]!r}"
        raise ArgumentsToolError(Localised(zh=zh, en=en))


RESULT_BYTES = 64 * 1024
"""The longest result, as JSON: workflows carry it in their history, and models read it."""

MakePage = Callable[[Tool, str], Awaitable[JsonValue]]
"""What becomes of a result that is too long, given as JSON."""


async def kept(tool: Tool, answering: Awaitable[JsonValue], locale: Locale) -> JsonValue:
    """The answer as ledger, history and log can keep it; raises `UnusableResult` for a read."""
    try:
        result: JsonValue = keepable(await answering)
    except UnusableResult as error:
        return _instead(tool, error, locale)
    return result


async def carried(
    tool: Tool, result: JsonValue, page: MakePage | None, locale: Locale
) -> JsonValue:
    """The result if short enough, else what `page` makes of it, or `UnusableResult` for a read."""
    text = json.dumps(result, ensure_ascii=False, allow_nan=False)
    size = len(text.encode())
    if size <= RESULT_BYTES:
        return result
    if page is not None:
        return await page(tool, text)
    too_long = Localised(
        zh=f"“{tool.title.zh}”给出的结果有 {size} 字节，超过了 {RESULT_BYTES}，请一次少查一些",
        en=f"{tool.name} gave {size} bytes, more than {RESULT_BYTES}; ask it for less at a time",
    )
    return _instead(tool, UnusableResult(too_long), locale)


def _instead(tool: Tool, error: UnusableResult, locale: Locale) -> JsonValue:
    if not tool.writes:
        raise error
    note = Localised(
        zh=f"已经办成了，只是结果给不出来：{error.said.zh}",
        en=f"it is done, only its result can't be given: {error}",
    )
    return {"note": note.within(locale)}


PAGE = 6_000
"""Characters of a page: as much as a model is shown of one result."""
_AROUND = 600
"""Characters of a page's JSON beside its text."""
_SHOWN_AS = dict.fromkeys(map(chr, range(32)), 6) | dict.fromkeys('\n\r\t\b\f"\\', 2)
"""How many characters JSON needs for those that it writes otherwise."""


def page_of(text: str, number: int, handle: str) -> ResultPage:
    """One page of a long result, which a model is shown whole, from 1; behind the last no text."""
    pages = text_pages(text)
    return ResultPage(
        read_more=handle if number < len(pages) else None,
        page=number,
        pages=len(pages),
        text=pages[number - 1] if number <= len(pages) else "",
    )


def text_pages(text: str) -> list[str]:
    """A text in pages that a model is shown whole, as JSON; they end with a line if they can."""
    pages: list[str] = []
    start = 0
    while start < len(text) or not pages:
        room, end = PAGE - _AROUND, start
        while end < len(text) and (room := room - _SHOWN_AS.get(text[end], 1)) >= 0:
            end += 1
        line = text.rfind("\n", start, end) + 1
        if end < len(text) and line > start:
            end = line
        pages.append(text[start:end])
        start = end
    return pages


@dataclass(frozen=True)
class Paging:
    """Keeps what is too long for whoever had it called, and gives the first page of it."""

    results: Results
    call: ToolCall

    async def __call__(self, tool: Tool, text: str) -> JsonValue:
        """The first page, with the handle that `read_more` takes."""
        owner = self.call.caller
        about = (owner.tenant, owner.id, tool.name, text)
        handle = await outlast(lambda: self.results.keep(*about))
        first: JsonValue = page_of(text, 1, handle).model_dump(mode="json")
        return first
