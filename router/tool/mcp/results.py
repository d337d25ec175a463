"""What a server answered, as JSON that the rest of the house can carry, and files."""

from base64 import b64decode
from collections.abc import Sequence
from mimetypes import guess_extension
from urllib.parse import unquote, urlsplit

import mcp_types as types
from pydantic import JsonValue

from router.tool.files import ToolFile
from router.tool.mcp.untrusted import LONGEST_ERROR, visible

LONGEST_TEXT = 500_000
"""Characters of all texts of a result together; whoever carries them makes pages of them."""


def value_of(result: types.CallToolResult) -> object:
    """The result of a call: its structured content where it has such, else its texts.

    One text is that text; several, and whatever isn't text, are a list. Pictures, sounds and
    other bytes are a `ToolFile` each, which `router.tool.files.as_json` makes JSON of.
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
