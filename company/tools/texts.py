"""Texts, as tools that a model stands behind: translated, and summed up."""

import unicodedata
from typing import Annotated

from pydantic import AfterValidator, Field

from activities.writer import Writer, writer
from router.tool.context import Depends, ToolContext
from router.tool.labels import ChineseLabel
from router.tool.tool import tool

LONGEST_TRANSLATED = 6000
LONGEST_SUMMARISED = 30_000


def _language(name: str) -> str:
    letters = [sign for sign in name if sign not in " -()（）"]
    if not letters or any(unicodedata.category(sign)[0] not in "LM" for sign in letters):
        raise ValueError("name a language, such as English, 法语 or zh-Hant")
    return name.strip()


def _something(text: str) -> str:
    if not text.strip():
        raise ValueError("there is nothing in it")
    return text


Model = Annotated[Writer, Depends(writer)]


@tool(
    permission="read",
    timeout="45s",
    retries=1,
    return_direct=True,
    title={"zh": "翻译", "en": "Translate"},
    description_zh="把一段文字完整翻译成另一种语言。",
    examples=[
        "把这段话翻译成英文",
        "这句日语是什么意思，译成中文",
        "translate this mail into Chinese",
        "how do I say that in French",
    ],
)
async def translate(
    text: Annotated[
        str,
        Field(description="What to translate", min_length=1, max_length=LONGEST_TRANSLATED),
        ChineseLabel("要翻译的内容"),
        AfterValidator(_something),
    ],
    to: Annotated[
        str,
        Field(description="Into which language, by name or code", min_length=2, max_length=40),
        ChineseLabel("目标语言"),
        AfterValidator(_language),
    ],
    ctx: ToolContext,
    model: Model,
) -> str:
    """Translate a text into another language, whole and with nothing added."""
    return await model.write("translate", ctx, to=to, text=text)


@tool(
    permission="read",
    timeout="45s",
    retries=1,
    return_direct=True,
    title={"zh": "写摘要", "en": "Summarise"},
    description_zh="用原文的语言概括一段文字的要点。",
    examples=[
        "帮我总结一下这篇文章",
        "把这封邮件概括成三句话",
        "summarise this report",
        "give me the gist of these meeting notes",
    ],
)
async def summarise(
    text: Annotated[
        str,
        Field(description="What to sum up", min_length=1, max_length=LONGEST_SUMMARISED),
        ChineseLabel("要概括的内容"),
        AfterValidator(_something),
    ],
    ctx: ToolContext,
    model: Model,
    words: Annotated[
        int,
        Field(description="Words at most; in Chinese, characters", ge=20, le=500),
        ChineseLabel("最多字数"),
    ] = 120,
) -> str:
    """Sum up a text in its own language: what it comes to, and what there is to know or do."""
    return await model.write("summarise", ctx, words=str(words), text=text)
