"""What servers are told to keep, in the bytes that are sent to each provider."""

import json
from typing import Any

from router.llm.client import ChatModel
from router.llm.protocols import protocol
from router.llm.servers import ServerMemory
from router.llm.types import (
    AssistantMessage,
    ChatMessage,
    ChatRequest,
    Function,
    FunctionCall,
    SystemMessage,
    ToolMessage,
    UserMessage,
)
from tests.fakes.providers import (
    ANTHROPIC,
    CHAT,
    DIALECTS,
    RESPONSES,
    Dialect,
    ProviderServer,
    Said,
)
from tests.table import each_row

MARK = {"type": "ephemeral"}
FIXED = (Function(name="respond", description="Talk."), Function(name="find", description="Find."))
RULES = SystemMessage(text="Decide by these rules.")
HISTORY = (UserMessage(text="什么时候放假"), AssistantMessage(text="十月一日。"))
CALL = FunctionCall(id="c1", name="find", arguments={"query": "年假"})
FOUND = (AssistantMessage(calls=(CALL,)), ToolMessage(call_id="c1", name="find", text="五天"))


def asked(now: str, *near: str, more: tuple[ChatMessage, ...] = ()) -> ChatRequest:
    functions = (*FIXED, *(Function(name=name, description="Near.") for name in near))
    said = (RULES, *HISTORY, UserMessage(text=now), *more)
    return ChatRequest(messages=said, functions=functions, prompt="router-1@a", cache_key="k/1")


def body(dialect: Dialect, request: ChatRequest) -> dict[str, Any]:
    return protocol(dialect.name).sending("m", request, frozenset(), False).body


def read_in_order(dialect: Dialect, request: ChatRequest) -> str:
    """What a model reads of a question: what it is offered and told, in the provider's order."""
    sent = body(dialect, request)
    if dialect is ANTHROPIC:
        parts = [*sent["tools"], sent["system"], *sent["messages"]]
    elif dialect is CHAT:
        parts = [*sent["tools"], *sent["messages"]]
    elif dialect is RESPONSES:
        parts = [*sent["tools"], *sent["input"]]
    else:
        parts = [sent["systemInstruction"], *sent["tools"], *sent["contents"]]
    return "".join(json.dumps(part, ensure_ascii=False) for part in parts)


def alike(one: str, two: str) -> str:
    pairs = zip(one, two, strict=False)
    return one[: next((n for n, (a, b) in enumerate(pairs) if a != b), min(len(one), len(two)))]


@each_row("dialect", DIALECTS, ids=lambda dialect: dialect.name)
def test_what_is_always_offered_comes_before_what_is_near(dialect: Dialect) -> None:
    one = read_in_order(dialect, asked("请假", "leave"))
    two = read_in_order(dialect, asked("报销", "trip"))
    begins = alike(one, two)
    assert all(f'"{function.name}"' in begins for function in FIXED)
    assert "leave" not in begins
    assert "请假" not in begins


@each_row("dialect", DIALECTS, ids=lambda dialect: dialect.name)
def test_where_the_same_is_offered_only_the_message_differs(dialect: Dialect) -> None:
    one, two = (read_in_order(dialect, asked(text, "leave")) for text in ("请假", "报销"))
    begins = alike(one, two)
    assert all(text in begins for text in (RULES.text, HISTORY[0].text, HISTORY[1].text))


@each_row("dialect", DIALECTS, ids=lambda dialect: dialect.name)
def test_the_next_round_begins_with_all_of_this_one(dialect: Dialect) -> None:
    one, two = asked("请假", "leave"), asked("请假", "leave", more=FOUND)
    plain = [
        read_in_order(dialect, each).replace(f', "cache_control": {json.dumps(MARK)}', "")
        for each in (one, two)
    ]
    assert "请假" in alike(*plain)


def marked(sent: dict[str, Any]) -> list[str]:
    blocks = [*sent.get("tools", ()), *sent["system"]]
    blocks += [block for turn in sent["messages"] for block in turn["content"]]
    return [
        str(block.get("text") or block.get("content"))
        for block in blocks
        if block.get("cache_control") == MARK
    ]


def test_anthropic_keeps_the_rules_and_what_was_said_before_the_message() -> None:
    assert marked(body(ANTHROPIC, asked("请假", "leave"))) == [RULES.text, HISTORY[1].text]


def test_anthropic_keeps_what_a_call_came_to_for_the_round_after_it() -> None:
    assert marked(body(ANTHROPIC, asked("请假", more=FOUND))) == [RULES.text, "五天"]


def test_a_first_message_has_nothing_to_keep_but_the_rules() -> None:
    first = ChatRequest(messages=(RULES, UserMessage(text="你好")), functions=FIXED)
    assert marked(body(ANTHROPIC, first)) == [RULES.text]


@each_row("dialect", [CHAT, RESPONSES], ids=lambda dialect: dialect.name)
def test_openai_is_told_which_questions_begin_alike(dialect: Dialect) -> None:
    assert body(dialect, asked("请假"))["prompt_cache_key"] == "k/1"
    without = asked("请假").model_copy(update={"cache_key": ""})
    assert "prompt_cache_key" not in body(dialect, without)


@each_row(
    ("dialect", "part"),
    [(CHAT, "prompt_cache_key"), (RESPONSES, "prompt_cache_key"), (ANTHROPIC, "cache_control")],
    ids=["chat_completions", "responses", "anthropic"],
)
async def test_a_server_that_refuses_it_is_asked_without_from_then_on(
    dialect: Dialect, part: str
) -> None:
    said = dialect.says(Said("好"))
    refuses = dialect.refuses(part, f"{part}: Extra inputs are not permitted", said)
    memory = ServerMemory()
    async with ProviderServer(dialect, [refuses] * 3) as server:
        model = ChatModel(server.url, "m", "k", memory, spoken=dialect.name)
        answers = [await model.answer(asked("请假"), 20) for _ in range(2)]
        await model.aclose()
    assert [answer.attempts for answer in answers] == [2, 1]
    assert memory.refused(model.endpoint) == {part}
