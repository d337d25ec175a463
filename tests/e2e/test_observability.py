"""What operators see of a house: one trace of a whole turn, metrics, and logs that join them."""

import asyncio
import json
import re
from collections.abc import AsyncIterator
from dataclasses import dataclass

import httpx
import pytest
from opentelemetry.proto.trace.v1.trace_pb2 import Span
from prometheus_client.parser import text_string_to_metric_families
from prometheus_client.samples import Sample

from tests.e2e.house import Chat, House, Person
from tests.fakes.model_server import MODEL, ModelServer, calls, fails, says
from tests.fakes.otlp_collector import Collector, attributes, collecting, names
from tests.table import each_row

pytestmark = pytest.mark.slow

TRACE = "0af7651916cd43dd8448eb211c80319c"
CALLER = "b7ad6b7169203331"
QUESTION = "我的年假还有多少来着呗"
ANSWER = "你还有 15 天年假，别忘了"
ROUTE = "/v1/conversations/{conversation}/messages"
TURN = "invoke_workflow Conversation"
TOOL = "execute_tool get_leave_balance"


@dataclass
class Watched:
    """A house with a scripted model, and all that is seen of it."""

    house: House
    model: ModelServer
    collector: Collector
    chat: Chat
    turn: dict  # type: ignore[type-arg]
    spans: list[Span]

    def named(self, name: str) -> list[Span]:
        return [span for span in self.spans if span.name == name]

    def samples(self) -> list[Sample]:
        text = httpx.get(self.house.metrics, trust_env=False).text
        return [one for family in text_string_to_metric_families(text) for one in family.samples]

    def value(self, name: str, **labels: str) -> float:
        """Of the samples of this name that have these labels: their sum."""
        found = [s for s in self.samples() if s.name == name and labels.items() <= s.labels.items()]
        assert found, name
        return sum(sample.value for sample in found)


@pytest.fixture(scope="module")
async def watched(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Watched]:
    """A house in which a question was answered by a tool and a model, in somebody's trace."""
    script = [calls(("get_leave_balance", {"leave_type": "annual"})), says(ANSWER), fails(500)]
    async with ModelServer(script) as model:
        with collecting() as collector:
            house = House(
                tmp_path_factory.mktemp("observed") / "data",
                variables={
                    "OTEL_EXPORTER_OTLP_ENDPOINT": collector.url,
                    "OTEL_BSP_SCHEDULE_DELAY": "100",
                    "ROUTER_LLM_BASE_URL": model.url,
                    "ROUTER_LLM_MODEL": MODEL,
                    "ROUTER_LOG_FORMAT": "json",
                    "ROUTER_LOG_LEVEL": "info",
                },
            )
            await asyncio.to_thread(house.start)
            try:
                yield await asyncio.to_thread(_asked, house, model, collector)
            finally:
                assert await asyncio.to_thread(house.stop) == 0


def _asked(house: House, model: ModelServer, collector: Collector) -> Watched:
    chat = Person(house, "alice").chat()
    chat.person.http.headers["traceparent"] = f"00-{TRACE}-{CALLER}-01"
    turn = chat.say(QUESTION, message_id="m-observed")
    del chat.person.http.headers["traceparent"]
    spans = collector.until(lambda so_far: f"POST {ROUTE}" in names(so_far))
    mine = [span for span in spans if span.trace_id.hex() == TRACE]
    return Watched(house, model, collector, chat, turn, mine)


async def test_a_turn_is_one_trace_from_the_caller_to_model_and_tool(watched: Watched) -> None:
    assert watched.turn["route"]["by"] == "llm"
    parents = {span.span_id: span for span in watched.spans}

    def way_up(span: Span) -> list[str]:
        above = parents.get(span.parent_span_id)
        return [span.name, *(way_up(above) if above else [span.parent_span_id.hex()])]

    top = [TURN, f"POST {ROUTE}", CALLER]
    (tool,) = watched.named(TOOL)
    assert way_up(tool) == [TOOL, "activity call_tool", *top]
    choosing, wording = watched.named(f"chat {MODEL}")
    assert way_up(choosing) == [f"chat {MODEL}", "activity decide", *top]
    assert way_up(wording) == [f"chat {MODEL}", "activity decide", *top]
    assert len(watched.named(TURN)) == 1


async def test_what_questions_begin_with_was_read_outside_of_any_turn(watched: Watched) -> None:
    asked, ahead = watched.model.chats[0], watched.model.readings
    assert asked["messages"][0] in [reading["messages"][0] for reading in ahead]
    assert not watched.named(f"read {MODEL}")


async def test_spans_speak_the_genai_conventions(watched: Watched) -> None:
    chat = attributes(watched.named(f"chat {MODEL}")[0])
    assert {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "openai",
        "gen_ai.request.model": MODEL,
        "gen_ai.response.model": MODEL,
        "gen_ai.usage.input_tokens": 100,
        "gen_ai.usage.output_tokens": 10,
        "server.address": "127.0.0.1",
    }.items() <= chat.items()
    tool = attributes(watched.named(TOOL)[0])
    assert tool["gen_ai.operation.name"] == "execute_tool"
    assert tool["gen_ai.tool.name"] == "get_leave_balance"
    turn = attributes(watched.named(TURN)[0])
    assert turn["gen_ai.conversation.id"] == watched.chat.id
    assert turn["router.route.by"] == "llm"


async def test_the_model_server_is_told_whose_work_it_does(watched: Watched) -> None:
    asked = [one for one in watched.model.requests if one.body in watched.model.chats]
    parents = [one.headers["traceparent"].split("-")[1:3] for one in asked[:2]]
    chats = watched.named(f"chat {MODEL}")
    assert parents == [[TRACE, span.span_id.hex()] for span in chats]


@each_row("word", ["年假", "15 天", "leave_type", "annual"])
async def test_no_span_has_a_word_of_it(watched: Watched, word: str) -> None:
    assert not any(word.encode() in body for body in watched.collector.raw)


async def test_metrics_count_the_turn_its_tokens_and_its_tool(watched: Watched) -> None:
    route = {"kind": "tool", "by": "llm"}
    assert watched.value("router_turn_duration_seconds_count", **route, status="done") >= 1
    assert watched.value("router_routes_total", **route) >= 1
    used = "gen_ai_client_token_usage_sum"
    asked = {"gen_ai_operation_name": "chat", "gen_ai_request_model": MODEL}
    assert watched.value(used, **asked, gen_ai_token_type="input") == 200
    took = "gen_ai_client_operation_duration_seconds_count"
    assert watched.value(took, **asked, error_type="") == 2
    tool = "gen_ai_execute_tool_duration_seconds_count"
    assert watched.value(tool, gen_ai_tool_name="get_leave_balance", error_type="") == 1
    assert watched.value("router_model_circuit_open") == 0
    posts = {"http_request_method": "POST", "http_route": ROUTE}
    assert watched.value("http_server_request_duration_seconds_count", **posts) >= 1


async def test_metrics_know_what_is_open(watched: Watched) -> None:
    assert watched.value("router_approvals_waiting") == 0
    assert watched.value("router_open_conversations") >= 0
    assert watched.value("router_event_streams") == 0


async def test_no_label_has_an_id_or_a_path_that_somebody_made_up(watched: Watched) -> None:
    def explore() -> None:
        person = watched.chat.person
        for path in ("/v1/conversations/made-up", "/made/up", "/v1/flow-runs/made-up", "/made-up"):
            assert person.http.get(path).status_code == 404
        person.http.request("MADEUP", "/made/up")

    before = len(watched.samples())
    await asyncio.to_thread(explore)
    after = watched.samples()
    values = {value for sample in after for value in sample.labels.values()}
    assert not [value for value in values if "made" in value.lower() or watched.chat.id in value]
    assert len(after) - before < 200
    await asyncio.to_thread(explore)
    assert len(watched.samples()) == len(after)


async def test_the_log_joins_failures_to_their_trace_and_turn(watched: Watched) -> None:
    """The script has come to its failing server; who is asked has a message to fall back on."""
    await asyncio.to_thread(watched.chat.say, "讲讲别的吧，随便什么", message_id="m-failing")
    lines = [json.loads(line) for line in watched.house.log().splitlines()]
    assert lines
    assert all({"time", "level", "logger", "message"} <= line.keys() for line in lines)
    ours = [line for line in lines if line.get("turn") == "m-failing"]
    assert ours
    assert all(line["conversation"] == watched.chat.id for line in ours)
    assert all(re.fullmatch(r"[0-9a-f]{32}", line["trace_id"]) for line in ours)
    assert "讲讲" not in watched.house.log()
