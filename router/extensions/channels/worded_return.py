"""Returning in words, where a platform's card has no field to write in.

Whoever presses *Return* there is told a number, and replies with it and with what is to be
changed. The number stands for one approval exactly as it was shown: it is derived from both, so
nothing is kept, and one that has changed since, or was decided, has another number or none.
"""

import re
from typing import NamedTuple

from router.api.dependencies import Services
from router.api.params import derived_id
from router.domain.locale import Localised
from router.domain.principals import Principal
from router.domain.visible_text import one_line, visible
from router.extensions.channels import cards
from router.extensions.channels.base import CardDecision

SAY_WHAT = Localised(
    zh="要退回“{title}”，请回复下面这一行，并在后面写明要改什么（最多 1000 字）：\n退回 #{number} ",
    en="To return “{title}”, reply with the line below, followed by what is to be changed "
    "(1,000 characters at most):\nreturn #{number} ",
)
NOTHING_THERE = Localised(
    zh="没有编号为 #{number} 的审批在等您：可能已经处理，或者内容有了变化。没有退回任何内容。",
    en="No approval with the number #{number} waits for you: it was decided, or has changed. "
    "Nothing was returned.",
)
SEVERAL_THERE = Localised(
    zh="编号 #{number} 对应两项以上的审批，分不清是哪一项。没有退回任何内容，请在网页上退回。",
    en="The number #{number} stands for more than one approval, so nothing was returned. Return "
    "it on the web page.",
)
APPROVALS_PER_PAGE = 200
"""Approvals that are read at once while a number is looked for among all that wait."""
_WORDS = re.compile(
    r"(?:退回|return) {0,4}[#＃]([a-z2-7]{5})(?![a-z0-9])(.*)", re.DOTALL | re.IGNORECASE
)


class WordedReturn(NamedTuple):
    """What a text returns: by its number, and what is to be changed."""

    number: str
    comment: str


def read(text: str) -> WordedReturn | None:
    """What the text returns; None where it is any other text.

    >>> read("退回 #k3f7q：到周三就好")
    WordedReturn(number='k3f7q', comment='到周三就好')
    """
    found = _WORDS.fullmatch(text.strip())
    return WordedReturn(found[1].lower(), visible(found[2]).strip(" :：,，")) if found else None


def number_of(approval: str, digest: str) -> str:
    """What an approver calls it in words: another number once what is decided on is changed."""
    return derived_id("return", approval, digest)[:5]


async def find_numbered(services: Services, person: Principal, number: str) -> list[CardDecision]:
    """Return the returns of all that have this number and wait for the person: usually one."""
    runs, cursor = services.store.runs, None
    found: list[CardDecision] = []
    while True:
        waiting, cursor = await runs.waiting_for(
            person.tenant, person.id, cursor, APPROVALS_PER_PAGE
        )
        found += [
            CardDecision(approval=record.id, digest=record.digest, verdict="return")
            for record in waiting
            if number_of(record.id, record.digest) == number
        ]
        if cursor is None:
            return found


async def request_for_words(services: Services, person: Principal, made: CardDecision) -> str:
    """How what was pressed on is returned; where it isn't what waits any more, that."""
    record = await services.store.runs.find_approval(person.tenant, made.approval)
    if record is None:
        return cards.CLOSED.within(person.locale)
    if record.digest != made.digest:
        return cards.CHANGED.within(person.locale)
    title = one_line(record.title.within(person.locale))
    number = number_of(record.id, record.digest)
    return SAY_WHAT.within(person.locale).format(title=title, number=number)
