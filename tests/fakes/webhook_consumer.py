"""Another system that is told what happens: it takes what is signed for it, and nothing else.

async with WebhookConsumer() as erp:
    ...  # erp.entry for the file, erp.told afterwards
"""

import asyncio
import base64
import json
from collections.abc import Callable
from typing import Any

from standardwebhooks import Webhook, WebhookVerificationError

from tests.fakes.web_server import Got, Reply, WebServer, json_reply
from tests.waiting import HANGS_AFTER_S

SECRET = "whsec_" + base64.b64encode(b"a secret of the consumer's, here").decode()
VARIABLE = "CONSUMER_SECRET"

Answer = Callable[[dict[str, Any]], Reply]


def taken(_: dict[str, Any]) -> Reply:
    return json_reply({}, 202)


class WebhookConsumer(WebServer):
    """`told` has what it took, in order; `ids` what was signed for it, again and again."""

    def __init__(self, answers: Answer = taken) -> None:
        super().__init__(self._answered)
        self.answers = answers
        self.told: list[dict[str, Any]] = []
        self.ids: list[str] = []
        self.refused: list[Got] = []

    @property
    def url(self) -> str:
        return f"{self.origin}/hooks"

    def _answered(self, got: Got) -> Reply:
        try:
            event = Webhook(SECRET).verify(got.body, dict(got.headers))
        except WebhookVerificationError:
            self.refused.append(got)
            return json_reply({}, 401)
        self.ids.append(got.headers["webhook-id"])
        answer = self.answers(event)
        if 200 <= answer.status < 300:
            self.told.append({"id": got.headers["webhook-id"], **event})
        return answer

    def names(self, subject: str = "") -> list[str]:
        """What it was told, of one run or of all, each id once."""
        seen = {event["id"]: event for event in self.told}
        subjects = ("flow_run", "conversation")
        return [
            event["type"]
            for event in seen.values()
            if not subject or subject in [event["data"].get(each) for each in subjects]
        ]

    async def hears(self, name: str, text: str = "") -> dict[str, Any]:
        """The first of these with this in it, as soon as it was told."""
        try:
            async with asyncio.timeout(HANGS_AFTER_S):
                while True:
                    for event in self.told:
                        if event["type"] == name and text in json.dumps(event, ensure_ascii=False):
                            return event
                    self._changed.clear()
                    await self._changed.wait()
        except TimeoutError:
            raise AssertionError(f"never told {name} {text!r}, but {self.told}") from None
