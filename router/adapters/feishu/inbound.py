"""What Feishu sends, as what somebody did. Pure; what is none of the desk's business is None."""

import re
from typing import Any

from router.adapters.feishu.cards import COMMENT
from router.adapters.port import Inbound, Place
from router.adapters.reception import button_of
from router.api.body import strict_json

FACE = "feishu"
_MENTION = re.compile(r"@_user_\d+")
_WITH_FILES = ("file", "image", "media", "audio")


def message_of(body: dict[str, Any]) -> Inbound | None:
    """A message to the bot: alone with it, or with a mention in a group.

    Feishu delivers those of groups only where the bot is mentioned. A group's thread, or else the
    group, is one conversation with each who speaks in it.
    """
    message, header = _in(body, "event", "message"), _in(body, "header")
    sender, kind = _in(body, "event", "sender"), message.get("message_type")
    account = _in(sender, "sender_id").get("open_id")
    event, chat = header.get("event_id"), message.get("chat_id")
    if sender.get("sender_type") != "user" or not (kind == "text" or kind in _WITH_FILES):
        return None
    if not (_names(account) and _names(event) and _names(chat)):
        return None
    place = _place(str(chat), message)
    return Inbound(
        event=str(event),
        account=str(account),
        thread=str(message.get("thread_id") or chat),
        place=place,
        text=_text(message.get("content")) if kind == "text" else None,
        with_files=kind in _WITH_FILES,
    )


def press_of(body: dict[str, Any]) -> Inbound | None:
    """A button that was pressed."""
    event = _in(body, "event")
    packed = _in(event, "action", "value").get("button")
    account, chat = _in(event, "operator").get("open_id"), _in(event, "context").get("open_chat_id")
    id_ = _in(body, "header").get("event_id")
    button = button_of(packed) if isinstance(packed, str) else None
    if button is None or not (_names(account) and _names(chat) and _names(id_)):
        return None
    comment = _in(event, "action", "form_value").get(COMMENT)
    comment = comment if isinstance(comment, str) else ""
    place = {"chat": str(chat)}
    return Inbound(str(id_), str(account), str(chat), place, button=button, comment=comment)


def _place(chat: str, message: dict[str, Any]) -> Place:
    """A message of a thread is answered in it, by a reply to that message."""
    replied = message.get("message_id") if message.get("thread_id") else None
    return {"chat": chat} | ({"message": replied} if isinstance(replied, str) else {})


def _text(content: object) -> str:
    """What was typed, without mentions; nothing where it can't be read."""
    try:
        said = strict_json(content.encode()) if isinstance(content, str) else {}
    except ValueError:
        return ""
    text = said.get("text") if isinstance(said, dict) else None
    return _MENTION.sub("", text).strip() if isinstance(text, str) else ""


def _in(value: dict[str, Any], *names: str) -> dict[str, Any]:
    """The object at the end of these names; an empty one where there is none."""
    for name in names:
        inner = value.get(name)
        value = inner if isinstance(inner, dict) else {}
    return value


def _names(value: object) -> bool:
    return isinstance(value, str) and 0 < len(value) <= 100  # noqa: PLR2004
