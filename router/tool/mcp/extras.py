"""Resources and prompts of a server, readable as tools are: listed, and read by name."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import mcp_types as types
from mcp import Client
from pydantic import JsonValue

from router.domain.errors import ArgumentsToolError, PermanentToolError
from router.domain.texts import Localised
from router.tool.mcp.calling import Question
from router.tool.mcp.connection import Listing
from router.tool.mcp.eliciting import Interview
from router.tool.mcp.results import LONGEST_TEXT, contents, resource
from router.tool.mcp.untrusted import wording

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
