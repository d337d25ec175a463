"""The company's policies, as a tool: what they say, in their own words."""

from typing import Annotated

from pydantic import BaseModel, Field

from activities.policies.book import Passage, PolicyBook, policy_book
from router.flow.prompts.field_names import name_in_chinese
from router.tool.context import Depends
from router.tool.labels import ChineseLabel
from router.tool.tool import tool

name_in_chinese(
    {
        "city_is_listed": "城市在制度中列出",
        "grade": "职级",
        "grades": "适用职级",
        "heading": "章节",
        "limits": "限额",
        "passages": "制度原文",
        "per": "计算单位",
        "policy": "制度",
    },
    {
        "grade": {"staff": "员工", "director": "总监"},
        "grades": {"staff": "员工", "director": "总监"},
        "per": {"night": "每晚", "day": "每天", "month": "每月", "person": "每人", "item": "每件"},
    },
)

MOST_PASSAGES = 10


class Passages(BaseModel):
    """Passages that fit the question, best first; none where no policy is about it."""

    question: str
    passages: list[Passage]


@tool(
    permission="read",
    title={"zh": "查公司制度", "en": "Search company policies"},
    description_zh="公司制度怎么规定：请假、报销、出差、设备、加班，以及密码等信息安全要求。",
    examples=[
        "出差住宿标准是多少",
        "年假的规定是什么",
        "what is the hotel limit",
        "how does overtime pay work",
        "报销要什么材料",
    ],
)
async def search_policies(
    question: Annotated[
        str,
        Field(description="What to look up, in Chinese or English", min_length=1, max_length=500),
        ChineseLabel("要查的问题"),
    ],
    book: Annotated[PolicyBook, Depends(policy_book)],
    top: Annotated[
        int, Field(description="Passages at most", ge=1, le=MOST_PASSAGES), ChineseLabel("最多几段")
    ] = 3,
) -> Passages:
    """What the rules and limits are: leave, expenses, travel, equipment, overtime, security.

    The company's policies are quoted with file and heading. Answer from the passages alone;
    where there are none, say so.
    """
    return Passages(question=question, passages=await book.search(question, top))
