"""Microsoft Teams, over real HTTP on loopback: Entra, the connector and somebody's OneDrive in one.

It vouches for what people do with tokens of its own published keys, and refuses what isn't its own
token's, what is larger than Teams takes, and whoever shows the token where it has no business.

async with Teams() as teams:
    ...  # settings.having(teams.settings)
    await teams.says(router, ALICE, "我要请假")
    card = await teams.posted("请什么假")
"""

import asyncio
import itertools
import json
import re
import time
from collections import deque
from collections.abc import Iterator
from functools import cache
from typing import Any
from urllib.parse import parse_qs, quote, unquote
from uuid import NAMESPACE_URL, uuid4, uuid5

import httpx
import jwt
from cryptography.hazmat.primitives.asymmetric import rsa
from pydantic import SecretStr

from router.extensions.teams.settings import TeamsSettings
from tests.fakes.delivery import delivered
from tests.fakes.oidc_provider import jwk
from tests.fakes.web_server import Got, Reply, WebServer, json_reply
from tests.waiting import HANGS_AFTER_S

Body = dict[str, Any]

MOST = 28 * 1024
"""Bytes of a card as UTF-16."""


def account(user: str) -> str:
    """Whom the tenant's directory has, by the id that it has for them."""
    return str(uuid5(NAMESPACE_URL, f"https://people.test/{user}"))


@cache
def signing_key(name: str) -> rsa.RSAPrivateKey:
    """A key of its own by each name; made once, for that takes a while."""
    del name
    return rsa.generate_private_key(public_exponent=65537, key_size=2048)


class Teams(WebServer):
    """A tenant with one bot in it."""

    app_id = "11111111-2222-3333-4444-555555555555"
    tenant = "99999999-8888-7777-6666-555555555555"
    secret = "app-secret~of~the~bot"
    issuer = "https://api.botframework.com"
    kid = "kid-of-teams"

    def __init__(self) -> None:
        super().__init__(self._answered)
        self._ids = itertools.count(1)
        self._run = uuid4().hex
        self.token = "bot-token-1"
        self.keys = [self.published(signing_key("teams"), self.kid)]
        """What is published; a test may publish others."""
        self.jwks_uri = ""
        """Where its metadata says that keys are, where that isn't here."""
        self.posts: list[Body] = []
        """Messages that were posted, in order: `chat` has where, `id` names each."""
        self.updates: list[Body] = []
        """Messages that were changed, with the same."""
        self.removed: list[str] = []
        """Ids of messages that were taken back."""
        self.opened: list[Body] = []
        """What chats were opened with."""
        self.gone: set[str] = set()
        """Chats whose history somebody removed, until they are opened anew."""
        self.tokens = 0
        """How many tokens were asked for."""
        self.kept: dict[str, list[Reply]] = {}
        """What downloads of a file are answered with, by its path; the last one stays."""
        self.saved: dict[str, bytes] = {}
        """What was put into somebody's OneDrive, by path."""
        self.troubles: deque[Reply] = deque()
        """What the next calls, but for tokens, are answered with instead."""

    @property
    def settings(self) -> TeamsSettings:
        """By which this tenant is an entrance."""
        return TeamsSettings(
            app_id=self.app_id,
            app_password=SecretStr(self.secret),
            tenant_id=self.tenant,
            service_url=f"{self.origin}/teams",
            login_url=f"{self.origin}/login",
            metadata_url=f"{self.origin}/metadata",
        )

    @property
    def service(self) -> str:
        """Where what people do comes from: another address than that by which chats are opened."""
        return f"{self.origin}/emea/"

    @staticmethod
    def published(key: rsa.RSAPrivateKey, kid: str, *endorsed: str) -> Body:
        """A key as the Bot Framework lists it."""
        return jwk(key.public_key(), kid, endorsements=list(endorsed or ("msteams", "webchat")))

    # What the bot calls.

    def _answered(self, got: Got) -> Reply:
        path, _, _ = got.target.partition("?")
        told = {"issuer": self.issuer, "jwks_uri": self.jwks_uri or f"{self.origin}/keys"}
        published = {"/metadata": told, "/keys": {"keys": self.keys}}
        if path in published:
            return json_reply(published[path])
        if path == f"/login/{self.tenant}/oauth2/v2.0/token":
            return self._signed_in(parse_qs(got.body.decode()))
        if self.troubles:
            return self.troubles.popleft()
        return (self._stored if path.startswith("/onedrive/") else self._by_connector)(got, path)

    def _signed_in(self, form: dict[str, list[str]]) -> Reply:
        self.tokens += 1
        wanted = {
            "grant_type": "client_credentials",
            "client_id": self.app_id,
            "client_secret": self.secret,
            "scope": "https://api.botframework.com/.default",
        }
        if {name: values[0] for name, values in form.items()} != wanted:
            return json_reply(
                {"error": "invalid_client", "error_description": "AADSTS7000215"}, 401
            )
        token = {"token_type": "Bearer", "expires_in": 3599, "access_token": self.token}
        return json_reply(token)

    def _stored(self, got: Got, path: str) -> Reply:
        """OneDrive, whose addresses say enough: a token there is one that was given away."""
        if "authorization" in got.headers:
            return refusal(400, "TokenGivenAway")
        if got.method == "GET":
            return self._downloaded(path)
        size = len(got.body)
        if got.headers.get("content-range") != f"bytes 0-{size - 1}/{size}":
            return refusal(400, "invalidRange")
        self.saved[path] = got.body
        return json_reply({"id": "item"}, 201)

    def _downloaded(self, path: str) -> Reply:
        replies = self.kept.get(path, [refusal(404, "NotFound")])
        return replies.pop(0) if len(replies) > 1 else replies[0]

    def _by_connector(self, got: Got, path: str) -> Reply:
        if got.headers.get("authorization") != f"Bearer {self.token}":
            return refusal(401, "Unauthorized")
        body = json.loads(got.body) if got.body else {}
        if path == "/teams/v3/conversations":
            return self._opened(body)
        found = re.fullmatch(r"/\w+/v3/conversations/([^/]+)/activities(?:/([^/]+))?", path)
        if found is None:
            return self._downloaded(path)
        chat, id_ = unquote(found[1]), unquote(found[2] or "")
        if chat in self.gone:
            return refusal(404, "ConversationNotFound")
        return self._kept(got.method, chat, id_, body)

    def _kept(self, method: str, chat: str, id_: str, body: Body) -> Reply:
        if method == "DELETE":
            self.removed.append(id_)
            return Reply([b""])
        for each in body.get("attachments", []):
            if len(json.dumps(each["content"], ensure_ascii=False).encode("utf-16-le")) > MOST:
                return refusal(413, "MessageSizeTooBig")
        kept = self.updates if method == "PUT" else self.posts
        kept.append({**body, "chat": chat, "id": id_ or f"1700000{next(self._ids):06}"})
        return json_reply({"id": kept[-1]["id"]}, 201)

    def _opened(self, body: Body) -> Reply:
        self.opened.append(body)
        fits = body["bot"] == {"id": f"28:{self.app_id}"} and body["isGroup"] is False
        if not fits or body["tenantId"] != self.tenant or len(body["members"]) != 1:
            return refusal(400, "BadSyntax")
        chat = self._chat(body["members"][0]["id"])
        self.gone.discard(chat)
        return json_reply({"id": chat}, 201)

    def chat(self, user: str) -> str:
        """A person's chat with the bot, which no other test has; such ids are long."""
        return self._chat(account(user))

    def _chat(self, who: str) -> str:
        return f"a:1{self._run}-{who}-{'x' * 60}"

    # What people do.

    def activity(self, user: str, **more: Any) -> Body:
        """What somebody of the tenant does in their chat with the bot."""
        who = account(user)
        return {
            "type": "message",
            "id": f"1600000{next(self._ids):06}",
            "channelId": "msteams",
            "serviceUrl": self.service,
            "from": {"id": f"29:{who}", "name": user.title(), "aadObjectId": who},
            "conversation": {
                "conversationType": "personal",
                "tenantId": self.tenant,
                "id": self.chat(user),
            },
            "recipient": {"id": f"28:{self.app_id}", "name": "Desk"},
            "entities": [{"type": "clientInfo", "platform": "Web", "timezone": "Asia/Shanghai"}],
            "channelData": {"tenant": {"id": self.tenant}},
            **more,
        }

    def message(self, user: str, text: str, **more: Any) -> Body:
        """What somebody types, and as HTML beside it, as Teams has it."""
        html = {"contentType": "text/html", "content": f"<p>{text}</p>"}
        attached = [html, *more.pop("files", [])]
        return self.activity(user, text=text, textFormat="plain", attachments=attached, **more)

    def in_channel(self, user: str, text: str, thread: str) -> Body:
        """What somebody says in a channel, to the bot."""
        mention = {
            "type": "mention",
            "text": "<at>Desk</at>",
            "mentioned": {"id": f"28:{self.app_id}", "name": "Desk"},
        }
        chat = {
            "isGroup": True,
            "conversationType": "channel",
            "tenantId": self.tenant,
            "id": f"19:{self._run}@thread.tacv2;messageid={thread}",
        }
        said = f"<at>Desk</at>&nbsp;{text}\n"
        return self.message(user, said, conversation=chat, entities=[mention])

    async def says(self, router: httpx.AsyncClient, user: str, text: str, **more: Any) -> None:
        assert (await self.deliver(router, self.message(user, text, **more))).status_code == 200

    def press(self, user: str, post: Body, label: str, comment: str = "", **more: Any) -> Body:
        """A press of the button of this label in a post, with this in its field if it has one."""
        (button,) = [each for each in buttons(post) if each["title"] == label]
        if button["type"] == "Action.ShowCard":  # it asks whether one is sure, who is
            (button,) = button["card"]["actions"]
        shown = {"replyToId": post["id"], **more}
        values = {
            each["id"]: comment for each in elements(post) if each.get("type") == "Input.Text"
        }
        if button["type"] == "Action.Submit":
            return self.activity(user, value={**button["data"], **values}, **shown)
        pressed = {"type": button["type"], "verb": button["verb"], "title": label}
        pressed |= {"data": {**button["data"], **values}}
        value = {"action": pressed, "trigger": "manual"}
        return self.activity(user, type="invoke", name="adaptiveCard/action", value=value, **shown)

    async def presses(
        self, router: httpx.AsyncClient, user: str, post: Body, label: str, comment: str = ""
    ) -> Body:
        """Press it; what is answered."""
        answer = await self.deliver(router, self.press(user, post, label, comment))
        assert answer.status_code == 200
        found: Body = answer.json()
        return found

    def consents(self, user: str, post: Body, action: str = "accept", **upload: Any) -> Body:
        """Accept a file that is offered, or decline it."""
        (offer,) = post["attachments"]
        context = offer["content"][f"{action}Context"]
        value: Body = {"type": "fileUpload", "action": action, "context": context}
        if action == "accept":
            path = f"/onedrive/{user}/{quote(offer['name'])}"
            there = f"{self.origin}{path}"
            known = {"name": offer["name"], "uploadUrl": there, "contentUrl": there}
            value["uploadInfo"] = {**known, "uniqueId": "u1", "fileType": "pdf", **upload}
        invoke = {"type": "invoke", "name": "fileConsent/invoke", "value": value}
        return self.activity(user, replyToId=post["id"], **invoke)

    def shared(self, name: str, *content: bytes | Reply, **more: Any) -> Body:
        """A file of somebody's OneDrive that is attached to a message."""
        path = f"/onedrive/shared-{next(self._ids)}/{quote(name)}"
        self.kept[path] = [one if isinstance(one, Reply) else Reply([one]) for one in content]
        url = f"{self.origin}{path}"
        about = {"downloadUrl": f"{url}?tempauth=t", "uniqueId": "u1", "fileType": "pdf", **more}
        kind = "application/vnd.microsoft.teams.file.download.info"
        return {"contentType": kind, "contentUrl": url, "name": name, "content": about}

    def pasted(self, content: bytes) -> Body:
        """A picture that stands within a message."""
        path = f"/emea/v3/attachments/0-weu-{next(self._ids)}/views/original"
        self.kept[path] = [Reply([content])]
        return {"contentType": "image/*", "contentUrl": f"{self.origin}{path}"}

    async def deliver(
        self, router: httpx.AsyncClient, activity: Body, token: str | None = None
    ) -> httpx.Response:
        """Deliver it until the desk is sure of it, as the platform does."""
        return await delivered(lambda: self.deliver_once(router, activity, token))

    async def deliver_once(
        self, router: httpx.AsyncClient, activity: Body, token: str | None = None
    ) -> httpx.Response:
        """Have it taken in, vouched for by a token: its own, unless the test has another."""
        vouched = self.vouching(activity) if token is None else token
        headers = {"authorization": f"Bearer {vouched}"}
        return await router.post("/adapters/teams/events", json=activity, headers=headers)

    def vouching(self, activity: Body, *, key: str = "teams", kid: str = "", **claims: Any) -> str:
        """The token that comes with an activity."""
        now = int(time.time())
        known = {
            "iss": self.issuer,
            "aud": self.app_id,
            "serviceurl": activity.get("serviceUrl"),
            "nbf": now - 10,
            "exp": now + 3600,
        }
        said = {name: value for name, value in {**known, **claims}.items() if value is not None}
        return jwt.encode(said, signing_key(key), "RS256", headers={"kid": kid or self.kid})

    async def posted(self, text: str) -> Body:
        """The first post with this in it, as soon as it is there."""
        return await self.first(self.posts, text)

    async def updated(self, text: str) -> Body:
        return await self.first(self.updates, text)

    async def was_removed(self, id_: str) -> None:
        """Wait until a message was taken back."""
        async with asyncio.timeout(HANGS_AFTER_S):
            while id_ not in self.removed:
                self._changed.clear()
                await self._changed.wait()


def refusal(status: int, code: str, **headers: str) -> Reply:
    """What the connector answers to what it won't have."""
    return json_reply({"error": {"code": code, "message": "no"}}, status, **headers)


def cards(post: Body) -> list[Body]:
    return [
        each["content"]
        for each in post.get("attachments", [])
        if each["contentType"].endswith(".adaptive")
    ]


def elements(post: Body) -> list[Body]:
    """All that a post's cards show, in order, before anything on them is opened."""
    return [each for card in cards(post) for each in within(card)]


def within(shown: Body) -> Iterator[Body]:
    yield shown
    for name in ("body", "items", "rows", "cells", "inlines", "actions"):
        for each in shown.get(name, []):
            yield from within(each)


def buttons(post: Body) -> list[Body]:
    return [each for each in elements(post) if str(each.get("type")).startswith("Action.")]


def texts(post: Body) -> list[str]:
    return [each["text"] for each in elements(post) if each.get("type") == "TextRun"]
