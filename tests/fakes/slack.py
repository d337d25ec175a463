"""Slack, over real HTTP on loopback: takes posts of one bot, and delivers what people do.

async with Slack() as slack:
    ...  # settings.having(slack.settings)
    await slack.says(router, "UALICE", "我要请假")
    card = await slack.posted("请什么假")
"""

import asyncio
import hashlib
import hmac
import itertools
import json
import time
from collections import deque
from typing import Any
from urllib.parse import parse_qs, quote, urlencode
from uuid import uuid4

import httpx
from pydantic import SecretStr

from router.extensions.slack.settings import SlackSettings
from tests.fakes.delivery import delivered
from tests.fakes.web_server import Got, Reply, WebServer, json_reply
from tests.waiting import HANGS_AFTER_S

Post = dict[str, Any]


class Slack(WebServer):
    """A workspace with one app in it."""

    secret = "8f742231b10e8888abcd99yyyzzz85a5"
    token = "xoxb-test"
    team, company = "T0123", "E0123"

    def __init__(self) -> None:
        super().__init__(self._answered)
        self._run = uuid4().hex[:8]
        """Marks its channels: a test's conversation isn't gone on with by the next test's."""
        self._ids = itertools.count(1)
        self.posts: list[Post] = []
        """What was posted, in order; `ts` names each."""
        self.updates: list[Post] = []
        self.kept: dict[str, Reply] = {}
        """What the download of a file is answered with, by its path; the token opens it."""
        self.uploads: list[Post] = []
        """Files that were uploaded into a channel: `name`, `content`, `channel`, `thread_ts`."""
        self._uploading: dict[str, Post] = {}
        self.troubles: deque[Reply] = deque()
        """What the next calls are answered with instead."""
        self.whose = json_reply({"ok": True, "team_id": self.team, "enterprise_id": self.company})
        """What is answered to whose the token is."""

    @property
    def settings(self) -> SlackSettings:
        """By which this workspace is an entrance."""
        token, secret = SecretStr(self.token), SecretStr(self.secret)
        return SlackSettings(bot_token=token, signing_secret=secret, url=f"{self.origin}/api")

    def _answered(self, got: Got) -> Reply:
        if got.target.endswith("/auth.test"):
            return self.whose
        if self.troubles:
            return self.troubles.popleft()
        if got.target.startswith("/upload/"):
            return self._uploaded(got)
        if got.headers.get("authorization") != f"Bearer {self.token}":
            return json_reply({"ok": False, "error": "invalid_auth"})
        if got.method == "GET":
            return self.kept.get(got.target, Reply([b"<html>sign in"], 404))
        body = _body(got)
        return self._of_files(got, body) or self._posted(got, body)

    def _posted(self, got: Got, body: Post) -> Reply:
        if got.target.endswith("/chat.update"):
            self.updates.append(body)
        elif got.target.endswith("/chat.postMessage"):
            body["ts"] = f"17000.{len(self.posts):06}"
            self.posts.append(body)
        else:
            return json_reply({"ok": False, "error": "unknown_method"})
        return json_reply({"ok": True, "ts": body["ts"], "channel": body["channel"]})

    def _uploaded(self, got: Got) -> Reply:
        file = self._uploading[got.target.rpartition("/")[2]]
        assert len(got.body) == int(file["length"])
        file |= {"content": got.body, "authorization": got.headers.get("authorization")}
        return Reply([b"OK"])

    def _of_files(self, got: Got, body: Post) -> Reply | None:
        if got.target.endswith("/files.completeUploadExternal"):
            return self._completed(body)
        if not got.target.endswith("/files.getUploadURLExternal"):
            return None
        id_ = f"F{next(self._ids)}"
        self._uploading[id_] = {"name": body["filename"], "length": body["length"]}
        url = f"{self.origin}/upload/v1/{id_}"
        return json_reply({"ok": True, "upload_url": url, "file_id": id_})

    def _completed(self, body: Post) -> Reply:
        listed = body["files"] if isinstance(body["files"], list) else json.loads(body["files"])
        for each in listed:
            file = self._uploading.pop(each["id"])
            where = {name: body.get(name) for name in ("channel_id", "thread_ts")}
            self.uploads.append({**file, **where})
        return json_reply({"ok": True, "files": listed})

    def shared(self, name: str, content: bytes | Reply, **more: Any) -> Post:
        """A file that somebody has attached to a message, as its event tells of it."""
        reply = content if isinstance(content, Reply) else Reply([content])
        path = f"/files-pri/{self.team}-F{next(self._ids)}/download/{quote(name)}"
        self.kept[path] = reply
        about = {"id": "F1", "name": name, "mode": "hosted", "size": 10, "mimetype": "image/png"}
        return {**about, "url_private_download": f"{self.origin}{path}", **more}

    async def posted(self, text: str) -> Post:
        """The first post with this in it, as soon as it is there."""
        return await self.first(self.posts, text)

    async def given(self, name: str) -> bytes:
        """The content of the first file of this name that was uploaded."""
        async with asyncio.timeout(HANGS_AFTER_S):
            while name not in [each["name"] for each in self.uploads]:
                self._changed.clear()
                await self._changed.wait()
        content: bytes = next(each["content"] for each in self.uploads if each["name"] == name)
        return content

    async def updated(self, text: str) -> Post:
        return await self.first(self.updates, text)

    def event(self, user: str, text: str, **more: Any) -> Post:
        """A message to the bot in a channel of their own, as the Events API has it."""
        number = next(self._ids)
        event = {
            "type": "message",
            "channel_type": "im",
            "channel": self.own_channel(user),
            "user": user,
        }
        event |= {"text": text, "ts": f"16000.{number:06}", **more}
        outer = {"type": "event_callback", "event_id": f"Ev{uuid4().hex}", "team_id": self.team}
        return {**outer, "event": event}

    def own_channel(self, user: str) -> str:
        return f"D{user}{self._run}"

    async def says(self, router: httpx.AsyncClient, user: str, text: str, **more: Any) -> None:
        assert (await self.deliver(router, self.event(user, text, **more))).status_code == 200

    async def deliver(self, router: httpx.AsyncClient, body: Post) -> httpx.Response:
        """Deliver it until the desk is sure of it, as the platform does."""
        return await delivered(lambda: self.deliver_once(router, body))

    async def deliver_once(self, router: httpx.AsyncClient, body: Post) -> httpx.Response:
        raw = json.dumps(body).encode()
        headers = {"content-type": "application/json", **self.signed(raw)}
        return await router.post("/adapters/slack/events", content=raw, headers=headers)

    async def presses(
        self,
        router: httpx.AsyncClient,
        user: str,
        post: Post,
        label: str,
        comment: str = "",
        **who: Any,
    ) -> httpx.Response:
        """Press the button of this label in a post, with this in its field if it has one."""
        fields = [block for block in post["blocks"] if block["type"] == "input"]
        values = {f["block_id"]: {f["element"]["action_id"]: {"value": comment}} for f in fields}
        (button,) = [b for b in buttons(post) if b["text"]["text"] == label]
        payload = {
            "type": "block_actions",
            "team": who.get("team", {"id": self.team}),
            "user": {"id": user, "team_id": who.get("of", self.team)},
            "channel": {"id": post["channel"]},
            "message": {"ts": post["ts"], "thread_ts": post.get("thread_ts")},
            "state": {"values": values},
            "actions": [{**button, "action_ts": f"16500.{next(self._ids):06}"}],
        }
        raw = urlencode({"payload": json.dumps(payload)}).encode()
        headers = {"content-type": "application/x-www-form-urlencoded", **self.signed(raw)}
        path = "/adapters/slack/interactions"
        return await delivered(lambda: router.post(path, content=raw, headers=headers))

    def signed(self, raw: bytes, at: float | None = None, secret: str = "") -> dict[str, str]:
        """The headers by which Slack signs a body."""
        stamp = str(int(time.time() if at is None else at))
        base = f"v0:{stamp}:".encode() + raw
        hexed = hmac.new((secret or self.secret).encode(), base, hashlib.sha256).hexdigest()
        return {"x-slack-request-timestamp": stamp, "x-slack-signature": f"v0={hexed}"}


def buttons(post: Post) -> list[Post]:
    return [e for b in post.get("blocks") or [] if b["type"] == "actions" for e in b["elements"]]


def _body(got: Got) -> Post:
    if got.headers.get("content-type", "").startswith("application/json"):
        body: Post = json.loads(got.body)
        return body
    return {name: values[0] for name, values in parse_qs(got.body.decode()).items()}
