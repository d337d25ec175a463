"""Sample request: say here in a line what these tools are about."""

from typing import Annotated

from pydantic import BaseModel, Field

from router.sdk import ArgumentsToolError, ChineseLabel, Localised, ToolContext, tool


class Found(BaseModel):
    """What comes back: flows, models and people read these fields."""

    topic: str
    words: int
    asked_by: str


@tool(
    permission="read",  # "write" is confirmed by the caller first, and happens once
    title={"zh": "示例事项", "en": "Sample request"},
    description_zh="查询示例事项。",
    examples=["查一下示例事项", "look up the sample request"],
)
async def my_tool(
    ctx: ToolContext,  # who calls and when; no model sees or sets it
    topic: Annotated[
        str,
        Field(description="What to look up, in a few words", min_length=1, max_length=60),
        ChineseLabel("主题"),
    ],
) -> Found:
    """Look up the sample request."""
    words = topic.split()
    if not words:
        # ArgumentsToolError goes back to whoever chose the arguments; the transient one is retried.
        raise ArgumentsToolError(Localised(zh="topic：请写几个字", en="topic: write a few words"))
    return Found(topic=" ".join(words), words=len(words), asked_by=ctx.caller.id)
