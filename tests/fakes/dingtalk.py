"""DingTalk, over real HTTP and a real WebSocket on loopback.

It takes posts of one app and signs what people do; by the stream it takes one connection a ticket.

    async with DingTalk() as dingtalk:
        ...  # settings.having(dingtalk.settings), or dingtalk.streamed
        await dingtalk.says(router, "staff_alice", "我要请假")
        card = await dingtalk.posted("请什么假")
"""

import asyncio
import base64
import hashlib
import hmac
import itertools
import json
import time
from collections import deque
from contextlib import suppress
from typing import Any, Self
from urllib.parse import parse_qs, urlsplit
from uuid import uuid4

import httpx
from pydantic import SecretStr
from websockets.asyncio.server import Server, ServerConnection, serve
from websockets.exceptions import ConnectionClosed
from websockets.http11 import Request, Response

from router.extensions.dingtalk.entrance import MESSAGE_TOPIC, PRESS_TOPIC
from router.extensions.dingtalk.settings import DingTalkSettings
from tests.fakes.delivery import delivered
from tests.fakes.web_server import Got, Reply, WebServer, json_reply
from tests.waiting import HANGS_AFTER_S

Body = dict[str, Any]
PERSONAL, GROUPS = "/v1.0/robot/oToMessages/batchSend", "/v1.0/robot/groupMessages/send"
CARDS = "/v1.0/card/instances"


class DingTalk(WebServer):
    """A company with one app in it, whose robot is called as the app is."""

    app_key, secret, robot = "dingapp", "secret of the {app}", "dingapp"
    corp, template = "dingcorp", "a1b2.schema"

    def __init__(self) -> None:
        super().__init__(self._answered)
        self._ids = itertools.count(1)
        self._chats = uuid4().hex
        self.token = "t-1"
        self.posts: list[Body] = []
        """What was posted, in order: `to`, `kind`, `content`; of a card its `track` too."""
        self.updates: list[Body] = []
        self.routes: dict[str, Body] = {}
        """Where presses are sent, by the key of the route."""
        self.kept: dict[str, Reply] = {}
        """What a file is answered with, by its download code."""
        self.uploads: dict[str, bytes] = {}
        self.troubles: deque[Reply] = deque()
        """What the next calls are answered with instead."""
        self.no_token = "invalidClientIdOrSecret"
        """What is said to another secret than the app's."""
        self.unknown: set[str] = set()
        """People whom the robot may not write to."""
        self.tickets: set[str] = set()
        self._attached = asyncio.Event()
        self._socket: ServerConnection | None = None
        self._answers: dict[str, asyncio.Future[Body]] = {}

    async def __aenter__(self) -> Self:
        await super().__aenter__()
        self._stream: Server = await serve(
            self._streaming, "127.0.0.1", 0, process_request=self._admitted
        )
        return self

    async def __aexit__(self, *error: object) -> None:
        self._stream.close()
        await self._stream.wait_closed()
        await super().__aexit__(*error)

    @property
    def settings(self) -> DingTalkSettings:
        """By which this company is an entrance, by HTTP."""
        return DingTalkSettings(
            app_key=self.app_key,
            app_secret=SecretStr(self.secret),
            corp_id=self.corp,
            card_template_id=self.template,
            public_url="https://desk.example.com",
            url=self.origin,
            media_url=self.origin,
        )

    @property
    def streamed(self) -> DingTalkSettings:
        """The same by the stream, without an address of the desk's own."""
        return self.settings.model_copy(update={"mode": "stream", "public_url": None})

    def _answered(self, got: Got) -> Reply:
        path = urlsplit(got.target).path
        admitting = {
            "/v1.0/oauth2/accessToken": self._given_token,
            "/v1.0/gateway/connections/open": self._given_ticket,
            "/media/upload": self._uploaded,
        }
        if self.troubles and path != "/v1.0/oauth2/accessToken":
            return self.troubles.popleft()
        if path in admitting:
            return admitting[path](got)
        if path.startswith("/kept/"):
            assert "x-acs-dingtalk-access-token" not in got.headers
            return self.kept[path.removeprefix("/kept/")]
        return self._authorised(got, path)

    def _authorised(self, got: Got, path: str) -> Reply:
        if got.headers.get("x-acs-dingtalk-access-token") != self.token:
            return refused("InvalidAuthentication", 401)
        answers = {
            PERSONAL: self._personal,
            GROUPS: self._grouped,
            f"{CARDS}/createAndDeliver": self._card,
            CARDS: self._updated,
            "/v1.0/card/callbacks/register": self._registered,
            "/v1.0/robot/messageFiles/download": self._download,
        }
        return answers[path](json.loads(got.body))

    def _given_token(self, got: Got) -> Reply:
        body = json.loads(got.body)
        if body != {"appKey": self.app_key, "appSecret": self.secret}:
            return refused(self.no_token, 400)
        return json_reply({"accessToken": self.token, "expireIn": 7200})

    def _given_ticket(self, got: Got) -> Reply:
        body = json.loads(got.body)
        if (body["clientId"], body["clientSecret"]) != (self.app_key, self.secret):
            return refused(self.no_token, 400)
        topics = {(each["type"], each["topic"]) for each in body["subscriptions"]}
        assert topics == {("CALLBACK", MESSAGE_TOPIC), ("CALLBACK", PRESS_TOPIC)}
        ticket = f"one+time/{next(self._ids)}"
        self.tickets.add(ticket)
        port = next(iter(self._stream.sockets)).getsockname()[1]
        return json_reply({"endpoint": f"ws://127.0.0.1:{port}/connect", "ticket": ticket})

    def _uploaded(self, got: Got) -> Reply:
        query = parse_qs(urlsplit(got.target).query)
        if query["access_token"] != [self.token]:
            return json_reply({"errcode": 40014, "errmsg": "不合法的access_token"})
        assert query["type"][0] in {"image", "file"}
        media = f"@media{len(self.uploads)}"
        self.uploads[media] = got.body
        return json_reply({"errcode": 0, "errmsg": "ok", "media_id": media})

    def _personal(self, body: Body) -> Reply:
        (user,) = body["userIds"]
        if user in self.unknown:
            return json_reply({"processQueryKey": "q", "invalidStaffIdList": [user]})
        return self._message(body, user)

    def _grouped(self, body: Body) -> Reply:
        return self._message(body, body["openConversationId"])

    def _message(self, body: Body, to: str) -> Reply:
        if body["robotCode"] != self.robot:
            return refused("invalidParameter.robotCode", 400)
        content = json.loads(body["msgParam"])
        self.posts.append({"to": to, "kind": body["msgKey"], "content": content})
        return json_reply({"processQueryKey": uuid4().hex, "invalidStaffIdList": []})

    def _card(self, body: Body) -> Reply:
        if body["cardTemplateId"] != self.template:
            return refused("param.templateNotExist", 400)
        by_http = body["callbackType"] == "HTTP"
        if by_http and body["callbackRouteKey"] not in self.routes:
            return refused("param.callbackRouteKey", 400)
        kind, to = body["openSpaceId"].removeprefix("dtv1.card//").split(".", 1)
        model = {"IM_ROBOT": "imRobotOpenDeliverModel", "IM_GROUP": "imGroupOpenDeliverModel"}[kind]
        assert body[model]["robotCode"] == self.robot
        shown = body["cardData"]["cardParamMap"]
        assert all(isinstance(each, str) for each in shown.values())
        track = body["outTrackId"]
        if track not in {post.get("track") for post in self.posts}:
            about = {"track": track, "stream": not by_http, "space": kind}
            about["route"] = body.get("callbackRouteKey")
            self.posts.append({"to": to, "kind": "card", "content": shown, "private": {}, **about})
        delivered = {"spaceType": kind, "success": to not in self.unknown, "errorMsg": "no such"}
        return json_reply({"success": True, "result": {"deliverResults": [delivered]}})

    def _updated(self, body: Body) -> Reply:
        self.updates.append(body)
        card = self._of(body["outTrackId"])
        card["content"] |= body.get("cardData", {}).get("cardParamMap", {})
        for user, private in body.get("privateData", {}).items():
            card["private"].setdefault(user, {}).update(private["cardParamMap"])
        return json_reply({"success": True})

    def _of(self, track: str) -> Body:
        return next(post for post in self.posts if post.get("track") == track)

    def _registered(self, body: Body) -> Reply:
        self.routes[body["callbackRouteKey"]] = body
        return json_reply({"success": True, "result": {"callbackUrl": body["callbackUrl"]}})

    def _download(self, body: Body) -> Reply:
        assert body["robotCode"] == self.robot
        if body["downloadCode"] not in self.kept:
            return refused("unknownError.downloadCode", 400)
        return json_reply({"downloadUrl": f"{self.origin}/kept/{body['downloadCode']}"})

    def keeps(self, code: str, content: bytes | Reply) -> str:
        """Let there be a file of this download code, which is returned."""
        binary = {"content-type": "application/octet-stream"}
        self.kept[code] = content if isinstance(content, Reply) else Reply([content], 200, binary)
        return code

    async def posted(self, text: str) -> Body:
        """The first post with this in it, as soon as it is there."""
        return await self.first(self.posts, text)

    def message(self, user: str, text: str = "", **more: Any) -> Body:
        """What somebody says to the robot alone, as recorded; `group` says it there."""
        group = more.pop("group", None)
        said: Body = {
            "conversationId": group or f"cid{user}{self._chats}==",
            "chatbotCorpId": self.corp,
            "chatbotUserId": "$:LWCP_v1:$robot",
            "msgId": f"msg{uuid4().hex}==",
            "senderNick": user,
            "isAdmin": False,
            "senderStaffId": user,
            "sessionWebhookExpiredTime": 1,
            "createAt": int(time.time() * 1000),
            "senderCorpId": self.corp,
            "conversationType": "2" if group else "1",
            "senderId": f"$:LWCP_v1:${user}",
            "sessionWebhook": "https://evil.test/robot/sendBySession?session=x",
            "robotCode": self.robot,
            "msgtype": "text",
            "text": {"content": f" {text}"},
        }
        return said | more

    async def says(self, router: httpx.AsyncClient, user: str, text: str, **more: Any) -> Body:
        """Say it, and be acknowledged."""
        body = self.message(user, text, **more)
        assert (await self.deliver(router, body)).status_code == 200
        return body

    async def deliver(self, router: httpx.AsyncClient, body: Body | bytes) -> httpx.Response:
        """Deliver it until the desk is sure of it, as the platform does."""
        return await delivered(lambda: self.deliver_once(router, body))

    async def deliver_once(self, router: httpx.AsyncClient, body: Body | bytes) -> httpx.Response:
        raw = body if isinstance(body, bytes) else json.dumps(body).encode()
        return await router.post("/adapters/dingtalk/events", content=raw, headers=self.signed())

    def signed(self, at: float | None = None, secret: str = "") -> dict[str, str]:
        """The headers by which DingTalk signs a message: of its time alone."""
        stamp, key = milliseconds(at), secret or self.secret
        return {"timestamp": stamp, "sign": digest(key, f"{stamp}\n{key}")}

    def signed_press(self, at: float | None = None, secret: str = "") -> dict[str, str]:
        """The same of a press, with what the desk has said presses are to be signed with."""
        (route,) = self.routes.values()
        stamp = milliseconds(at)
        sign = digest(secret or route["apiSecret"], stamp)
        return {"x-ddpaas-signature-timestamp": stamp, "x-ddpaas-signature": sign}

    def press(self, user: str, post: Body, label: str, comment: str | None = None) -> Body:
        """A press of the button of this label; a comment sends the card's field."""
        params = {"button": post["content"]["returning"], "comment": comment}
        if comment is None:
            (event,) = [each["event"] for each in buttons(post) if each["text"] == label]
            assert event["type"] == "sendCardRequest"
            params = event["params"]["params"]
        content = {"cardPrivateData": {"actionIds": ["press"], "params": params}}
        return {
            "type": "actionCallback",
            "outTrackId": post["track"],
            "corpId": self.corp,
            "userId": user,
            "userIdType": 1,
            "extension": "{}",
            "content": json.dumps(content, ensure_ascii=False),
        }

    async def presses(
        self,
        router: httpx.AsyncClient,
        user: str,
        post: Body,
        label: str,
        comment: str | None = None,
    ) -> Body:
        """Press it, and be shown what came of it, on the card itself."""
        body = self.press(user, post, label, comment)
        if post["stream"]:
            answer = (await self.push(PRESS_TOPIC, body))["response"]
        else:
            address = urlsplit(self.routes[post["route"]]["callbackUrl"])
            headers = self.signed_press()
            sent = await delivered(lambda: router.post(address.path, json=body, headers=headers))
            assert sent.status_code == 200, sent.text
            answer = sent.json()
        post["content"] |= answer.get("cardData", {}).get("cardParamMap", {})
        private = answer.get("userPrivateData", {}).get("cardParamMap", {})
        post["private"].setdefault(user, {}).update(private)
        return dict(answer)

    def _admitted(self, connection: ServerConnection, request: Request) -> Response | None:
        (ticket,) = parse_qs(urlsplit(request.path).query).get("ticket", [""])
        if ticket not in self.tickets:
            return connection.respond(401, "no such ticket")
        self.tickets.discard(ticket)
        return None

    async def _streaming(self, socket: ServerConnection) -> None:
        self._socket = socket
        self._attached.set()
        with suppress(ConnectionClosed):  # as the desk ends
            async for raw in socket:
                said = json.loads(raw)
                self._answers.pop(said["headers"]["messageId"]).set_result(said)
        self._attached.clear()

    async def push(self, topic: str, data: Body, message_id: str = "", **more: Any) -> Body:
        """Send it by the stream; the data of what acknowledges it, with its `code`.

        Until the desk is sure of it, as DingTalk does.
        """
        id_ = message_id or uuid4().hex
        frame = {"specVersion": "1.0", "type": "CALLBACK", "data": json.dumps(data), **more}
        frame["headers"] = {"messageId": id_, "topic": topic, "contentType": "application/json"}
        async with asyncio.timeout(HANGS_AFTER_S):
            while True:
                answer = self._answers[id_] = asyncio.get_running_loop().create_future()
                await self.send(json.dumps(frame))
                if (said := await answer)["code"] != 503:
                    break
        return {"code": said["code"], **json.loads(said["data"])}

    async def send(self, frame: str | bytes) -> None:
        """Send a frame by the stream, once there is one."""
        async with asyncio.timeout(HANGS_AFTER_S):
            await self._attached.wait()
        assert self._socket is not None
        await self._socket.send(frame)

    async def disconnect(self) -> None:
        """Ask the desk to connect anew, as DingTalk does where it is redeployed."""
        headers = {"messageId": uuid4().hex, "topic": "disconnect"}
        socket = self._socket
        await self.send(json.dumps({"type": "SYSTEM", "headers": headers, "data": "{}"}))
        assert socket is not None
        await socket.wait_closed()


def refused(code: str, status: int) -> Reply:
    """How the Open API says no."""
    return json_reply({"code": code, "requestid": "r1", "message": "refused"}, status)


def milliseconds(at: float | None) -> str:
    return str(int((time.time() if at is None else at) * 1000))


def digest(key: str, text: str) -> str:
    made = hmac.new(key.encode(), text.encode(), hashlib.sha256).digest()
    return base64.b64encode(made).decode()


def buttons(post: Body) -> list[Body]:
    """What can be pressed on a card."""
    return list(json.loads(post["content"].get("btns", "[]")))
