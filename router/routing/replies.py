"""What people are told: what tools found, by a model or plainly, and that a budget is spent."""

import re
from collections.abc import Sequence
from datetime import datetime

from pydantic import JsonValue

from router.domain.budgets import Scope
from router.domain.file_types import mentions_in
from router.domain.locale import Locale, Localised
from router.domain.messages import SpokenLine
from router.flow.prompts.values import linked, lost
from router.llm.types import ChatAnswer, ChatRequest, SystemMessage, UserMessage
from router.routing.excerpt import excerpt
from router.routing.faithfulness import Doubt, Evidence, unmarked
from router.routing.prompts import Prompt, material, shown

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
MODEL_AWAY = Localised(
    zh="语言模型现在没有应答，随口的说法我可能听不懂。各个流程、按钮和直接点名的事照常能办。",
    en="The language model isn't answering right now, so I may not understand free wording. All "
    "flows and buttons work as usual, and so does whatever you ask for by its name.",
)
"""Said once, until it has been back."""
ANSWERED_BEFORE = Localised(
    zh="同样的问题刚答过，依据没变，没有再问模型",
    en="the same was answered before from what still holds: no model was asked",
)
GONE_ON = Localised(
    zh="接着刚才的回答往下办", en="it goes on from the answer that was given just now"
)
ADDRESSED = Localised(zh="消息指名给这个技能", en="the message is addressed to this skill")


LONGEST = 6000
"""Characters of one result that a model is shown."""
MOST_TOKENS = 200
"""Of what a model says of findings: four sentences at most, and one that runs away ends here."""
Finding = tuple[str, JsonValue, str | None]
"""A tool's name, what it found, and why it found nothing."""


def request(
    prompt: Prompt, text: str, findings: Sequence[Finding], history: Sequence[SpokenLine]
) -> ChatRequest:
    """The question to a model: the message, and what was found for it, both marked as material.

    Of a call that failed it isn't told: there is nothing to say of that but that it failed.
    """
    said = material("\n".join(f"{line.role}: {line.text}" for line in history[-4:]))
    parts = [f"<history>\n{said}\n</history>"]
    for tool, result, error in findings:
        if error is None:
            body = material(told_of(result))
            parts.append(f'<result tool="{tool}">\n{body}\n</result>')
    parts.append(f"<message>\n{material(text)}\n</message>")
    return ChatRequest(
        messages=(SystemMessage(text=prompt.text), UserMessage(text="\n".join(parts))),
        must_call=False,
        max_tokens=MOST_TOKENS,
        prompt=prompt.fingerprint,
    )


NOT_MADE = Localised(
    zh="这次要做的太多，有的没有做：{names}。没做的请再说一遍。",
    en="That was too much at once. Not done: {names}. Please ask for those again.",
)


def left_out(answer: ChatAnswer | None, locale: Locale) -> str:
    """What the model called beyond what is done for one message, said to the person."""
    problems = answer.problems if answer else ()
    names = next((problem.names for problem in problems if problem.kind == "surplus"), "")
    return NOT_MADE.within(locale).format(names=names) if names else ""


WHAT_TO_CHANGE = Localised(
    zh="要改哪一项、改成什么？请说具体一点，比如“结束日期改成周五”。",
    en="What should be changed, and to what? Please say, such as “change the end to Friday”.",
)


_HINT = re.compile(
    r"(?:比如|例如|譬如|such as|for example|for instance|e\.g\.)[^。;；)）\n]*", re.IGNORECASE
)
"""What the desk gave as an example: nobody said it."""


def said_before(lines: Sequence[SpokenLine]) -> list[str]:
    """What a flow's values may come from besides the message: what was said, the latest last."""
    return [line.told if line.role == "user" else _HINT.sub("", line.told) for line in lines]


def told_of(result: JsonValue) -> str:
    """A result as a model is shown it: of a large one a part, which says so."""
    return excerpt(result, LONGEST).text


def evidence(
    text: str, findings: Sequence[Finding], history: Sequence[SpokenLine], now: datetime
) -> Evidence:
    """What may be said of the findings: what was found, and what the person said."""
    results = [result for _, result, error in findings if error is None]
    said = [line.text for line in history if line.role == "user"]
    return Evidence(results, [*said, text], now)


def judged(answer: ChatAnswer, found: Evidence, *, of_facts: bool = True) -> str | Doubt:
    """What a model said, as it may be shown; or why it isn't."""
    said = unmarked(shown(answer.text))
    if answer.finish == "length":
        return Doubt("length", said[-_SHOWN_OF_DOUBT:])
    return (
        (found.doubt(said, of_facts=of_facts) or said)
        if said
        else Doubt("nothing", answer.refusal or "")
    )


_SHOWN_OF_DOUBT = 40


def _aside(said: str, locale: Locale) -> str:
    return f"（{said}）" if locale == "zh" else f"({said})"


def completed(said: str, findings: Sequence[Finding], locale: Locale) -> str:
    """What a model said of the findings, with what is no matter of its own.

    The links of those files that it left out, for a file that nobody can fetch wasn't worth
    making; that it has read a part only; and what failed.
    """
    files = [file for _, result, _ in findings for file in mentions_in(result)]
    missing = [linked(file, locale) for file in dict.fromkeys(files) if file.url not in said]
    cut = [excerpt(result, LONGEST).parts for _, result, error in findings if error is None]
    partly = [_aside(part.told(locale), locale) for parts in cut for part in parts]
    failed = [lost(error, locale) for _, _, error in findings if error is not None]
    return "\n\n".join(["\n".join([said, *missing, *dict.fromkeys(partly)]), *failed])
