"""What travels to DingTalk and back, read and made without asking anybody.

Of what is posted only lists and line breaks are Markdown: what somebody wrote makes no link, no
picture, no heading and no tag, and begins no line where a field of a card could stand.
"""

import json
import re
from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Any

from router.domain.messages import as_plain_text
from router.domain.text_tables import as_lines
from router.domain.visible_text import one_line
from router.extensions.channels import cards
from router.extensions.channels.base import (
    ChatPlace,
    DecisionRequest,
    Inbound,
    InboundFile,
    Post,
    Statement,
    button_of,
    is_id,
    within,
)
from router.formats.strict_json import strict_json

Body = dict[str, Any]

ALONE, GROUP = "1", "2"
"""DingTalk's kinds of conversations: with the robot alone, and a group in which it is mentioned."""
MOST_PARTS = 200
"""Pieces of a text with pictures that are looked at."""
_CHAT = re.compile(r"[A-Za-z0-9+/=_-]{1,100}")
"""A conversation's id: where a card is delivered is named with several of them, apart by `;`."""
LONGEST_CODE = 4000
"""Characters of what a file is fetched by."""


def of_company(corp: str, robot: str, body: Mapping[str, Any]) -> bool:
    """True for what one of the company's people said to its own robot.

    Nothing but the time is signed, so all that the body says of itself has to agree. A guest of a
    group has another company or none, and no staff id.
    """
    said = [body.get(name) for name in ("chatbotCorpId", "senderCorpId", "robotCode")]
    return said == [corp, corp, robot]


def message_of(body: Mapping[str, Any]) -> Inbound | None:
    """A message to the robot: alone with it, or with a mention in a group.

    A group is one conversation with each who speaks in it; DingTalk has no threads.
    """
    account, event = body.get("senderStaffId"), body.get("msgId")
    chat, kind = body.get("conversationId"), body.get("conversationType")
    if not (is_id(account) and is_id(event)) or kind not in (ALONE, GROUP):
        return None
    if not (isinstance(chat, str) and _CHAT.fullmatch(chat)):
        return None
    read = _READ.get(str(body.get("msgtype")))
    if read is None:
        return None
    content = within(body, "content")
    text, files = read(within(body, "text") if body.get("msgtype") == "text" else content)
    place: ChatPlace = {"group": chat} if kind == GROUP else {"account": str(account)}
    return Inbound(
        event=str(event),
        account=str(account),
        thread=chat,
        place=place,
        text=text,
        files=tuple(files),
        direct=kind == ALONE,
    )


_Content = tuple[str | None, list[InboundFile]]


def _said(content: Body) -> _Content:
    said = content.get("content")
    return (said if isinstance(said, str) else "").strip(), []


def _rich(content: Body) -> _Content:
    listed = content.get("richText")
    parts = [each for each in listed if isinstance(each, dict)] if isinstance(listed, list) else []
    texts = [part["text"] for part in parts[:MOST_PARTS] if isinstance(part.get("text"), str)]
    pictures = [_file(part) for part in parts[:MOST_PARTS] if part.get("type") == "picture"]
    return "".join(texts).strip(), pictures


def _picture(content: Body) -> _Content:
    return None, [_file(content)]


def _film(content: Body) -> _Content:
    del content
    return None, [InboundFile("video", "")]


def _spoken(content: Body) -> _Content:
    """What DingTalk understood; a recording of which it understood nothing is a file of no kind."""
    heard = content.get("recognition")
    if isinstance(heard, str) and heard.strip():
        return heard.strip(), []
    return None, [InboundFile("audio", "")]


def _file(content: Body) -> InboundFile:
    code, name = content.get("downloadCode"), content.get("fileName")
    known = isinstance(code, str) and len(code) <= LONGEST_CODE
    return InboundFile(name if isinstance(name, str) else "", str(code) if known else "")


_READ = {
    "text": _said,
    "richText": _rich,
    "picture": _picture,
    "file": _picture,
    "video": _film,
    "audio": _spoken,
}
"""How each kind of message is read; others say nothing that anybody answers."""


def press_of(body: Mapping[str, Any], delivery: str) -> tuple[Inbound, str] | None:
    """A button that was pressed, and the card that it is on.

    A press has no id of its own: `delivery` names when it came. What is said to whoever pressed
    is said to them alone, wherever the card is.
    """
    account, card = body.get("userId"), body.get("outTrackId")
    content = body.get("content")
    try:
        read = strict_json(content.encode()) if isinstance(content, str) else content
    except ValueError:
        return None
    params = within(read, "cardPrivateData", "params")
    packed, comment = params.get("button"), params.get("comment")
    button = button_of(packed) if isinstance(packed, str) else None
    if button is None or not (is_id(account) and is_id(card)):
        return None
    said = comment if isinstance(comment, str) else ""
    event, place = f"{card} {packed} {delivery}", {"account": str(account)}
    return Inbound(event, str(account), str(card), place, button=button, comment=said), str(card)


Fields = dict[str, str]
"""What the variables of the card's template are; all of DingTalk's are text."""

LONGEST_TITLE = 60
"""Characters of what is shown of a post in the list of chats."""
LONGEST_TEXT = 4000
"""Characters of one message."""
_COLOURS = {"primary": "blue", "danger": "red"}
NO_BUTTONS = "[]"


def has_buttons(post: Post) -> bool:
    """True for what wants a card; all else is a message."""
    if isinstance(post, DecisionRequest):
        return True
    return any(True for reply in post.replies for _ in _answers(reply, post))


def card_of(post: Post) -> Fields:
    """The post as the variables of the card's template."""
    if isinstance(post, DecisionRequest):
        return _wanted(post)
    buttons = [each for reply in post.replies for each in _answers(reply, post)]
    texts = [
        text
        for reply in post.replies
        for text in cards.sections_of(reply, post.locale, buttons=bool([*_answers(reply, post)]))
    ]
    return _fields(content=_paragraphs(texts), btns=_row(buttons))


def _answers(reply: Any, post: Statement) -> Iterator[cards.CardButton]:
    """Those that need no dialog, for a template's buttons have none; the rest is said in words."""
    return (each for each in cards.answers(reply, post) if not each.sure)


def _wanted(wanted: DecisionRequest) -> Fields:
    title, *texts = cards.decided_on(wanted)
    if wanted.outcome:
        return _fields(title=title, content=_paragraphs(texts), status=wanted.outcome)
    at_once = [cards.deciding(wanted, "approve"), cards.deciding(wanted, "reject")]
    return _fields(
        title=title,
        content=_paragraphs(texts),
        btns=_row(at_once),
        # The template's own field sends it, together with what was written there.
        returning=cards.deciding(wanted, "return").button.packed,
        hint=cards.WHAT_TO_CHANGE.within(wanted.locale),
    )


def _fields(**given: str) -> Fields:
    empty = dict.fromkeys(("title", "content", "status", "returning", "hint"), "")
    return {**empty, "btns": NO_BUTTONS, **given}


def _row(buttons: list[cards.CardButton]) -> str:
    return json.dumps([_button(each) for each in buttons], ensure_ascii=False)


def _button(each: cards.CardButton) -> Body:
    event = {"actionId": "press", "params": {"button": each.button.packed}}
    return {
        "text": each.label,
        "color": _COLOURS.get(each.style or "", "gray"),
        "status": "normal",
        "event": {"type": "sendCardRequest", "params": event},
    }


def title_of(post: Post) -> str:
    """What is shown of it in the list of chats, and on a locked screen."""
    if isinstance(post, DecisionRequest):
        return cards.title_of(post)[:LONGEST_TITLE]
    return one_line(text_of(post).partition("\n")[0])[:LONGEST_TITLE]


def text_of(said: Statement) -> str:
    """The whole as lines, to be answered in words."""
    return as_lines(as_plain_text(said.replies, said.locale), said.locale)


def updated(fields: Fields, **private: str) -> Body:
    """How a card is from now on: for all who see it, and `private` for whoever pressed."""
    options = {"updateCardDataByKey": True, "updatePrivateDataByKey": True}
    body: Body = {"cardUpdateOptions": options}
    body |= {"cardData": {"cardParamMap": fields}} if fields else {}
    return body | ({"userPrivateData": {"cardParamMap": private}} if private else {})


_LISTED = re.compile(r"(?:[-*+]|\d{1,9}[.)]) ")
_LEADING = re.compile(r" +")
_STRUCTURE = re.compile(r"#{1,6}(?:\s|$)|>|\||[=-]+\s*$")
"""What makes a heading, a quotation, a table or a rule of a line."""
_MARKS = re.compile(r"[\\`*~]|(?<!\w)_|_(?!\w)")
_LINK = re.compile(r"(\]\s*)([(:\[])")
_HARMLESS = {"(": "（", ":": "：", "[": "［"}
"""Of a link, a definition and a reference what makes them one, as it only looks."""


def as_markdown(text: str) -> str:
    r"""The text as DingTalk's Markdown shows it: its lines and lists, and nothing else of it.

    >>> as_markdown("Left:\n- annual: 12\n- sick: 5")
    'Left:\n\n- annual: 12\n- sick: 5'
    >>> as_markdown("[bank](https://evil.test) <font>")
    '[bank]（https://evil.test) ＜font>'
    """
    lines = text.split("\n")
    shown = [_line(each) for each in lines]
    made = shown[0]
    for (before, line), after in zip(pairwise(lines), shown[1:], strict=True):
        listed = bool(_LISTED.match(before)), bool(_LISTED.match(line))
        blank = not (before.strip() and line.strip())
        apart = "\n" if all(listed) or blank else "\n\n" if any(listed) else "  \n"
        made += apart + after
    return made


def _line(line: str) -> str:
    listed = _LISTED.match(line)
    mark = listed[0].replace("*", "-").replace("+", "-") if listed else ""
    rest = line[listed.end() :] if listed else line
    # Spaces at the beginning are what sets a value's later lines in; Markdown drops them.
    indent = _LEADING.match(rest)
    rest = rest[indent.end() :] if indent else rest
    plain = _MARKS.sub(r"\\\g<0>", rest).replace("<", "＜")
    plain = _LINK.sub(lambda found: found[1] + _HARMLESS[found[2]], plain)
    plain = f"\\{plain}" if _STRUCTURE.match(plain) else plain
    return mark + "\u00a0" * len(indent[0] if indent else "") + plain


def _paragraphs(texts: list[str]) -> str:
    return "\n\n".join(as_markdown(text) for text in texts)
