"""What the desk says, as WeCom's texts and template cards, within the room that those have.

What a card would cut stands in a text before it, so that nobody decides on half of something.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from router.domain.locale import Localised
from router.domain.messages import ConfirmReply, Reply, unsaid
from router.domain.text_tables import as_lines
from router.domain.visible_text import isolated, legible, one_line
from router.extensions.channels import cards
from router.extensions.channels.base import VERDICTS, DecisionRequest, Post, Statement

MOST_TEXT = 2048
"""Bytes of a text: WeCom cuts what is longer."""
MOST_BUTTONS, MOST_FIELDS = 6, 6
LONGEST_KEY = 1024
"""Bytes of what a button carries."""
LONGEST_TITLE, LONGEST_SENTENCE = 36, 160
LONGEST_LABEL, LONGEST_VALUE, LONGEST_ON_BUTTON = 5, 26, 10
"""Full-width characters that a card shows."""
_LINK = re.compile(r"<(?=[/\s]{0,4}[aA]\b)")
"""Where a text of WeCom's would begin a link under another name."""

CHOOSE = Localised(zh="请选择：", en="Please choose:")
NO_FILES_HERE = Localised(
    zh="群里收不了图片和文件，请直接发到这里。",
    en="Pictures and files can't be taken in a group; please send them here.",
)
SETTLED = Localised(zh="已处理", en="Closed")

Body = dict[str, Any]


def messages(post: Post, key: str) -> list[Body]:
    """The post as WeCom's messages, in their order; of one `key` each card is posted once."""
    if isinstance(post, Statement):
        found = [body for reply in post.replies for body in _reply(reply, post)]
    else:
        found = list(_wanted(post))
    for number, body in enumerate(found):
        if "template_card" in body:
            body["template_card"]["task_id"] = f"{key}_{number}"
    return found


def in_group(said: Statement) -> str:
    """The same for everybody in a group to read: no buttons, for everybody could press them."""
    whole = (cards.sections_of(reply, said.locale, buttons=False) for reply in said.replies)
    return "\n\n".join("\n".join(sections) for sections in whole)


def texts(text: str) -> Iterator[Body]:
    """The text, cut where lines end so that WeCom cuts nothing; no link is in it but what it is."""
    text = _LINK.sub("＜", text)
    while text:
        room = len(text.encode("utf-8", "replace")[:MOST_TEXT].decode("utf-8", "ignore"))
        end = text.rfind("\n", 1, room + 1) if room < len(text) else room
        end = end if end > 0 else room
        yield {"msgtype": "text", "text": {"content": text[:end]}}
        text = text[end:].removeprefix("\n")


def _reply(reply: Reply, said: Statement) -> Iterator[Body]:
    # WeCom has no dialog that asks before a press counts: what wants one is done in words.
    buttons = [_button(each) for each in cards.answers(reply, said) if not each.sure]
    if not _can_be_pressed(buttons):
        yield from texts("\n".join(cards.sections_of(reply, said.locale, buttons=False)))
        return
    whole = "\n".join(cards.sections_of(reply, said.locale, buttons=True))
    text, fields = whole, dict[str, str]()
    if isinstance(reply, ConfirmReply):
        text, fields = as_lines(reply.text, said.locale), unsaid(reply)
    told, _, question = text.rpartition("\n")
    if not (_fits(question, LONGEST_SENTENCE) and _fit(fields)):
        told, question, fields = whole, "", {}
    yield from texts(told)
    yield _card(question or CHOOSE.within(said.locale), buttons, fields)


def _wanted(wanted: DecisionRequest) -> Iterator[Body]:
    if not _fits_a_card(wanted):
        yield from texts("\n".join(cards.decided_on(wanted)))
    yield {"msgtype": "template_card", "template_card": decision_card(wanted)}


def decision_card(wanted: DecisionRequest) -> Body:
    """The approver's card; once there is an outcome it says that, and nothing can be pressed."""
    buttons = [_button(cards.deciding(wanted, verdict)) for verdict in VERDICTS]
    title, fields = cards.title_of(wanted), _fields(wanted) if _fits_a_card(wanted) else {}
    made: Body = _card(title, buttons, fields)["template_card"]
    if wanted.outcome:
        said = {"main_title": {"title": title}, "sub_title_text": wanted.outcome}
        made |= {**said, "replace_text": SETTLED.within(wanted.locale)}
    return made


def _fits_a_card(wanted: DecisionRequest) -> bool:
    short = _fits(cards.title_of(wanted), LONGEST_TITLE) and not wanted.changes
    return short and _fit(_fields(wanted))


def _fields(wanted: DecisionRequest) -> dict[str, str]:
    requester = {cards.REQUESTER.within(wanted.locale): wanted.requester}
    return requester | wanted.approval.summary_in(wanted.locale)


def _card(heading: str, buttons: list[Body], fields: Mapping[str, str]) -> Body:
    made: Body = {"card_type": "button_interaction", "button_list": buttons}
    short = _fits(heading, LONGEST_TITLE)
    made |= {"main_title": {"title": heading}} if short else {"sub_title_text": heading}
    if fields:
        made["horizontal_content_list"] = [
            {"keyname": one_line(label), "value": isolated(legible(value))}
            for label, value in fields.items()
        ]
    return {"msgtype": "template_card", "template_card": made}


def _button(each: cards.CardButton) -> Body:
    style = 1 if each.style == "primary" else 2
    return {"text": one_line(each.label), "style": style, "key": each.button.packed}


def _can_be_pressed(buttons: list[Body]) -> bool:
    keys = {each["key"] for each in buttons}
    room = all(
        len(each["key"].encode()) <= LONGEST_KEY and _fits(each["text"], LONGEST_ON_BUTTON)
        for each in buttons
    )
    return 0 < len(buttons) == len(keys) <= MOST_BUTTONS and room


def _fit(fields: Mapping[str, str]) -> bool:
    return len(fields) <= MOST_FIELDS and all(
        _fits(one_line(label), LONGEST_LABEL) and _fits(legible(value), LONGEST_VALUE)
        for label, value in fields.items()
    )


def _fits(text: str, most: int) -> bool:
    """True where it is one line, and no wider than so many Chinese characters."""
    return "\n" not in text and sum(1 if each.isascii() else 2 for each in text) <= 2 * most
