"""WeCom's callbacks: whether they are ours, what is in them, and what people did by them.

The app's are XML, the group robot's JSON; both are signed and encrypted alike.
"""

import base64
import hashlib
import hmac
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qs, urlsplit

from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.algorithms import AES
from cryptography.hazmat.primitives.ciphers.modes import CBC
from cryptography.hazmat.primitives.padding import PKCS7

from router.api.params import derived_id
from router.documents.file_format import FileReading, Limits, UnreadableFile
from router.documents.xml_tree import Element, parsed
from router.extensions.channels.base import Inbound, InboundFile, button_of, is_id, within
from router.extensions.wecom.settings import CallbackKey, WecomSettings
from router.formats.strict_json import strict_json

FRESH = 300
"""Seconds, either way."""
SALT, BLOCK = 16, 32
"""Bytes: WeCom pads to twice AES's own."""
_OUTER = Limits(nodes=20, depth=3)
_INNER = Limits(nodes=500, depth=6)


def check(key: CallbackKey, query: Mapping[str, str], sealed: str) -> None:
    """Return where it was signed with the token within five minutes; else `ValueError`."""
    stamp, nonce = query.get("timestamp", ""), query.get("nonce", "")
    if not (stamp.isascii() and stamp.isdigit() and len(stamp) <= 12):  # noqa: PLR2004
        raise ValueError("timestamp is no time")
    if abs(time.time() - int(stamp)) > FRESH:
        raise ValueError("it was signed more than five minutes ago, or will be")
    parts = sorted([key.token.get_secret_value(), stamp, nonce, sealed])
    # WeCom's own scheme: whoever lacks the token has no collision to make use of.
    right = hashlib.sha1("".join(parts).encode(), usedforsecurity=False).hexdigest()
    if not hmac.compare_digest(right.encode(), query.get("msg_signature", "").encode()):
        raise ValueError("the signature isn't that of this message")


def opened(key: CallbackKey, sealed: str) -> bytes:
    """What was encrypted: 16 random bytes, a length, the message, and the company that it is for.

    Raises `ValueError` where it wasn't with this key, or is for another company.
    """
    aes = base64.b64decode(f"{key.aes.get_secret_value()}=")
    decryptor = Cipher(AES(aes), CBC(aes[:SALT])).decryptor()
    padded = decryptor.update(base64.b64decode(sealed, validate=True)) + decryptor.finalize()
    unpadder = PKCS7(BLOCK * 8).unpadder()
    content = (unpadder.update(padded) + unpadder.finalize())[SALT:]
    length, content = int.from_bytes(content[:4], "big"), content[4:]
    if len(content) < length or content[length:] != key.receiver.encode():
        raise ValueError("it is for another company")
    return content[:length]


def authentic(settings: WecomSettings, query: Mapping[str, str], raw: bytes) -> Element:
    """The callback, which is of this app; raises `ValueError`, and nobody is told the reason.

    Whoever could tell one reason from another would decrypt by asking. Of what isn't signed only
    the envelope is read.
    """
    envelope = _element(raw, _OUTER)
    sealed = text_of(envelope, "Encrypt")
    check(settings.app_key, query, sealed)
    callback = _element(opened(settings.app_key, sealed), _INNER)
    if text_of(callback, "ToUserName") != settings.corp_id:
        raise ValueError("it is for another company")
    # What is told of the company as a whole has no app, and nobody reads it.
    if text_of(callback, "AgentID") not in {"", str(settings.agent_id)}:
        raise ValueError("it is for another app")
    return callback


def _element(raw: bytes, limits: Limits) -> Element:
    try:
        return parsed(raw, FileReading(limits))
    except UnreadableFile as error:
        raise ValueError(f"its XML is {error.code}") from None


def text_of(callback: Element, name: str) -> str:
    """What stands in the element of that name; empty where there is none."""
    found = callback.first(name)
    return found.text if found else ""


_FILES = frozenset({"image", "file"})
_REFUSED = frozenset({"voice", "video", "location", "link"})
"""Kinds of message that nobody takes: they are refused in words."""
EVERYBODY = "@all"
LONGEST_MEDIA_ID = 512


def message_of(callback: Element) -> Inbound | None:
    """A message to the app, which is always alone with it; None where it is no person's.

    All that a person says there is one conversation.
    """
    kind, event = text_of(callback, "MsgType"), text_of(callback, "MsgId")
    account = _account_of(callback)
    if not (account and is_id(event)):
        return None
    place = {"account": account}
    if kind == "text":
        return Inbound(
            event, account, account, place, text=text_of(callback, "Content"), direct=True
        )
    if kind in _REFUSED:
        return Inbound(event, account, account, place, files=(InboundFile(kind, ""),), direct=True)
    media = text_of(callback, "MediaId")
    if kind not in _FILES or not 0 < len(media) <= LONGEST_MEDIA_ID:
        return None
    name = text_of(callback, "FileName") or text_of(callback, "Title")
    return Inbound(event, account, account, place, files=(InboundFile(name, media),), direct=True)


def press_of(callback: Element) -> Inbound | None:
    """A button that was pressed; None for every other event.

    WeCom gives presses no id: who pressed what on which card, and when, is the same when it is
    delivered again.
    """
    button = button_of(text_of(callback, "EventKey"))
    account = _account_of(callback)
    pressed = text_of(callback, "Event") == "template_card_event"
    if not (pressed and account) or button is None:
        return None
    named = (text_of(callback, name) for name in ("TaskId", "CreateTime", "EventKey"))
    event = derived_id(account, *named)
    return Inbound(event, account, account, {"account": account}, button=button)


def _account_of(callback: Element) -> str:
    """Who did it; empty where that names nobody, or more than one."""
    account = text_of(callback, "FromUserName")
    alone = is_id(account) and "|" not in account and account != EVERYBODY
    return account if alone and text_of(callback, "AgentID") else ""


LONGEST_CODE = 512


@dataclass(frozen=True)
class RobotMessage:
    """What somebody said to the robot; `has_files` where there was something that isn't words."""

    inbound: Inbound
    has_files: bool


def robot_callback(settings: WecomSettings, query: Mapping[str, str], raw: bytes) -> dict[str, Any]:
    """The robot's callback; raises `ValueError` as `authentic` does, and where there is none."""
    key = settings.robot_key
    envelope = strict_json(raw)
    sealed = envelope.get("encrypt") if isinstance(envelope, dict) else None
    if key is None or not isinstance(sealed, str):
        raise ValueError("nothing in it is encrypted")
    check(key, query, sealed)
    callback = strict_json(opened(key, sealed))
    if not isinstance(callback, dict):
        raise ValueError("what was encrypted is no JSON object")  # noqa: TRY004 - from outside
    # Only robots that are shared with other companies say whose people speak to them.
    if within(callback, "from").get("corpid", settings.corp_id) != settings.corp_id:
        raise ValueError("somebody of another company said it")
    return callback


def robot_message_of(callback: Mapping[str, Any]) -> RobotMessage | None:
    """What somebody said to the robot, with a mention in a group or alone with it.

    A group is one conversation with each who speaks in it. WeCom lets the robot answer once.
    """
    kind, event = callback.get("msgtype"), callback.get("msgid")
    account = within(callback, "from").get("userid")
    chat = callback.get("chatid") if callback.get("chattype") == "group" else "robot"
    if not (is_id(event) and is_id(account) and is_id(chat)):
        return None
    items = within(callback, "mixed").get("msg_item") if kind == "mixed" else [callback]
    parts = [each for each in items if isinstance(each, dict)] if isinstance(items, list) else []
    said = [
        str(within(part, str(part["msgtype"])).get("content") or "")
        for part in parts
        if part.get("msgtype") in ("text", "voice")
    ]
    has_files = any(part.get("msgtype") in ("image", "file", "video") for part in parts)
    if not (said or has_files):
        return None
    text = "\n".join(said).strip()
    if chat != "robot" and text.startswith("@"):
        # What is said in a group begins with a mention of the robot.
        text = text.removeprefix(text.split(maxsplit=1)[0]).strip()
    place = {"account": str(account)} | _answer_of(callback.get("response_url"))
    alone = chat == "robot"
    said_there = Inbound(str(event), str(account), str(chat), place, text=text, direct=alone)
    return RobotMessage(said_there, has_files)


def _answer_of(url: object) -> dict[str, str]:
    """By what the robot may answer: the code alone, for only WeCom itself is asked with it."""
    query = parse_qs(urlsplit(url).query) if isinstance(url, str) else {}
    code = query.get("response_code", [""])[0]
    return {"code": code} if 0 < len(code) <= LONGEST_CODE else {}
