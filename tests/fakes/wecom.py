"""WeCom, over real HTTP on loopback: takes posts of one app, and delivers what people do."""

import base64
import hashlib
import json
import os
import time
from itertools import count
from typing import Any
from urllib.parse import parse_qs, urlsplit
from uuid import uuid4
from xml.sax.saxutils import escape

import httpx
from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.algorithms import AES
from cryptography.hazmat.primitives.ciphers.modes import CBC
from cryptography.hazmat.primitives.padding import PKCS7
from pydantic import SecretStr

from router.extensions.wecom.settings import WecomSettings
from tests.fakes.delivery import delivered
from tests.fakes.web_server import Got, Reply, WebServer, json_reply

Body = dict[str, Any]
EVENTS, ROBOT = "/adapters/wecom/events", "/adapters/wecom/robot"


class Wecom(WebServer):
    """A company with one app in it."""

    corp, agent, secret = "wwc0ffee00c0ffee00", 1000002, "app-secret"
    token, key = "CallbackToken", "jWmYm7qr5nMoAUwZRjGtBxmz3KA1tkAj3ykkR6q2B2C"
    robot_token, robot_key = "RobotToken", "Qm7jW5nYmq2BRj6GtAUwZrMoB3KAxz1tCkAj3ykkR6q"

    def __init__(self) -> None:
        super().__init__(self._answered)
        self.access = "access-1"
        self.posts: list[Body] = []
        """What was posted, each card once: a second one of the same `task_id` isn't taken."""
        self.updates: list[Body] = []
        """What cards were replaced by."""
        self.codes: set[str] = set()
        """With which a card may be replaced, each once."""
        self.answers: list[Body] = []
        """What was answered in groups, with the code of the callback that it answers."""
        self.media: dict[str, bytes | Reply] = {}
        """What people's files are answered with."""
        self.uploads: dict[str, bytes] = {}
        """The bodies of uploads, by the id that each was given."""
        self.troubles: list[Reply] = []
        """What the next posts are answered with, instead of being taken."""
        self.number = uuid4().hex[:8]
        """Of this company, which no other test has."""
        self._numbers = count(time.time_ns())

    @property
    def settings(self) -> WecomSettings:
        """By which this company is an entrance."""
        return WecomSettings(
            corp_id=self.corp,
            agent_id=self.agent,
            secret=SecretStr(self.secret),
            token=SecretStr(self.token),
            encoding_aes_key=SecretStr(self.key),
            robot_token=SecretStr(self.robot_token),
            robot_encoding_aes_key=SecretStr(self.robot_key),
            url=self.origin,
        )

    def _answered(self, got: Got) -> Reply:
        there = urlsplit(got.target)
        query = {name: values[0] for name, values in parse_qs(there.query).items()}
        path = there.path.removeprefix("/cgi-bin")
        if path == "/gettoken":
            if query != {"corpid": self.corp, "corpsecret": self.secret}:
                return refused(40001, "invalid credential")
            token = {"access_token": self.access, "expires_in": 7200}
            return json_reply({"errcode": 0, "errmsg": "ok", **token})
        if path == "/aibot/response":
            return self._answered_in_group(query["response_code"], json.loads(got.body))
        if query.get("access_token") != self.access:
            return refused(42001, "access_token expired")
        if path.startswith("/media/"):
            return self._kept(query) if path == "/media/get" else self._uploaded(query, got)
        taking = {"/message/send": self._taken, "/message/update_template_card": self._updated}
        return taking[path](json.loads(got.body))

    def _answered_in_group(self, code: str, body: Body) -> Reply:
        if self.troubles:
            return self.troubles.pop(0)
        if code not in self.codes:
            return refused(40058, "response_code invalid or used")
        self.codes.remove(code)
        self.answers.append({**body, "code": code})
        return refused(0, "ok")

    def _kept(self, query: dict[str, str]) -> Reply:
        kept = self.media.get(query["media_id"], refused(40007, "invalid media_id"))
        binary = {"content-type": "application/octet-stream"}
        return kept if isinstance(kept, Reply) else Reply([kept], 200, binary)

    def _uploaded(self, query: dict[str, str], got: Got) -> Reply:
        media = f"media_{len(self.uploads)}_{query['type']}"
        self.uploads[media] = got.body
        return json_reply({"errcode": 0, "errmsg": "ok", "media_id": media})

    def _updated(self, body: Body) -> Reply:
        if body["response_code"] not in self.codes:
            return refused(42016, "response_code expired or used")
        self.codes.remove(body["response_code"])
        self.updates.append(body)
        return refused(0, "ok")

    def _taken(self, body: Body) -> Reply:
        if self.troubles:
            return self.troubles.pop(0)
        if body["agentid"] != self.agent:
            return refused(301002, "no permission of agent")
        if len(body.get("text", {}).get("content", "").encode()) > 2048:
            return refused(45002, "content size out of limit")
        tasks = {card_of(post).get("task_id") for post in self.posts} - {None}
        if card_of(body).get("task_id") in tasks:
            return refused(42014, "taskid has existed")
        self.posts.append(body)
        return json_reply({"errcode": 0, "errmsg": "ok", "msgid": f"m{len(self.posts)}"})

    def account(self, person: str) -> str:
        """What somebody is called in this company."""
        return f"{person}.{self.number}"

    async def posted(self, text: str) -> Body:
        """The first post with this in it, as soon as it is there."""
        return await self.first(self.posts, text)

    async def updated(self, text: str) -> Body:
        """The first replacement of a card with this in it, as soon as it is there."""
        return await self.first(self.updates, text)

    def message(self, person: str, text: str = "", kind: str = "text", **more: str) -> Body:
        """What somebody says or sends to the app."""
        said = {"Content": text} if kind == "text" else {}
        return self.callback(
            person, MsgType=kind, **{**said, "MsgId": str(next(self._numbers)), **more}
        )

    def press(self, person: str, post: Body, label: str) -> Body:
        """A press of the button of this label in a post."""
        card = card_of(post)
        (button,) = [each for each in card["button_list"] if each["text"] == label]
        self.codes.add(code := f"code-{next(self._numbers)}")
        about = {"EventKey": button["key"], "TaskId": card["task_id"], "ResponseCode": code}
        about["CardType"] = card["card_type"]
        return self.callback(person, MsgType="event", Event="template_card_event", **about)

    def callback(self, person: str, **more: str) -> Body:
        user = self.account(person)
        about = {"ToUserName": self.corp, "FromUserName": user, "AgentID": str(self.agent)}
        return {**about, "CreateTime": str(next(self._numbers))[-10:], **more}

    def called(self, person: str, text: str, chat: str = "wr_1", **more: Any) -> Body:
        """What somebody says to the robot, by calling it in a group."""
        self.codes.add(code := f"code-{next(self._numbers)}")
        said = {"msgtype": "text", "text": {"content": f"@Desk {text}"}}
        about = {"msgid": f"CAIQ{next(self._numbers)}", "aibotid": "AIB1", "chatid": chat}
        about |= {"chattype": "group", "response_url": f"{self.origin}/x?response_code={code}"}
        return {**about, "from": {"userid": self.account(person)}, **said, **more}

    async def call(self, router: httpx.AsyncClient, body: Body | bytes) -> httpx.Response:
        """Deliver what the robot was told."""
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        sealed = self.sealed(content, self.robot_key, corp="")
        query = self.signed(sealed, token=self.robot_token)
        return await router.post(ROBOT, params=query, json={"encrypt": sealed})

    async def deliver(self, router: httpx.AsyncClient, body: Body | str) -> httpx.Response:
        """Deliver it until the desk is sure of it, as the platform does."""
        return await delivered(lambda: self.deliver_once(router, body))

    async def deliver_once(self, router: httpx.AsyncClient, body: Body | str) -> httpx.Response:
        sealed = self.sealed(body if isinstance(body, str) else xml_of(body))
        query, raw = self.signed(sealed), self.envelope(sealed)
        return await router.post(EVENTS, params=query, content=raw)

    def sealed(self, message: str | bytes, key: str = "", corp: str | None = None) -> str:
        """A message as it is sent: encrypted, with its length and for whom it is."""
        content = message if isinstance(message, bytes) else message.encode()
        aes = base64.b64decode(f"{key or self.key}=")
        whole = os.urandom(16) + len(content).to_bytes(4, "big") + content
        padder = PKCS7(256).padder()
        padded = (
            padder.update(whole + (self.corp if corp is None else corp).encode())
            + padder.finalize()
        )
        encryptor = Cipher(AES(aes), CBC(aes[:16])).encryptor()
        return base64.b64encode(encryptor.update(padded) + encryptor.finalize()).decode()

    def envelope(self, sealed: str) -> bytes:
        """The body that WeCom puts what is sealed into."""
        about = {"ToUserName": self.corp, "Encrypt": sealed, "AgentID": str(self.agent)}
        return xml_of(about).encode()

    def signed(self, sealed: str, at: float | None = None, token: str = "") -> dict[str, str]:
        """The query by which WeCom signs what is sealed."""
        stamp, nonce = str(int(time.time() if at is None else at)), "1372623149"
        parts = sorted([token or self.token, stamp, nonce, sealed])
        signature = hashlib.sha1("".join(parts).encode(), usedforsecurity=False).hexdigest()
        return {"msg_signature": signature, "timestamp": stamp, "nonce": nonce}


def refused(code: int, said: str) -> Reply:
    """An answer of WeCom's without anything but a code, in the shape of all of them."""
    return json_reply({"errcode": code, "errmsg": said})


def xml_of(fields: Body) -> str:
    """A message as WeCom writes it: texts stand in sections that nothing is markup in."""
    lines = (f"<{name}>{_section(value)}</{name}>" for name, value in fields.items())
    return f"<xml>{''.join(lines)}</xml>"


def _section(text: str) -> str:
    return text if text.isdigit() else f"<![CDATA[{text}]]>" if "]]>" not in text else escape(text)


def card_of(post: Body) -> Body:
    """The card of a post; an empty one where it has none."""
    card: Body = post.get("template_card", {})
    return card


def labels(post: Body) -> list[str]:
    """What the buttons of a post say, which can be pressed."""
    card = card_of(post)
    return [] if "replace_text" in card else [each["text"] for each in card["button_list"]]
