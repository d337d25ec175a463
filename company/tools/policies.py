"""The company's policies, as a tool: what they say, in their own words."""

from typing import Annotated

from pydantic import BaseModel, Field

from activities.phrases import whole
from company.policies.book import Passage, PolicyBook, policy_book
from company.tools import summaries
from router.flow.prompts.field_names import name_in_chinese
from router.tool.context import Depends, ToolContext
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

_OF = (
    "(?:婚假|产假|陪产假|丧假|病假|年假|年休假|事假|调休|育儿假|探亲假|加班费?|报销|发票|出差(?:住宿|餐补|补贴)?|住宿|餐补"
    "|差旅|打车|团建|话费|请假|设备|密码)"
)
"""What the company has policies about, as people call it."""
_OF_EN = (
    "(?:marriage|maternity|paternity|bereavement|sick|annual|compensatory|overtime|travel|hotel|meal"
    "|per diem|expense|receipt|invoice|password)"
)
_DONE_EN = "(?:work|works|count|counted|paid|calculated|granted|handled)"
_GIVEN_EN = (
    "(?: leave)?(?: (?:do|can|may) i (?:get|take|claim|spend)| (?:is|are) (?:allowed|granted|given)"
    "| am i entitled to)"
)
_RULE_EN = "(?:polic(?:y|ies)|rules?|limits?|allowance|requirements?)"


class Passages(BaseModel):
    """Passages that fit the question, best first; none where no policy is about it."""

    question: str
    passages: list[Passage]
    summary: str


@tool(
    permission="read",
    suggested=True,
    shared="720m",
    title={"zh": "查公司制度", "en": "Search company policies"},
    description_zh="公司制度怎么规定：请假、报销、出差、设备、加班，以及密码等信息安全要求。",
    examples=[
        "出差住宿标准是多少",
        "年假的规定是什么",
        "what is the hotel limit",
        "how does overtime pay work",
        "报销要什么材料",
    ],
    phrases=[
        # 婚假怎么休、产假有几天、病假要什么证明; what one has left oneself is something else
        whole(f"(?P<question>{_OF}(?:要|应该|该|得)?怎么(?:休|请|算|报|报销|规定|计算|发))"),
        whole(
            f"(?P<question>{_OF}(?:有|是|都|要|需要|提供|带|交)*(?:什么|哪些)(?:规定|要求|条件|材料|证明|手续|标准|限制))"
        ),
        whole(
            f"(?P<question>{_OF}(?:的)?(?:标准|规定|政策|制度|上限|限额|要求)(?:是|有)?(?:多少|什么|怎么样|哪些))"
        ),
        whole(
            f"(?P<question>{_OF}(?:可以|能|最多|一般|一共|总共|最长)*(?:有|请|休|是)(?:多少天|几天|多久|多长时间))"
        ),
        whole(
            f"(?P<question>{_OF}(?:需要|要|用)(?:不用|不要)?[^,.!?]{{0,8}}(?:证明|发票|材料|审批)吗?)"
        ),
        whole("(?P<question>没有?发票(?:的)?(?:还|也)?(?:能|可以|能不能|可不可以)报销?)"),
        whole("(?P<question>(?:is|are) [a-z ]{2,40} (?:covered|reimbursed|reimbursable))"),
        whole("(?P<question>am i allowed to [a-z ]{2,40})"),
        whole(f"(?P<question>how (?:does|do|is|are) {_OF_EN}[a-z ]{{0,20}}{_DONE_EN})"),
        whole(f"(?P<question>how (?:many days|much|long) (?:of |is |are )*{_OF_EN}{_GIVEN_EN}?)"),
        whole(f"(?P<question>what(?:'s| is| are) (?:the )?{_OF_EN}[a-z ]{{0,20}}{_RULE_EN})"),
    ],
)
async def search_policies(
    question: Annotated[
        str,
        Field(description="What to look up, in Chinese or English", min_length=1, max_length=500),
        ChineseLabel("要查的问题"),
    ],
    book: Annotated[PolicyBook, Depends(policy_book)],
    ctx: ToolContext,
    top: Annotated[
        int, Field(description="Passages at most", ge=1, le=MOST_PASSAGES), ChineseLabel("最多几段")
    ] = 3,
) -> Passages:
    """What the rules and limits are: leave, expenses, travel, equipment, overtime, security.

    The company's policies are quoted with file and heading. Answer from the passages alone;
    where there are none, say so.
    """
    found = await book.search(question, top)
    said = summaries.policy(question, found, ctx.locale)
    return Passages(question=question, passages=found, summary=said)
