"""What people are told: what tools found, by a model or plainly, and that a budget is spent."""

import json
from collections.abc import Sequence

from pydantic import JsonValue

from router.domain.budgets import Scope
from router.domain.file_types import mentions_in
from router.domain.locale import Locale, Localised
from router.domain.messages import SpokenLine
from router.flow.prompts.values import linked, told
from router.llm.types import ChatRequest, SystemMessage, UserMessage
from router.routing.prompts import Prompt, material

BUDGET_SPENT: dict[Scope, Localised] = {
    "turn": Localised(
        zh="这句话能用的模型额度用完了，下面按规则处理。",
        en="This message has used up what one may spend on the model; rules go on from here.",
    ),
    "user": Localised(
        zh="你今天的模型额度用完了，明天恢复；各个流程照常能办。",
        en="Your model budget for today is spent and is back tomorrow; all flows work as usual.",
    ),
    "tenant": Localised(
        zh="贵公司今天的模型额度用完了，明天恢复；各个流程照常能办。",
        en="Your company's model budget for today is spent and is back tomorrow; all flows work "
        "as usual.",
    ),
    "day": Localised(
        zh="今天大家的模型额度用完了，明天恢复；各个流程照常能办。",
        en="Everybody's model budget for today is spent and is back tomorrow; all flows work as "
        "usual.",
    ),
}
ADDRESSED = Localised(zh="消息指名给这个技能", en="the message is addressed to this skill")


LONGEST = 6000
"""Characters of one result that a model is shown."""
Finding = tuple[str, JsonValue, str | None]
"""A tool's name, what it found, and why it found nothing."""


def request(
    prompt: Prompt, text: str, findings: Sequence[Finding], history: Sequence[SpokenLine]
) -> ChatRequest:
    """The question to a model: the message, and what was found for it, both marked as material."""
    said = material("\n".join(f"{line.role}: {line.text}" for line in history[-4:]))
    parts = [f"<history>\n{said}\n</history>"]
    for tool, result, error in findings:
        body = material(error or json.dumps(result, ensure_ascii=False)[:LONGEST])
        parts.append(f'<result tool="{tool}">\n{body}\n</result>')
    parts.append(f"<message>\n{material(text)}\n</message>")
    return ChatRequest(
        messages=(SystemMessage(text=prompt.text), UserMessage(text="\n".join(parts))),
        must_call=False,
        prompt=prompt.fingerprint,
    )


def plain(findings: Sequence[Finding], locale: Locale) -> str:
    """The findings as they are, line by line, for when no model can be asked.

    A finding that sums itself up, in a text called `summary`, is that.
    """
    lost = {"zh": "没查到：", "en": "That couldn't be found out: "}[locale]
    return "\n\n".join(
        told(result, locale) if error is None else f"{lost}{error}" for _, result, error in findings
    )


def with_links(said: str, findings: Sequence[Finding], locale: Locale) -> str:
    """What a model said of the findings, with the links of those files that it left out.

    A file that nobody can fetch wasn't worth making.
    """
    files = [file for _, result, _ in findings for file in mentions_in(result)]
    missing = [linked(file, locale) for file in dict.fromkeys(files) if file.url not in said]
    return "\n".join([said, *missing])
