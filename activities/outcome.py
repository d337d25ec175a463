"""What a call came to, made such that everything on its way can take it.

    the tool ▸ kept ▸ ledger (writes) ▸ carried ▸ workflow, event log, models

A write that has answered is done, whatever it answered, and is never sent again for that: where
the answer can't be kept or carried, the result says so in its place. A read has failed then.
"""

import json
from collections.abc import Awaitable, Callable

from pydantic import JsonValue

from router.domain.errors import UnusableResult
from router.domain.texts import Locale, Localised
from router.tool.keepable import keepable
from router.tool.tool import Tool

RESULT_BYTES = 64 * 1024
"""The longest result, as JSON: workflows carry it in their history, and models read it."""

Page = Callable[[Tool, str], Awaitable[JsonValue]]
"""What becomes of a result that is too long, given as JSON."""


async def kept(tool: Tool, answering: Awaitable[JsonValue], locale: Locale) -> JsonValue:
    """The answer as ledger, history and log can keep it; raises `UnusableResult` for a read."""
    try:
        result: JsonValue = keepable(await answering)
    except UnusableResult as error:
        return _instead(tool, error, locale)
    return result


async def carried(tool: Tool, result: JsonValue, page: Page | None, locale: Locale) -> JsonValue:
    """The result if it is short enough, else what `page` makes of it.

    Raises `UnusableResult` for a read that is too long where there is no `page`.
    """
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
    """What a write gives whose own result nobody can be given."""
    if not tool.writes:
        raise error
    note = Localised(
        zh=f"已经办成了，只是结果给不出来：{error.said.zh}",
        en=f"it is done, only its result can't be given: {error}",
    )
    return {"note": note.within(locale)}
