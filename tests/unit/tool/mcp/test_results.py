"""What a server's answers become, without a server."""

from base64 import b64encode
from typing import Any

import mcp_types as types
import pytest

from router.tool.mcp.tools import value_of
from router.tool.mcp.untrusted import visible_value
from router.tool.results import ToolFile

BYTES = b"\x00\xffsound"
DATA = b64encode(BYTES).decode()


def answer(*blocks: Any, structured: Any = None) -> object:
    result = types.CallToolResult(content=list(blocks), structured_content=structured)
    return visible_value(value_of(result))


def blob(uri: str, mime_type: str | None = None, data: str = DATA) -> types.EmbeddedResource:
    contents = types.BlobResourceContents(uri=uri, mime_type=mime_type, blob=data)
    return types.EmbeddedResource(type="resource", resource=contents)


@pytest.mark.parametrize(
    ("block", "file"),
    [
        (
            types.ImageContent(type="image", data=DATA, mime_type="image/gif"),
            ToolFile("image.gif", "image/gif", BYTES),
        ),
        (
            types.AudioContent(type="audio", data=DATA, mime_type="audio/x-nonsense"),
            ToolFile("audio", "audio/x-nonsense", BYTES),
        ),
        (blob("file:///tmp/a%20b.csv", "text/csv"), ToolFile("a b.csv", "text/csv", BYTES)),
        (blob("memo://one"), ToolFile("resource", "", BYTES)),
        (
            blob("file:///a\u202e\x07b.csv", "text/csv\u200b"),
            ToolFile("ab.csv", "text/csv", BYTES),
        ),
    ],
)
def test_bytes_are_a_file(block: Any, file: ToolFile) -> None:
    assert answer(block) == [file]


def test_files_beside_a_structured_answer_are_attached_to_it() -> None:
    picture = types.ImageContent(type="image", data=DATA, mime_type="image/png")
    said = types.TextContent(type="text", text='{"n": 1}')
    assert answer(said, picture, structured={"n": 1}) == {
        "value": {"n": 1},
        "attached": [ToolFile("image.png", "image/png", BYTES)],
    }


@pytest.mark.parametrize("data", ["not base64!", "AAA", "中文"])
def test_bytes_that_cannot_be_read_are_described(data: str) -> None:
    block = types.ImageContent(type="image", data=data, mime_type="image/png")
    assert answer(block) == [
        {"type": "image", "mime_type": "image/png", "unreadable": "it is no base64"}
    ]
