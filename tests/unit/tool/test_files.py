"""Files in the results of tools."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import pytest
from pydantic import BaseModel, JsonValue

from router.domain.errors import PermanentToolError
from router.tool.context import Dependencies
from router.tool.results import ToolFile
from router.tool.tool import Tool, tool
from tests.unit.tool.samples import context

CSV = ToolFile("../days.csv", "text/csv", b"type,days\nannual,5\n\xff")


class Report(BaseModel):
    total: int
    file: ToolFile


@dataclass
class Plain:
    file: ToolFile


class Shelf:
    """Keeps files, or fails to."""

    def __init__(self, error: Exception | None = None) -> None:
        self.kept: dict[str, ToolFile] = {}
        self.error = error

    async def __call__(self, files: Mapping[str, ToolFile]) -> None:
        if self.error:
            raise self.error
        self.kept |= files


def giving(kind: Any, value: Any) -> Tool:
    async def give() -> Any:
        """Give it."""
        return value

    give.__annotations__["return"] = kind
    return tool(permission="read")(give)


async def result(made: Tool, keep: Shelf) -> Any:
    return await made.call({}, context(keep=keep), Dependencies())


async def test_a_file_is_kept_and_mentioned_in_one_shape() -> None:
    shelf = Shelf()
    found = await result(giving(ToolFile, CSV), shelf)
    (id_,) = shelf.kept
    assert re.fullmatch("[0-9a-z]{24}", id_)
    assert shelf.kept[id_] is CSV
    assert found == {
        "file": {
            "id": id_,
            "name": "days.csv",
            "type": "text/csv",
            "size": 20,
            "url": f"/v1/files/{id_}",
        }
    }


ANYWHERE: list[tuple[Any, Any, Callable[[Any], Any]]] = [
    (list[ToolFile], [CSV], lambda found: found[0]),
    (dict[str, ToolFile], {"a": CSV}, lambda found: found["a"]),
    (dict[str, ToolFile | int], {"n": 1, "a": CSV}, lambda found: found["a"]),
    (Report, Report(total=1, file=CSV), lambda found: found["file"]),
    (Plain, Plain(CSV), lambda found: found["file"]),
    (ToolFile | None, CSV, lambda found: found),
    (str | ToolFile, CSV, lambda found: found),
    (list[ToolFile] | ToolFile, [CSV], lambda found: found[0]),
    (Any, {"deep": [{"er": CSV}]}, lambda found: found["deep"][0]["er"]),
    (dict[str, Any], {"in": Report(total=1, file=CSV)}, lambda found: found["in"]["file"]),
]


@pytest.mark.parametrize(
    ("kind", "value", "at"), ANYWHERE, ids=[str(row[0]).rpartition(".")[2] for row in ANYWHERE]
)
async def test_a_file_may_stand_anywhere_in_a_result(
    kind: Any, value: Any, at: Callable[[Any], Any]
) -> None:
    shelf = Shelf()
    found = at(await result(giving(kind, value), shelf))["file"]
    assert list(shelf.kept) == [found["id"]]


async def test_a_union_without_its_file_is_what_it_is() -> None:
    shelf = Shelf()
    assert await result(giving(str | ToolFile, "none"), shelf) == "none"
    assert await result(giving(ToolFile | None, None), shelf) is None
    assert shelf.kept == {}


async def test_the_same_file_twice_is_kept_once() -> None:
    shelf = Shelf()
    first, second = await result(giving(list[ToolFile], [CSV, CSV]), shelf)
    assert first == second
    assert len(shelf.kept) == 1


@pytest.mark.parametrize(
    ("said", "content", "type_"),
    [
        ("text/csv", b"%PDF-1.7", "application/pdf"),
        ("image/png", b"<svg/>", "image/png"),
        ("", b"\x00", "application/octet-stream"),
        ("nonsense\r\nX: y", b"\x00", "application/octet-stream"),
    ],
)
async def test_its_type_is_what_the_bytes_say_and_else_what_the_tool_does(
    said: str, content: bytes, type_: str
) -> None:
    found = await result(giving(ToolFile, ToolFile("a", said, content)), Shelf())
    assert found["file"]["type"] == type_


async def test_a_store_that_fails_fails_the_call() -> None:
    with pytest.raises(PermanentToolError, match="full"):
        await result(giving(ToolFile, CSV), Shelf(PermanentToolError("full")))


async def test_where_nobody_keeps_files_that_is_said() -> None:
    with pytest.raises(PermanentToolError, match=r"nobody keeps files here: \.\./days\.csv"):
        await giving(ToolFile, CSV).call({}, context(), Dependencies())


@pytest.mark.parametrize("content", ["text", bytearray(b"x"), None])
def test_a_file_is_made_of_bytes(content: JsonValue) -> None:
    with pytest.raises(ValueError, match="valid bytes"):
        ToolFile("a", "b", content)  # type: ignore[arg-type]
