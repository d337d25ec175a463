"""The reference of tools: the decorator's options, and the keys of files that declare some."""

import inspect
import re

from docs.generate.markdown import code, page, table
from docs.generate.models import model_table
from docs.generate.types import type_name
from router.extensions.http.declaration import (
    METHODS,
    CloudEventEntry,
    EndpointEntry,
    HttpToolEntry,
    ItemsEntry,
    OperationWording,
    SelectionEntry,
)
from router.extensions.http.temporal import (
    NexusEntry,
    SignalEntry,
    TemporalEntry,
    TemporalToolEntry,
)
from router.extensions.mcp.file import ServerEntry, ToolEntry
from router.tool.context_values import CONTEXT_VALUES
from router.tool.tool import tool

TEMPORAL_MODELS = (TemporalToolEntry, TemporalEntry, SignalEntry, NexusEntry)
HTTP_MODELS = (
    HttpToolEntry,
    EndpointEntry,
    CloudEventEntry,
    ItemsEntry,
    SelectionEntry,
    OperationWording,
)
INTRODUCTION = """\
What may be written of a tool. What it comes to, with an example of each kind, is in
[Tools](../tools.md)."""


def tool_files_page() -> str:
    """The five kinds of tools."""
    return page(
        "Tool files",
        INTRODUCTION,
        "## `@tool`: a Python function",
        table(("option", "otherwise", "means"), _options()),
        "## A JSON file: HTTP",
        _http(),
        "## A JSON file: Temporal",
        *(part for m in TEMPORAL_MODELS for part in (f"### {m.__name__}", model_table(m))),
        "## A JSON file: MCP servers",
        "Durations are written `500ms`, `20s` or `2m` here.",
        "### ServerEntry",
        model_table(ServerEntry),
        "### ToolEntry",
        model_table(ToolEntry),
    )


def _options() -> list[tuple[str, str, str]]:
    meanings = option_docs()
    return [
        (code(name), _default(option), meanings.get(name, ""))
        for name, option in inspect.signature(tool).parameters.items()
    ]


def option_docs() -> dict[str, str]:
    """What the docstring of `@tool` says of each option."""
    said = (inspect.getdoc(tool) or "").partition("Args:\n")[2].partition("\n\n")[0]
    found = re.findall(r"^ {4}(\w+): (.*(?:\n {8}.*)*)", said, re.MULTILINE)
    return {name: " ".join(text.split()) for name, text in found}


def _default(option: inspect.Parameter) -> str:
    # Without a permission `@tool` refuses the function in a sentence, and so has a default for it.
    if option.default is inspect.Parameter.empty or option.name == "permission":
        return f"**required**: {type_name(option.annotation)}"
    return code(repr(option.default)) if option.default not in (None, (), "") else ""


def _http() -> str:
    rows = [
        ("`method`", ", ".join(map(code, METHODS))),
        ("holes `{context.…}`", ", ".join(map(code, CONTEXT_VALUES))),
    ]
    models = [part for each in HTTP_MODELS for part in (f"### {each.__name__}", model_table(each))]
    return "\n\n".join([*models, table(("", "may be"), rows)])
