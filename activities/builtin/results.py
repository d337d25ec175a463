"""Reading on in a result that was too long to be given whole."""

from typing import Annotated

from pydantic import Field

from activities import provided
from activities.tool_results import page_of
from router.domain.errors import ArgumentsToolError
from router.domain.locale import Localised
from router.domain.records import ResultPage
from router.store.blobs import Results
from router.tool.context import Depends, ToolContext
from router.tool.labels import ChineseLabel
from router.tool.tool import tool


@tool(
    permission="read",
    title={"zh": "继续读结果", "en": "Read on in a result"},
    description_zh="结果太长没显示完时，接着读下一页。",
    ephemeral=2,
    listed=False,
)
async def read_more(
    handle: Annotated[
        str,
        Field(description="The `read_more` of the page before", min_length=1, max_length=40),
        ChineseLabel("续读编号"),
    ],
    page: Annotated[
        int, Field(description="Which page, from 2 on", ge=1, le=10_000), ChineseLabel("第几页")
    ],
    ctx: ToolContext,
    results: Annotated[Results, Depends(provided.results)],
) -> ResultPage:
    """The next page of a result that was too long to be given whole."""
    body = await results.find(ctx.caller.tenant, ctx.caller.id, handle)
    if body is None:
        raise ArgumentsToolError(
            Localised(
                zh=f"handle：你没有编号为“{handle}”的结果可以续读",
                en=f"handle: there is no result {handle!r} of yours to read on in",
            )
        )
    found = page_of(body, page, handle)
    if page > found.pages:
        raise ArgumentsToolError(
            Localised(
                zh=f"page：结果有 {found.pages} 页，没有第 {page} 页",
                en=f"page: the result has {found.pages} pages, and no page {page}",
            )
        )
    return found
