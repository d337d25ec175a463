"""What a tool gives, such that every place on its way can keep it, files included.

A result goes into the effects ledger and the event log (PostgreSQL takes no U+0000), into
Temporal's history and before models (UTF-8, which has no lone surrogates), and is walked over by
recursion in all of them. People and models read it, whoever wrote it: so it has nothing in it that
nobody sees. Nobody but here has to think of that.
"""

import secrets
from collections.abc import Awaitable, Callable, Mapping
from math import isfinite
from typing import Annotated, Any

from pydantic import ConfigDict, Field, JsonValue, SerializationInfo, TypeAdapter, model_serializer
from pydantic.dataclasses import dataclass
from pydantic_core import PydanticSerializationUnexpectedValue

from router.domain.errors import ArgumentsToolError, PermanentToolError, UnusableResult
from router.domain.file_types import FILE_FORMAT, FileMention, safe_name, type_of
from router.domain.locale import Localised
from router.domain.visible_text import legible

DEEPEST = 60
"""Levels of lists and objects within each other. pydantic gives up at 255, Python near 1,000."""
MOST_VALUES = 100_000
"""Within one another: every place on its way goes through all of them, while others wait."""
_MOST_BITS = 10_000
"""Of an integer: Python writes none that has more than 4,300 digits."""


def keepable(value: Any) -> Any:
    """The value with legible texts; what isn't JSON's own, such as a file, is left as it is.

    Raises `UnusableResult` where it is too deep or of too many values, or has a number that JSON
    can't write.
    """
    left, unseen = MOST_VALUES, [value]
    while unseen:
        each = unseen.pop()
        inner = each.values() if type(each) is dict else each if type(each) is list else ()
        left -= len(inner)
        if left < 0:
            zh = f"结果里有超过 {MOST_VALUES} 个值，请一次少要一些"
            en = f"the result has more than {MOST_VALUES} values; ask for less at a time"
            raise UnusableResult(Localised(zh=zh, en=en))
        unseen.extend(inner)
    return _kept(value, DEEPEST)


def _kept(value: Any, deepest: int) -> Any:
    kind = type(value)  # exactly: an enumeration's member may be a str, and is to stay what it is
    if kind is str:
        return legible(value)
    if kind is float or kind is int:
        return _number(value)
    if kind is not list and kind is not dict:
        return value
    if deepest == 0:
        zh = f"结果嵌套超过 {DEEPEST} 层"
        en = f"the result is nested deeper than {DEEPEST} levels"
        raise UnusableResult(Localised(zh=zh, en=en))
    if kind is list:
        return [_kept(item, deepest - 1) for item in value]
    return {_kept(name, 0): _kept(item, deepest - 1) for name, item in value.items()}


def _number(value: float) -> float:
    if isfinite(value) if isinstance(value, float) else value.bit_length() <= _MOST_BITS:
        return value
    what = repr(value) if isinstance(value, float) else "of thousands of digits"
    zh = "结果里有 JSON 写不了的数"
    en = f"the result has a number that is no JSON: {what}"
    raise UnusableResult(Localised(zh=zh, en=en))


@dataclass(frozen=True, config=ConfigDict(strict=True))
class ToolFile:
    """A file, whole: at most 10 MiB. Whoever had the tool called is given it as an attachment.

    `type` is a media type such as `text/csv`; PDF and pictures are told by their bytes.
    """

    name: str
    type: str
    content: bytes

    @model_serializer
    def _in_result(self, info: SerializationInfo) -> dict[str, JsonValue]:
        if not isinstance(self, ToolFile):  # a union tries each of its types on every value
            raise PydanticSerializationUnexpectedValue(f"{type(self).__name__} is no ToolFile")
        if not isinstance(info.context, _Made):
            raise TypeError("a ToolFile becomes JSON as the result of a tool, and not otherwise")
        return info.context.mention(self)


FileId = Annotated[str, Field(json_schema_extra={"format": FILE_FORMAT})]
"""A parameter that names a file of the caller's: forms ask for one, and what is attached fills it.

Models are told the ids of what is attached. `ToolContext.file` gives what is in it.
"""

Open = Callable[[str], Awaitable[ToolFile]]
"""A file of the caller's by its id; raises `ArgumentsToolError` where they have none of it."""


async def not_opened(file: str) -> ToolFile:
    """Where a tool is called that nobody has files for."""
    zh, en = f"这里没有文件 {file[:40]}", f"there are no files here, such as {file[:40]!r}"
    raise ArgumentsToolError(Localised(zh=zh, en=en))


KeepFiles = Callable[[Mapping[str, ToolFile]], Awaitable[None]]
"""Keeps the files of a result, by their ids, for whoever had the tool called; or none of them."""


async def not_kept(files: Mapping[str, ToolFile]) -> None:
    """Where a tool is called that nobody keeps files for."""
    names = ", ".join(file.name[:80] for file in files.values())
    zh = f"这里没有人保存文件（{names}），请通过服务台来办"
    en = f"nobody keeps files here: {names}; call it through the desk"
    raise PermanentToolError(Localised(zh=zh, en=en))


class _Made:
    """The files of one result: an id each, however often it stands there, or is tried."""

    def __init__(self) -> None:
        self.files: dict[str, ToolFile] = {}

    def mention(self, file: ToolFile) -> dict[str, JsonValue]:
        """What stands for the file in the result."""
        known = (id_ for id_, found in self.files.items() if found is file)
        id_ = next(known, None) or secrets.token_hex(12)
        self.files[id_] = file
        name, type_ = safe_name(file.name, file.content), type_of(file.content, file.type)
        return FileMention(id_, name, type_, len(file.content)).as_json()


async def as_json(
    result: Any, keep: KeepFiles, adapter: TypeAdapter[Any] | None = None
) -> JsonValue:
    """A tool's result as JSON, once its files are kept.

    A file becomes `{"file": {"id", "name", "type", "size", "url"}}`, its name made safe. Raises
    `UnusableResult` where it isn't of the `adapter`'s type or JSON, and what `keep` raises.
    """
    made = _Made()
    try:
        value: JsonValue = (adapter or _ANYTHING).dump_python(
            keepable(result), mode="json", context=made, warnings="error"
        )
    except (ValueError, RecursionError) as error:
        zh = "结果不是声明的那种类型，或者不是 JSON"
        en = "the result isn't of the type that the tool declares, or isn't JSON"
        raise UnusableResult(Localised(zh=zh, en=en)) from error
    if made.files:
        await keep(made.files)
    return value


_ANYTHING: TypeAdapter[Any] = TypeAdapter(Any)
