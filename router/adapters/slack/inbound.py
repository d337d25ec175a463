"""What Slack sends, as what somebody did. Pure; what is none of the desk's business is None."""

import html
import re
from typing import Any

from router.adapters.port import Inbound, Place
from router.adapters.reception import button_of
from router.adapters.slack.blocks import COMMENT

FACE = "slack"
_MARKED = re.compile(r"<(?P<to>[^<>|\s][^<>|]*)(?:\|(?P<label>[^<>]*))?>")
"""A link, a mention or a command: what somebody typed has its angle brackets escaped."""
_SIGNS = {"@": "@", "#": "#", "!": "@"}
"""What mentions of people, of channels and of groups are shown with."""
_FROM_PEOPLE = (None, "file_share", "thread_broadcast")
"""Subtypes of messages that somebody has written; the others are edits, joins and the like."""


def event_of(body: dict[str, Any]) -> Inbound | None:
    """A message to the bot: in its own channel, or with a mention anywhere else.

    In a channel every thread is a conversation of its own with each who speaks in it. To the
    bot alone it is one for all that isn't in a thread.
    """
    event = body.get("event")
    if not isinstance(event, dict) or event.get("subtype") not in _FROM_PEOPLE:
        return None
    direct = event.get("type") == "message" and event.get("channel_type") == "im"
    if not direct and event.get("type") != "app_mention":
        return None
    user, channel, id_ = event.get("user"), event.get("channel"), body.get("event_id")
    if event.get("bot_id") or not (_names(user) and _names(channel) and _names(id_)):
        return None
    thread = event.get("thread_ts") or (None if direct else event.get("ts"))
    place = _place(str(channel), thread)
    return Inbound(
        event=str(id_),
        account=str(user),
        thread=":".join(place.values()),
        place=place,
        text=plain(str(event.get("text") or "")),
        with_files=bool(event.get("files")),
    )


def press_of(payload: dict[str, Any]) -> tuple[Inbound, str] | None:
    """A button that was pressed, and the message (its `ts`) that it is in."""
    actions, message = payload.get("actions"), payload.get("message")
    if payload.get("type") != "block_actions" or not isinstance(actions, list) or not actions:
        return None
    user, channel = _id_in(payload, "user"), _id_in(payload, "channel")
    action = actions[0]
    if not isinstance(action, dict) or not isinstance(message, dict) or not (user and channel):
        return None
    button = button_of(str(action.get("value")))
    if button is None:
        return None
    ts = str(message.get("ts"))
    place = _place(channel, message.get("thread_ts"))
    event = f"{ts} {action.get('action_id')} {action.get('action_ts')}"
    thread = ":".join(place.values())
    return Inbound(event, user, thread, place, button=button, comment=_comment(payload)), ts


def plain(text: str) -> str:
    """What was typed, as its writer sees it, without Slack's escapes; mentions are by name or out.

    >>> plain("<@U0DESK> R&amp;D &lt;3, see <https://wiki.example|the wiki>")
    'R&D <3, see the wiki (https://wiki.example)'
    """
    return html.unescape(_MARKED.sub(_shown, text)).strip()


def _shown(marked: re.Match[str]) -> str:
    to, label = marked["to"], marked["label"] or ""
    if (sign := _SIGNS.get(to[0])) is None:
        return _link(to, label)
    # A group's command carries its name after a ^; an id says nothing to whoever reads it.
    said = label or (to[1:] if to[0] == "!" and "^" not in to else "")
    as_it_is = not said or said.startswith(sign) or to.startswith("!date")
    return said if as_it_is else f"{sign}{said}"


def _link(to: str, label: str) -> str:
    """The address, after what it is called where that says more."""
    scheme, _, address = to.partition(":")
    if scheme in {"mailto", "tel"}:
        return label or address
    return f"{label} ({to})" if label and label not in to else to


def _place(channel: str, thread: object) -> Place:
    return {"channel": channel} | ({"thread": str(thread)} if thread else {})


def _id_in(payload: dict[str, Any], name: str) -> str:
    named = payload.get(name)
    found = named.get("id") if isinstance(named, dict) else None
    return found if isinstance(found, str) else ""


def _comment(payload: dict[str, Any]) -> str:
    """What the card's field has in it; nothing where it has none."""
    found: object = payload
    for name in ("state", "values", COMMENT, COMMENT, "value"):
        found = found.get(name) if isinstance(found, dict) else None
    return found if isinstance(found, str) else ""


def _names(value: object) -> bool:
    return isinstance(value, str) and 0 < len(value) <= 100  # noqa: PLR2004
