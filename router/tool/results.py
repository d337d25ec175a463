"""What a tool gives, such that every place on its way can keep it, files included.

A result goes into the effects ledger and the event log (PostgreSQL takes no U+0000), into
Temporal's history and before models (UTF-8, which has no lone surrogates), and is walked over by
recursion in all of them. People and models read it, whoever wrote it: so it has nothing in it that
nobody sees. Nobody but here has to think of that.
"""

import secrets
from collections.abc import Awaitable, Callable, Mapping
from typing import Annotated, Any

from pydantic import ConfigDict, Field, JsonValue, SerializationInfo, TypeAdapter, model_serializer
from pydantic.dataclasses import dataclass
from pydantic_core import PydanticSerializationUnexpectedValue

from router.domain.errors import ArgumentsToolError, PermanentToolError, UnusableResult
from router.domain.file_types import FILE_FORMAT, FileMention, safe_name, type_of
from router.domain.locale import Localised
from router.formats.keepable import keepable


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
