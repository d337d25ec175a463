"""Feishu, over real HTTP on loopback: takes posts of one app, and delivers what people do."""

import base64
import hashlib
import json
import os
import time
from typing import Any
from uuid import uuid4

import httpx
from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.algorithms import AES
from cryptography.hazmat.primitives.ciphers.modes import CBC
from cryptography.hazmat.primitives.padding import PKCS7
from pydantic import SecretStr

from router.extensions.feishu.settings import FeishuSettings
from tests.fakes.delivery import delivered
from tests.fakes.web_server import Got, Reply, WebServer, json_reply

Body = dict[str, Any]


class Feishu(WebServer):
    """A company with one app in it."""

    app_id, secret = "cli_test", "app-secret"
    tenant = "736588c9260f175d"
    key, verification = "encrypt-key-of-the-app", "verification-token"

    def __init__(self) -> None:
        super().__init__(self._answered)
        self._run = uuid4().hex[:8]
        """Marks its chats: a test's conversation isn't gone on with by the next test's."""
        self.token = "t-1"
        self.posts: list[Body] = []
        """What was posted, each once: a second one of the same `uuid` isn't taken."""
        self.kept: dict[str, Reply] = {}
        """What a file of a message is answered with, by path and query; the token opens it."""
        self.uploads: dict[str, bytes] = {}
        """The bodies of uploads, by the key that each was given."""

    @property
    def settings(self) -> FeishuSettings:
        """By which this company is an entrance."""
        return FeishuSettings(
            app_id=self.app_id,
            app_secret=SecretStr(self.secret),
            encrypt_key=SecretStr(self.key),
            verification_token=SecretStr(self.verification),
            url=self.origin,
        )

    def _answered(self, got: Got) -> Reply:
        if got.target.endswith("/tenant_access_token/internal"):
            body = json.loads(got.body)
            if body != {"app_id": self.app_id, "app_secret": self.secret}:
                return json_reply({"code": 10014, "msg": "app secret invalid"})
            return json_reply({"code": 0, "tenant_access_token": self.token, "expire": 7200})
        if got.headers.get("authorization") != f"Bearer {self.token}":
            return json_reply({"code": 99991663, "msg": "Invalid access token"}, 400)
        if got.method == "GET":
            absent = json_reply({"code": 234003, "msg": "File not in msg."}, 400)
            return self.kept.get(got.target, absent)
        if "multipart/form-data" in got.headers.get("content-type", ""):
            return self._uploaded(got)
        body = json.loads(got.body)
        seen = {post.get("uuid") for post in self.posts} - {None}
        if body.get("uuid") not in seen:
            self.posts.append({**body, "content": json.loads(body["content"]), "to": got.target})
        return json_reply({"code": 0, "msg": "success"})

    def _uploaded(self, got: Got) -> Reply:
        name = {"/open-apis/im/v1/images": "image_key", "/open-apis/im/v1/files": "file_key"}
        key = f"key_{len(self.uploads)}"
        self.uploads[key] = got.body
        return json_reply({"code": 0, "data": {name[got.target]: key}})

    def keeps(self, message: str, key: str, content: bytes | Reply, kind: str = "file") -> None:
        """Let a message have a file of this key."""
        path = f"/open-apis/im/v1/messages/{message}/resources/{key}?type={kind}"
        binary = {"content-type": "application/octet-stream"}
        self.kept[path] = content if isinstance(content, Reply) else Reply([content], 200, binary)

    async def posted(self, text: str) -> Body:
        """The first post with this in it, as soon as it is there."""
        return await self.first(self.posts, text)

    def message(self, user: str, text: str, **more: Any) -> Body:
        """What somebody says to the bot alone."""
        content = json.dumps({"text": text}, ensure_ascii=False)
        said = {"message_id": "om_1", "chat_id": self.own_chat(user), "chat_type": "p2p"}
        said |= {"message_type": "text", "content": content, **more}
        sender = {"sender_type": "user", "sender_id": {"open_id": user}, "tenant_key": self.tenant}
        return self.callback("im.message.receive_v1", {"sender": sender, "message": said})

    def own_chat(self, user: str) -> str:
        return f"oc_{user}_{self._run}"

    def press(self, user: str, post: Body, label: str, comment: str | None = None) -> Body:
        """A press of the button of this label in a post, with this in the form's field."""
        (button,) = [each for each in buttons(post) if each["text"]["content"] == label]
        event = {
            "operator": {"open_id": user, "tenant_key": self.tenant},
            "action": {"tag": "button", "value": button["value"]}
            | ({} if comment is None else {"form_value": {"comment": comment}}),
            "context": {"open_chat_id": self.own_chat(user), "open_message_id": "om_2"},
        }
        return self.callback("card.action.trigger", event)

    def callback(self, kind: str, event: Body) -> Body:
        header = {"event_id": uuid4().hex, "event_type": kind, "app_id": self.app_id}
        header["tenant_key"] = self.tenant
        return {"schema": "2.0", "header": {**header, "token": self.verification}, "event": event}

    async def deliver(self, router: httpx.AsyncClient, body: Body) -> httpx.Response:
        """Deliver it until the desk is sure of it, as the platform does."""
        return await delivered(lambda: self.deliver_once(router, body))

    async def deliver_once(self, router: httpx.AsyncClient, body: Body) -> httpx.Response:
        raw = self.sealed(body)
        headers = self.signed(raw)
        return await router.post("/adapters/feishu/events", content=raw, headers=headers)

    def sealed(self, body: Body | bytes, key: str = "") -> bytes:
        """A callback as it is sent: encrypted with the key. Bytes are taken for its JSON."""
        written = body if isinstance(body, bytes) else json.dumps(body).encode()
        iv, padder = os.urandom(16), PKCS7(128).padder()
        digest = hashlib.sha256((key or self.key).encode()).digest()
        encryptor = Cipher(AES(digest), CBC(iv)).encryptor()
        padded = padder.update(written) + padder.finalize()
        sealed = iv + encryptor.update(padded) + encryptor.finalize()
        return json.dumps({"encrypt": base64.b64encode(sealed).decode()}).encode()

    def signed(self, raw: bytes, at: float | None = None, key: str = "") -> dict[str, str]:
        """The headers by which Feishu signs a body."""
        stamp, nonce = str(int(time.time() if at is None else at)), "n0nce"
        hexed = hashlib.sha256(f"{stamp}{nonce}{key or self.key}".encode() + raw).hexdigest()
        return {
            "x-lark-request-timestamp": stamp,
            "x-lark-request-nonce": nonce,
            "x-lark-signature": hexed,
        }


def buttons(post: Body) -> list[Body]:
    elements = post["content"].get("elements", [])
    groups = [e.get("actions") or e.get("elements") or [] for e in elements]
    return [each for group in groups for each in group if each["tag"] == "button"]
