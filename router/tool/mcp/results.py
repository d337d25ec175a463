"""What a server answered, as JSON that the rest of the house can carry."""

from collections.abc import Sequence

import mcp_types as types
from pydantic import JsonValue

from router.tool.mcp.untrusted import LONGEST_ERROR, visible

LONGEST_TEXT = 500_000
"""Characters of all texts of a result together; whoever carries them makes pages of them."""


def value_of(result: types.CallToolResult) -> JsonValue:
    """The result of a call: its structured content where it has such, else its texts.

    One text is that text; several, and whatever isn't text, are a list. Pictures, sounds and
    files aren't carried along but described, by type and size.
    """
    parts = contents(result.content)
    attached: list[JsonValue] = [part for part in parts if not isinstance(part, str)]
    if result.structured_content is not None:
        value: JsonValue = result.structured_content
        return {"value": value, "attached": attached} if attached else value
    if len(parts) == 1 and not attached:
        return parts[0]
    return list(parts) if parts else None


def contents(blocks: Sequence[types.ContentBlock]) -> list[JsonValue]:
    """Each block as a text, or as what describes it; together no longer than they may be."""
    found: list[JsonValue] = []
    left = LONGEST_TEXT
    for block in blocks:
        part = _part(block, left)
        left -= len(part) if isinstance(part, str) else 200
        if left < 0:
            found.append("… (more was left out)")
            break
        found.append(part)
    return found


def _part(block: types.ContentBlock, longest: int) -> JsonValue:
    if isinstance(block, types.TextContent):
        return visible(block.text, max(longest, 1))
    if isinstance(block, types.ImageContent | types.AudioContent):
        return _described(block.type, block.mime_type, block.data)
    if isinstance(block, types.ResourceLink):
        link = {"type": "resource_link", "uri": block.uri, "name": block.name}
        return {key: visible(text, 2000) for key, text in link.items()}
    return resource(block.resource, longest)


def resource(
    found: types.TextResourceContents | types.BlobResourceContents, longest: int = LONGEST_TEXT
) -> JsonValue:
    """A resource: its text, or what its bytes are."""
    uri = visible(found.uri, 2000)
    if isinstance(found, types.TextResourceContents):
        return {"type": "resource", "uri": uri, "text": visible(found.text, max(longest, 1))}
    described = _described("resource", found.mime_type or "", found.blob)
    return {**described, "uri": uri}


def said(result: types.CallToolResult) -> str:
    """The words of a result that says it failed."""
    texts = [block.text for block in result.content if isinstance(block, types.TextContent)]
    return visible(" ".join(texts), LONGEST_ERROR).strip() or "it failed and doesn't say why"


def _described(kind: str, mime_type: str, base64: str) -> dict[str, JsonValue]:
    size = len(base64) * 3 // 4 - base64[-2:].count("=")
    return {"type": kind, "mime_type": visible(mime_type, 100), "bytes": size}
