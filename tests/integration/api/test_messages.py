import asyncio
from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

import pytest
from httpx import AsyncClient, Response
from temporalio.client import Client
from temporalio.worker import Worker

from router.api.dependencies import Services
from router.contracts.conversation import MAX_OPEN_TURNS
from router.domain.messages import Route, TextReply, Turn
from router.domain.records import LogEntry
from router.routing.response_schema import MAX_LENGTH
from router.store.store import Store
from tests.costly import REFUSED_PATTERNS, object_of
from tests.integration.api.conftest import desk, problem, until
from tests.integration.api.workflows import ClosingConversation, EchoConversation

Body = dict[str, Any]


@pytest.fixture
def messages(conversation: str) -> str:
    return f"{conversation}/messages"


def entry(conversation: str, kind: str, message_id: str, data: Body) -> LogEntry:
    place = {"key": f"{conversation}:{message_id}", "message_id": message_id}
    id_ = conversation.rpartition("/")[2]
    row = {"kind": kind, "at": datetime.now(UTC), "conversation": id_, "data": data}
    return LogEntry.model_validate(place | row)


async def test_a_message_is_answered_by_its_turn(alice: AsyncClient, messages: str) -> None:
    answer = await alice.post(messages, json={"text": "你好\n\tagain", "message_id": "m:1"})
    assert answer.status_code == 200
    turn = answer.json()
    assert (turn["message_id"], turn["turn"], turn["status"]) == ("m:1", 1, "done")
    assert turn["replies"] == [{"type": "text", "text": "alice: 你好\n\tagain"}]
    assert "flow" not in turn


@pytest.mark.slow
@pytest.mark.parametrize(
    "body",
    [
        {"text": "长" * 8000},
        *(
            {"action": action}
            for action in (
                {"type": "choose", "value": "annual"},
                {"type": "choose", "value": None},
                {"type": "confirm", "value": False, "question": "review:4::ab"},
                {"type": "form", "values": {"start": "2026-12-01", "items": [{"amount": 1.5}]}},
                {"type": "confirm", "value": True, "question": "review:4::ab"},
                {"type": "start", "flow": "leave_request"},
                {"type": "start", "flow": "leave_request", "slots": {"leave_type": "annual"}},
                {"type": "tool_result", "tool_call_id": "t", "result": {"ok": True}},
            )
        ),
    ],
)
async def test_what_may_be_said_is_taken(alice: AsyncClient, messages: str, body: Body) -> None:
    assert (await alice.post(messages, json=body)).status_code == 200


def leave(**more: Any) -> Body:
    return {"flow": "leave_request", **more}


@pytest.mark.parametrize(
    ("action", "status", "named"),
    [
        *(
            ({"flow": name}, 404, name)
            for name in ("audit", "nothing_such", "policy-advisor", "' or 1=1 --")
        ),
        (leave(slots={"salary": 1, "reason": "x"}), 422, "salary"),
        (leave(slots={"reason": "a\x00b"}), 422, "control"),
        (leave(slots=["annual"]), 422, "slots"),
        (leave(question="details:1:start:ab"), 422, "question"),
        ({"flow": "locate"}, 422, "locate is called by the front end, when a turn has a tool call"),
        ({"flow": "tangle"}, 422, "tangle needs arguments that no form can ask for"),
        ({"flow": "x" * 129}, 422, "flow"),
        ({"flow": ""}, 422, "flow"),
        ({}, 422, "flow"),
    ],
)
async def test_a_start_that_makes_no_sense_is_refused(
    alice: AsyncClient, messages: str, action: Body, status: int, named: str
) -> None:
    answer = await alice.post(messages, json={"action": {"type": "start", **action}})
    assert named in str(problem(answer, status))
    assert (await alice.get(messages)).json()["items"] == []


async def test_a_result_that_its_tool_does_not_declare_is_refused_and_may_be_sent_anew(
    alice: AsyncClient, conversation: str, messages: str
) -> None:
    await alice.post(messages, json={"text": "where am I"})
    about: Body = {"type": "tool_result", "tool_call_id": "front"}
    refused = problem(await alice.post(messages, json={"action": {**about, "result": 7}}), 422)
    assert "isn't what locate" in refused["detail"]
    assert [one["field"] for one in refused["errors"]] == ["action.result"]
    assert (await alice.get(conversation)).json()["turns"] == 1
    again = await alice.post(messages, json={"action": {**about, "result": {"at": "here"}}})
    assert again.status_code == 200


YES = {"type": "confirm", "value": True, "question": "review:4::ab"}
BAD: dict[str, tuple[Any, str]] = (
    {
        "nothing": ({}, "neither"),
        "null": (None, "body"),
        "list": ([], "body"),
        "string": ("hi", "body"),
        "both": ({"text": "a", "action": YES}, "both"),
        "nulls": ({"text": None, "action": None}, "neither"),
        "empty": ({"text": ""}, "empty"),
        "white": ({"text": " \n\t\u3000\u00a0"}, "empty"),
        "invisible": ({"text": "\u200b\ufeff\u200e"}, "empty"),
        "fillers": ({"text": "\u3164\u115f\uffa0\u034f\U000e0041"}, "empty"),
        "long": ({"text": "长" * 8001}, "8001"),
        "nul": ({"text": "a\x00b"}, "U+0000 at position 1"),
        "bell": ({"text": "\x07"}, "U+0007"),
        "escape": ({"text": "a\x1b[31m"}, "U+001B"),
        "return": ({"text": "a\r\nb"}, "U+000D"),
        "delete": ({"text": "a\x7f"}, "U+007F"),
        "c1": ({"text": "a\x85"}, "U+0085"),
        "number": ({"text": 5}, "text"),
        "object": ({"text": {}}, "text"),
        "unknown field": ({"text": "a", "colour": "red"}, "colour"),
        "unknown action": ({"action": {"type": "dance"}}, "action"),
        "action without type": ({"action": {"value": 1}}, "action"),
        "action with more": ({"action": {**YES, "x": 1}}, "x"),
        "confirm by text": ({"action": {**YES, "value": "perhaps"}}, "value"),
        "confirm by a word for it": ({"action": {**YES, "value": "yes"}}, "value"),
        "confirm by a number": ({"action": {**YES, "value": 1}}, "value"),
        "control in value": ({"action": {"type": "choose", "value": "\x00"}}, "U+0000"),
        "control in form": ({"action": {"type": "form", "values": {"a": ["\x1b"]}}}, "U+001B"),
        "control in key": ({"action": {"type": "form", "values": {"\x00": 1}}}, "U+0000"),
        "file and action": (
            {"files": ["a"], "action": YES},
            "both files and action",
        ),
        "no file": ({"files": []}, "files"),
        "too many files": ({"files": [f"f{n}" for n in range(11)]}, "files"),
        "a file twice": ({"text": "a", "files": ["a", "b", "a"]}, "files.2 is the same as files.0"),
        "a file that is none": ({"files": ["a" * 24]}, "files.0: there is no such file of yours"),
        "a file by number": ({"files": [7]}, "files.0"),
        "a file as object": ({"files": [{"id": "a"}]}, "files.0"),
        "a file by path": ({"files": ["../a b"]}, "files.0"),
        "one file": ({"files": "a"}, "files"),
        "on_busy": ({"text": "a", "on_busy": "shout"}, "on_busy"),
        "schema by name": ({"text": "a", "response_schema": "Answer"}, "response_schema"),
        "no schema": ({"text": "a", "response_schema": {"type": 5}}, "it is no JSON Schema"),
        "schema of a list": ({"text": "a", "response_schema": {"type": "array"}}, "type: object"),
        "schema from elsewhere": (
            {"text": "a", "response_schema": {"type": "object", "$ref": "https://example.com/a"}},
            "write a path within it",
        ),
        "a number that is none in a schema": (
            {"text": "a", "response_schema": object_of(a={"multipleOf": 0})},
            "its multipleOf is 0",
        ),
        "patterns too large together": (
            {
                "text": "a",
                "response_schema": object_of(
                    **{f"a{n}": {"pattern": f"[^a]{{400}}{n}"} for n in range(9)}
                ),
            },
            "too large together",
        ),
        "control in schema": (
            {"text": "a", "response_schema": {"type": "object", "title": "\x00"}},
            "U+0000",
        ),
    }
    | {
        f"schema with {name}": (
            {"text": "a", "response_schema": object_of(a={"pattern": pattern})},
            "response_schema: it has" if len(pattern) > MAX_LENGTH else "the pattern",
        )
        for name, pattern in REFUSED_PATTERNS.items()
    }
    | {
        f"id {id_!r}": ({"text": "a", "message_id": id_}, "message_id")
        for id_ in ("", "x" * 65, "a b", "é", "a\n", 7)
    }
)


@pytest.mark.parametrize(("body", "says"), BAD.values(), ids=BAD)
async def test_bad_input_says_what_and_changes_nothing(
    alice: AsyncClient, conversation: str, messages: str, body: Any, says: str
) -> None:
    refused = problem(await alice.post(messages, json=body), 422)
    assert says in refused["detail"]
    assert refused["errors"]
    assert (await alice.get(conversation)).json()["turns"] == 0


async def test_a_message_loses_what_nobody_sees(alice: AsyncClient, messages: str) -> None:
    sent = {"text": "付 \u202e00.01\u202c\u200b 元\n\U000e0041👩\u200d💻❤\ufe0f می\u200cخواهم"}
    turn = (await alice.post(messages, json=sent)).json()
    kept = "付 00.01 元\n👩\u200d💻❤\ufe0f می\u200cخواهم"
    assert turn["replies"][0]["text"] == f"alice: {kept}"


@pytest.mark.parametrize("wait", ["-1", "121", "nan", "inf", "soon", ""])
async def test_a_bad_wait_is_refused(alice: AsyncClient, messages: str, wait: str) -> None:
    assert (await alice.post(f"{messages}?wait={wait}", json={"text": "a"})).status_code == 422


async def test_a_repeat_gets_the_first_answer(alice: AsyncClient, messages: str) -> None:
    body = {"text": "once", "message_id": "m1"}
    first, again = [(await alice.post(messages, json=body)).json() for _ in range(2)]
    assert first == again
    other = await alice.post(messages, json={"text": "twice", "message_id": "m1"})
    assert other.status_code == 422


async def test_the_key_is_another_way_to_give_the_id(alice: AsyncClient, messages: str) -> None:
    async def send(key: str, **body: str) -> Response:
        headers = {"Idempotency-Key": key}
        return await alice.post(messages, json={"text": "a", **body}, headers=headers)

    assert (await send('"k1"')).json()["message_id"] == "k1"
    assert (await send("k1", message_id="k1")).json()["turn"] == 1
    assert (await send("k1", message_id="k2")).status_code == 422


@pytest.mark.parametrize("query", ["", "?wait=0"])
@pytest.mark.parametrize(("text", "status"), [("busy", 409), ("full", 429)])
async def test_what_the_conversation_refuses_is_passed_on(
    alice: AsyncClient, messages: str, text: str, status: int, query: str
) -> None:
    answer = await alice.post(f"{messages}{query}", json={"text": text})
    assert answer.status_code == status
    assert ("retry-after" in answer.headers) == (status == 429)


async def test_a_long_turn_is_202_and_goes_on(alice: AsyncClient, messages: str) -> None:
    running = {"message_id": "m", "status": "running"}
    held = {"text": "held", "message_id": "m"}
    sent = await alice.post(f"{messages}?wait=0", json=held)
    assert (sent.status_code, sent.json()) == (202, running)
    asked = await alice.get(f"{messages}/m")
    assert (asked.status_code, asked.json()) == (202, running)
    await alice.post(messages, json={"text": "release"})
    again = await alice.post(messages, json=held)
    assert (again.status_code, again.json()["message_id"]) == (200, "m")


async def test_the_seventh_open_turn_is_refused(
    alice: AsyncClient, conversation: str, messages: str
) -> None:
    def send(number: int) -> Any:
        body = {"text": "slow", "message_id": f"m{number}"}
        return alice.post(f"{messages}?wait=0.2", json=body)

    first = [await send(number) for number in range(MAX_OPEN_TURNS)]
    assert {answer.status_code for answer in first} == {202}
    seventh = await send(MAX_OPEN_TURNS)
    assert (seventh.status_code, "retry-after" in seventh.headers) == (429, True)
    assert (await send(0)).status_code == 202
    other_body = await alice.post(messages, json={"text": "other", "message_id": "m0"})
    assert other_body.status_code == 422
    cancelled = await alice.post(f"{conversation}/cancel")
    assert cancelled.status_code == 202
    await until(lambda: send(MAX_OPEN_TURNS), lambda a: a.status_code == 200)


async def test_one_message_many_times_is_one_turn(alice: AsyncClient, messages: str) -> None:
    body = {"text": "soon", "message_id": "m"}
    answers = await asyncio.gather(*(alice.post(messages, json=body) for _ in range(8)))
    assert {answer.status_code for answer in answers} == {200}
    assert {answer.json()["turn"] for answer in answers} == {1}


async def test_a_turn_is_recorded_for_ever(
    alice: AsyncClient, conversation: str, messages: str, store: Store
) -> None:
    turn = Turn(
        message_id="old/1",
        turn=3,
        route=Route(kind="reply", by="fallback"),
        replies=[TextReply(text="long ago")],
    )
    whole = {"digest": "d", "turn": turn.model_dump(mode="json")}
    await store.log.append("default", [entry(conversation, "turn", "old/1", whole)])
    answer = await alice.get(f"{messages}/old%2F1")
    assert (answer.status_code, answer.json()) == (200, turn.shown())


async def test_a_message_that_never_was_is_404(alice: AsyncClient, messages: str) -> None:
    assert (await alice.get(f"{messages}/never")).status_code == 404
    await alice.post(messages, json={"text": "hi"})
    assert (await alice.get(f"{messages}/never")).status_code == 404
    assert (await alice.get(f"{messages}/%00")).status_code == 404


async def test_the_transcript_names_the_files_of_a_message(
    alice: AsyncClient, store: Store, conversation: str, messages: str
) -> None:
    files = [{"id": "f" * 24, "name": "发票.png"}]
    said = {"role": "user", "text": "收据", "message_id": "m", "files": files}
    await store.log.append("default", [entry(conversation, "message", "m", said)])
    (item,) = (await alice.get(messages)).json()["items"]
    assert (item["text"], item["files"]) == ("收据", files)


async def test_the_transcript_is_read_in_pages(
    alice: AsyncClient, conversation: str, messages: str, store: Store
) -> None:
    for number in range(5):
        data = {"role": "user", "text": f"t{number}", "message_id": f"m{number}"}
        await store.log.append("default", [entry(conversation, "message", f"m{number}", data)])
    texts: list[str] = []
    path = f"{messages}?limit=2"
    while True:
        page = (await alice.get(path)).json()
        texts += [item["text"] for item in page["items"]]
        assert set(page["items"][0]) == {"id", "at", "role", "text", "message_id"}
        if page["next"] is None:
            break
        path = f"{messages}?limit=2&after={page['next']}"
    assert texts == [f"t{number}" for number in range(5)]


@pytest.mark.parametrize(
    "query", ["after=-1", "after=x", "after=99999999999999999999", "limit=0", "limit=201"]
)
async def test_a_bad_place_in_it_is_refused(alice: AsyncClient, messages: str, query: str) -> None:
    assert (await alice.get(f"{messages}?{query}")).status_code == 422


async def test_a_workflow_that_ends_is_tried_again(services: Services, temporal: Client) -> None:
    """First a worker whose workflow ends before it answers, then one that answers."""
    queue = "closing"
    async with desk(services, "alice", task_queue=queue) as client:
        begun = (await client.post("/v1/conversations")).json()["id"]
        async with Worker(temporal, task_queue=queue, workflows=[ClosingConversation]):
            path = f"/v1/conversations/{begun}/messages"
            sent = asyncio.create_task(client.post(path, json={"text": "hello"}))
            await asyncio.sleep(0.3)
        async with Worker(temporal, task_queue=queue, workflows=[EchoConversation]):
            assert (await sent).status_code == 200


async def test_without_a_worker_it_is_503_and_never_202(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("router.api.turns.MIN_ACCEPTANCE_S", 0.5)
    async with desk(services, "alice", task_queue=f"nobody-{uuid4().hex}") as client:
        begun = (await client.post("/v1/conversations")).json()["id"]
        messages = f"/v1/conversations/{begun}/messages?wait=0"
        body = {"text": "hi", "message_id": "m"}
        for answer in await asyncio.gather(*(client.post(messages, json=body) for _ in range(2))):
            assert "message_id" in problem(answer, 503)["detail"]
