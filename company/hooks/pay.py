"""What people earn is between them and human resources: nobody else is told, by no way."""

import re
from typing import Annotated

from activities import provided
from router.domain.hooks import DecisionEvent, Veto
from router.domain.locale import Localised
from router.domain.principals import EVERYONE, Directory, Principal
from router.tool.context import Depends
from router.tool.hook import hook

PAY = (
    r"工资|薪资|薪水|薪酬|月薪|年薪|奖金|salar|\bpay\b|\bwages?\b|\bbonus|\bearns?\b"
    # Whoever paid for dinner is no secret: what somebody is, gets or was paid.
    r"|\b(?:am|is|are|was|were|being|gets?|got) (?:\w+ ){0,3}paid\b"
)
OTHERS = (
    *("同事", "别人", "其他人", "大家", "每个人", "所有人"),
    *("colleague", "everyone", "everybody", "somebody", "coworker"),
)
HUMAN_RESOURCES = "hr"
REFUSED = Localised(
    zh="别人的薪酬只有人事能看，这里不能回答。您自己的可以问人事。",
    en="What others are paid is for human resources alone, so I can't answer that. They can tell "
    "you what you are paid yourself.",
)


@hook("before_decision", phrases=[PAY])
async def keep_pay_private(
    event: DecisionEvent, directory: Annotated[Directory, Depends(provided.directory)]
) -> Veto | None:
    """Refuses questions about what others are paid, but to human resources."""
    caller, said = event.caller, event.text.casefold()
    if HUMAN_RESOURCES in caller.roles:
        return None
    people = await directory.holding(event.tenant, EVERYONE)
    others = [one for one in people if one.id != caller.id]
    about_others = any(word in said for word in OTHERS) or any(_names(said, one) for one in others)
    return Veto(say=REFUSED) if about_others else None


def _names(said: str, person: Principal) -> bool:
    """Whether somebody is named: letters as a word of their own, Chinese names wherever."""
    words = {*re.findall(r"[^\W_]+", said, re.ASCII)}
    parts = person.name.casefold().split()
    return any(part in (words if part.isascii() else said) for part in parts)
