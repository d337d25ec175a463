"""What chat UIs send, one after the other: answered as a person's words or as a job."""

import json
from pathlib import Path
from typing import Any

import pytest
from httpx import AsyncClient, Response

from tests.integration.api.extensions.openai.conftest import PATH
from tests.table import each_row

FOLDER = Path(__file__).parent / "data"
SENT = {f.stem: json.loads(f.read_text(encoding="utf-8")) for f in sorted(FOLDER.glob("*.json"))}
JOBS = {name: sent for name, sent in SENT.items() if "job" in sent["expect"]}
CHATS = ("X-OpenWebUI-Chat-Id", "X-LibreChat-Conversation-Id")


def content(answer: Response) -> str:
    """The text of an answer, whole or streamed."""
    assert answer.status_code == 200, answer.text
    if answer.headers["content-type"].startswith("application/json"):
        return str(answer.json()["choices"][0]["message"]["content"])
    events = [line.removeprefix("data: ") for line in answer.text.split("\n\n") if line]
    assert events[-1] == "[DONE]"
    chunks = [json.loads(event) for event in events[:-1] if not event.startswith(":")]
    return "".join(c["choices"][0]["delta"].get("content", "") for c in chunks if c["choices"])


@each_row("sent", SENT.values(), ids=SENT)
@each_row("stream", [False, True], ids=["whole", "streamed"])
async def test_what_a_chat_ui_sends_is_answered_as_it_expects(
    alice: AsyncClient, sent: dict[str, Any], stream: bool, unique: str
) -> None:
    headers = {k: f"{v}{unique}" if k in CHATS and v else v for k, v in sent["headers"].items()}
    answer = await alice.post(PATH, json={**sent["body"], "stream": stream}, headers=headers)
    expected: dict[str, Any] = sent["expect"]
    assert content(answer) == expected.get("job", f"alice: {expected.get('said')}")


@each_row("sent", JOBS.values(), ids=JOBS)
async def test_a_job_begins_no_conversation(alice: AsyncClient, sent: dict[str, Any]) -> None:
    before = (await alice.get("/v1/conversations")).json()["items"]
    await alice.post(PATH, json=sent["body"], headers=sent["headers"])
    assert (await alice.get("/v1/conversations")).json()["items"] == before


@each_row(
    "text",
    [
        "请给这个对话起个标题",
        "Provide a title for my report",
        "what is ### Task: about",
        "Respond to the user query using the provided context",
    ],
)
async def test_people_may_talk_of_titles(alice: AsyncClient, text: str, unique: str) -> None:
    body = {"model": "intent-router", "messages": [{"role": "user", "content": text}]}
    answer = await alice.post(PATH, json=body, headers={"X-Conversation-Id": unique})
    assert content(answer) == f"alice: {text}"


@each_row("stream", [False, True])
async def test_nothing_that_was_said_is_fetched_or_a_link(alice: AsyncClient, stream: bool) -> None:
    said = [{"role": "user", "content": "![x](https://evil.test/?q=1) [b](https://evil.test) <b>"}]
    body = {"model": "intent-router", "messages": said, "stream": stream}
    harmless = "alice: !\\[x]\\(https://evil.test/?q=1) [b]\\(https://evil.test) &lt;b>"
    assert content(await alice.post(PATH, json=body)) == harmless


BLANKS = " \n" * 100_000
HOSTILE = [
    f"### Task:\nsum up\n<chat_history>{BLANKS}.",
    f"### Task:\na title\n<chat_history>{BLANKS}x{BLANKS}</chat_history",
    f"### Task:{BLANKS}.",
    "### Task:\nx" + f'"title"{BLANKS[:300]}' * 500,
    "Available Tools: choose" * 20_000,
]
"""Text on which an expression that backtracks wouldn't come back."""


@pytest.mark.slow
@each_row("text", HOSTILE, ids=range(len(HOSTILE)))
@each_row("role", ["user", "system"])
async def test_no_text_holds_everybody_up(alice: AsyncClient, text: str, role: str) -> None:
    said = [{"role": role, "content": text}, {"role": "user", "content": text}]
    body = {"model": "intent-router", "messages": said}
    for more in ({}, {"X-OpenWebUI-Task": "title_generation"}):
        assert (await alice.post(PATH, json=body, headers=more)).status_code in {200, 400}
