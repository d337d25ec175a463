"""Every protocol answers alike, whatever shapes it comes in: over real HTTP."""

import asyncio
import base64
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from router.llm.client import ChatModel
from router.llm.health import ModelAddress, ModelHealth
from router.llm.servers import ServerMemory
from router.llm.types import (
    ChatAnswer,
    ChatRequest,
    ShownPicture,
    TextDelta,
    TokenUsage,
    UserMessage,
)
from router.settings import ModelOptions
from router.settings.models import NO_OPTIONS
from tests.fakes.model_server import Behaviour, hangs, reaches, waits
from tests.fakes.providers import (
    ANTHROPIC,
    CHAT,
    DIALECTS,
    GEMINI,
    RESPONSES,
    Dialect,
    ProviderServer,
    Said,
    Tokens,
    pieces,
)
from tests.fakes.web_server import WebServer, json_reply
from tests.table import each_row
from tests.unit.llm.asking import ANNUAL, question

SICK = ("get_balance", {"leave_type": "sick"})


class Counter:
    """A provider's server, a model there, and the text that was streamed."""

    def __init__(self, server: ProviderServer, options: ModelOptions) -> None:
        self.server = server
        self.memory = ServerMemory()
        self.model = ChatModel(
            server.url, "scripted", "a-key", self.memory, None, server.dialect.name, options
        )
        self.deltas: list[TextDelta] = []

    async def hear(self, delta: TextDelta) -> None:
        self.deltas.append(delta)

    @property
    def heard(self) -> str:
        return "".join(delta.text for delta in self.deltas)

    @property
    def sent(self) -> str:
        """The last request, as text."""
        return json.dumps(self.server.chats[-1], ensure_ascii=False)


@asynccontextmanager
async def counter(
    dialect: Dialect, script: list[Behaviour], options: ModelOptions = NO_OPTIONS
) -> AsyncIterator[Counter]:
    async with ProviderServer(dialect, script) as server:
        here = Counter(server, options)
        try:
            yield here
        finally:
            await here.model.aclose()


@pytest.fixture(params=DIALECTS, ids=lambda dialect: dialect.name)
def dialect(request: pytest.FixtureRequest) -> Any:
    return request.param


@pytest.fixture(params=[False, True], ids=["whole", "streamed"])
def streaming(request: pytest.FixtureRequest) -> Any:
    return request.param


async def ask(dialect: Dialect, said: Said, streaming: bool, **more: Any) -> ChatAnswer:
    async with counter(dialect, [dialect.says(said)]) as here:
        answer = await here.model.answer(question(**more), 20, here.hear if streaming else None)
    if streaming and answer.text:
        assert here.heard == answer.text
        assert len(here.deltas) == len(list(pieces(answer.text)))
    return answer


@pytest.mark.slow
async def test_text_comes_whole_or_piece_by_piece(dialect: Dialect, streaming: bool) -> None:
    answer = await ask(dialect, Said("您好，有什么可以帮您？"), streaming)
    assert (answer.text, answer.calls, answer.finish) == ("您好，有什么可以帮您？", (), "stop")
    assert (answer.model, answer.how, answer.problems) == ("scripted", "functions", ())


@pytest.mark.slow
async def test_text_is_told_while_the_rest_is_written(dialect: Dialect) -> None:
    rest = asyncio.Event()
    said = Said("第一句话到了。第二句话还在路上。")
    before = len(list(dialect.events(said, "scripted"))) - 3
    async with counter(dialect, [waits(rest, before, dialect.says(said))]) as here:

        async def hear(piece: TextDelta) -> None:
            await here.hear(piece)
            rest.set()  # the server goes on only because this was heard

        answer = await here.model.answer(question(), on_text=hear)
    assert here.heard == answer.text == said.text


async def test_parallel_calls_come_in_order_with_ids_of_their_own(
    dialect: Dialect, streaming: bool
) -> None:
    answer = await ask(dialect, Said("稍等", (ANNUAL, SICK)), streaming)
    asked = [(call.name, call.arguments["leave_type"]) for call in answer.calls]
    assert asked == [("get_balance", "annual"), ("get_balance", "sick")]
    assert len({call.id for call in answer.calls}) == 2
    assert (answer.text, answer.finish, answer.problems) == ("稍等", "calls", ())


async def test_what_a_function_says_is_told_like_text(dialect: Dialect) -> None:
    said = Said(calls=(("respond_message", {"text": '他说"好"，\n再见 👋'}),))
    async with counter(dialect, [dialect.says(said)]) as here:
        answer = await here.model.answer(question(), on_text=here.hear)
    assert answer.calls[0].arguments["text"] == '他说"好"，\n再见 👋'
    # Gemini's calls come whole.
    assert here.heard in {answer.calls[0].arguments["text"], "" if dialect is GEMINI else None}


async def test_tokens_are_counted_with_those_of_the_cache_and_of_thoughts(
    dialect: Dialect, streaming: bool
) -> None:
    tokens = Tokens(prompt=1200, completion=90, cached=1024, reasoning=64)
    answer = await ask(dialect, Said("好", tokens=tokens), streaming)
    assert answer.usage == TokenUsage(
        prompt_tokens=1200, completion_tokens=90, cached_tokens=1024, reasoning_tokens=64
    )
    assert answer.reasoned


async def test_tokens_that_nobody_counted_are_estimated(dialect: Dialect, streaming: bool) -> None:
    usage = (await ask(dialect, Said("你好，世界", tokens=None), streaming)).usage
    assert usage.estimated
    assert usage.prompt_tokens > 10
    assert usage.completion_tokens > 1


@each_row("said", [Said(refusal="I can't help with that."), Said(filtered=True)])
async def test_a_refusal_is_no_answer_and_no_fault(
    dialect: Dialect, streaming: bool, said: Said
) -> None:
    answer = await ask(dialect, said, streaming)
    assert (answer.text, answer.calls) == ("", ())
    if said.refusal and dialect is not GEMINI:  # which blocks a prompt without a word
        assert answer.refusal == said.refusal
    else:
        assert answer.finish == "filtered"
        assert "content filter" in answer.problems[0].text


async def test_an_answer_that_was_cut_says_so(dialect: Dialect, streaming: bool) -> None:
    answer = await ask(dialect, Said("一二三四五六", cut=True), streaming)
    assert (answer.text, answer.finish) == ("一二三四五六", "length")
    assert "was cut" in answer.problems[0].text


async def test_cut_arguments_are_no_call(streaming: bool) -> None:
    for dialect in (CHAT, RESPONSES, ANTHROPIC):  # Gemini's are never cut: they come whole
        cut = Said(calls=(("get_balance", '{"leave_type": "ann'),), cut=True)
        answer = await ask(dialect, cut, streaming)
        assert answer.calls == ()
        assert "can't be read" in " ".join(map(str, answer.problems))


async def test_a_malformed_call_of_geminis_is_one_that_cannot_be_read(streaming: bool) -> None:
    body = {"candidates": [{"content": {}, "finishReason": "MALFORMED_FUNCTION_CALL"}]}
    script = [lambda received: GEMINI.streamed([body])]
    async with counter(GEMINI, [*script]) as here:
        answer = await here.model.answer(question(), 20, here.hear)
    assert [*map(str, answer.problems)] == ["the call can't be read: MALFORMED_FUNCTION_CALL"]


async def test_a_call_is_asked_for_or_left_to_the_model(dialect: Dialect) -> None:
    async with counter(dialect, [dialect.says(Said("好"))] * 2) as here:
        await here.model.answer(question())
        forced = here.server.chats[-1]
        await here.model.answer(question(must_call=False))
        free = here.server.chats[-1]
    name = {"gemini": "toolConfig"}.get(dialect.name, "tool_choice")
    assert json.dumps(forced[name]).lower() in {
        '"required"',
        '{"type": "any"}',
        '{"functioncallingconfig": {"mode": "any"}}',
    }
    assert "auto" in json.dumps(free[name]).lower()


async def test_one_call_at_most_is_asked_for_as_such() -> None:
    wanted = {
        CHAT: '"parallel_tool_calls": false',
        RESPONSES: '"parallel_tool_calls": false',
        ANTHROPIC: '"disable_parallel_tool_use": true',
    }
    for dialect, part in wanted.items():
        async with counter(dialect, [dialect.says(Said("好"))]) as here:
            await here.model.answer(question(max_calls=1))
            assert part in here.sent


NO_TOOLS = "Unsupported parameter: 'tools'"
NO_SCHEMA = "Unknown name: response_format json_schema is not supported"
ASKS_FOR_JSON: dict[Dialect, str] = {
    CHAT: '"response_format": {"type": "json_schema"',
    RESPONSES: '"text": {"format": {"type": "json_schema"',
    ANTHROPIC: '"output_config": {"format": {"type": "json_schema"',
    GEMINI: '"responseMimeType": "application/json", "responseJsonSchema"',
}
TOOLS: dict[Dialect, str] = {GEMINI: '"functionDeclarations"'}


async def test_who_takes_no_functions_is_asked_for_json_and_that_is_remembered(
    dialect: Dialect, streaming: bool
) -> None:
    decision = Said(json.dumps({"calls": [{"name": ANNUAL[0], "arguments": ANNUAL[1]}]}))
    part = TOOLS.get(dialect, '"tools"')
    script = [dialect.refuses(part, NO_TOOLS, dialect.says(decision))] * 3
    async with counter(dialect, script) as here:
        for attempts in (2, 1):
            on_text = here.hear if streaming else None
            answer = await here.model.answer(question(), 20, on_text)
            assert (answer.how, answer.attempts) == ("json_schema", attempts)
            assert answer.calls[0].arguments == {"leave_type": "annual"}
            assert ASKS_FOR_JSON[dialect] in here.sent
        assert here.memory.refused(here.model.endpoint) == {"tools"}
    assert here.heard == ""


async def test_who_takes_no_schema_either_is_asked_in_words(dialect: Dialect) -> None:
    decision = Said(json.dumps({"calls": [{"name": ANNUAL[0], "arguments": ANNUAL[1]}]}))
    async with counter(dialect, [dialect.says(decision)]) as here:
        here.memory.learn(here.model.endpoint, ["tools", "json_schema", "json_object"])
        answer = await here.model.answer(question())
        assert answer.how == "text"
        assert answer.calls[0].arguments == {"leave_type": "annual"}
        assert "Answer with one JSON object" in here.sent


@each_row(
    ("part", "message", "feature"),
    [
        ('"temperature"', "`temperature` is deprecated for this model.", "temperature"),
        ("low", "This model does not support the effort parameter.", "effort"),
    ],
)
async def test_what_a_server_refuses_is_learned(
    dialect: Dialect, part: str, message: str, feature: str
) -> None:
    script = [dialect.refuses(part, message, dialect.says(Said("好")))] * 3
    async with counter(dialect, script, ModelOptions(effort="low")) as here:
        first, again = [await here.model.answer(question()) for _ in range(2)]
        assert (first.attempts, again.attempts) == (2, 1)
        assert here.memory.refused(here.model.endpoint) == {feature}


REFUSALS = [
    (ANTHROPIC, '"strict"', "tools.0: `strict` is not supported on this model", "strict"),
    (ANTHROPIC, '"strict"', "The compiled grammar is too large", "strict"),
    (
        ANTHROPIC,
        '"any"',
        "Thinking may not be enabled when tool_choice forces tool use.",
        "tool_choice=required",
    ),
    (
        RESPONSES,
        '"include"',
        "Encrypted content is not supported with this model.",
        "reasoning_kept",
    ),
    (GEMINI, '"ANY"', "tool_choice: mode ANY is not supported", "tool_choice=required"),
]


@each_row(("dialect", "part", "message", "feature"), REFUSALS)
async def test_refusals_as_they_are_worded_are_understood(
    dialect: Dialect, part: str, message: str, feature: str
) -> None:
    script = [dialect.refuses(part, message, dialect.says(Said(calls=(ANNUAL,))))] * 2
    async with counter(dialect, script, ModelOptions(effort="high")) as here:
        assert (await here.model.answer(question())).attempts == 2
        assert here.memory.refused(here.model.endpoint) == {feature}


PNG = b"\x89PNG\r\n\x1a\n of a receipt"
SHOWN = ShownPicture(name="receipt.png", media_type="image/png", content=PNG)
SEES = UserMessage(text="多少钱？", pictures=(SHOWN,), unseen="<read>58 元</read>")


async def test_pictures_are_shown_or_told_in_words(dialect: Dialect) -> None:
    asked: ChatRequest = question(messages=(SEES,), functions=())
    blind = dialect.refuses(
        "image", "image input is not supported by this model", dialect.says(Said("58"))
    )
    async with counter(dialect, [dialect.says(Said("58")), blind, blind, blind]) as here:
        await here.model.answer(asked)
        assert base64.b64encode(PNG).decode() in here.sent
        assert "58 元" not in here.sent
        assert [(await here.model.answer(asked)).attempts for _ in range(2)] == [2, 1]
        assert base64.b64encode(PNG).decode() not in here.sent
        assert "58 元" in here.sent


async def test_a_cut_within_thoughts_is_asked_once_more_for_longer(
    dialect: Dialect, streaming: bool
) -> None:
    long = Said(thoughts=("嗯，先看看",), cut=True, tokens=Tokens(100, 512, reasoning=512))
    script = [dialect.says(long), dialect.says(Said(calls=(ANNUAL,))), dialect.says(Said("好"))]
    async with counter(dialect, script) as here:
        on_text = here.hear if streaming else None
        answer = await here.model.answer(question(max_tokens=512), 20, on_text)
        assert [call.name for call in answer.calls] == ["get_balance"]
        assert (answer.attempts, answer.problems) == (2, ())
        assert (answer.usage.prompt_tokens, answer.usage.completion_tokens) == (200, 522)
        # From then on it is given what it needs at once.
        assert (await here.model.answer(question(max_tokens=512))).attempts == 1
        limits = [_limit(body) for body in here.server.chats]
        assert limits == [512, 2048, 2048]
        assert here.memory.refused(here.model.endpoint) == frozenset()
    assert "先看看" not in here.heard


async def test_who_takes_no_more_tokens_is_asked_for_them_once(dialect: Dialect) -> None:
    cut = Said(thoughts=("嗯",), cut=True, tokens=Tokens(100, 512, reasoning=512))
    refusal = dialect.fails(400, "the limit of output is 1024")
    script = [dialect.says(cut), refusal, dialect.says(cut), dialect.says(Said("好"))]
    async with counter(dialect, script) as here:
        for _ in range(2):
            answer = await here.model.answer(question(max_tokens=512))
            assert (answer.finish, answer.text) == ("length", "")
        assert (await here.model.answer(question(max_tokens=512))).text == "好"
        assert [_limit(body) for body in here.server.chats] == [512, 2048, 512, 512]


def _limit(body: dict[str, Any]) -> int:
    config = body.get("generationConfig", {})
    names = ("max_tokens", "max_output_tokens")
    found: int = next((body[n] for n in names if n in body), config.get("maxOutputTokens"))
    return found


async def test_how_a_model_is_asked_is_set_for_it(dialect: Dialect) -> None:
    options = ModelOptions(
        temperature=0.7, max_tokens=4000, effort="high", extra_body={"metadata": {"team": "hr"}}
    )
    async with counter(dialect, [dialect.says(Said("好"))], options) as here:
        await here.model.answer(question())
        sent = here.server.chats[0]
    assert _limit(sent) == 4000
    assert sent["metadata"] == {"team": "hr"}
    assert '"high"' in json.dumps(sent)
    assert sent.get("temperature", sent.get("generationConfig", {}).get("temperature")) == 0.7


async def test_a_null_takes_out_what_is_there() -> None:
    options = ModelOptions(extra_body={"store": None, "text": {"verbosity": "low"}})
    async with counter(RESPONSES, [RESPONSES.says(Said("好"))], options) as here:
        await here.model.answer(question())
    sent = here.server.chats[0]
    assert "store" not in sent
    assert sent["text"] == {"verbosity": "low"}


async def test_the_key_goes_where_the_provider_wants_it(dialect: Dialect) -> None:
    async with counter(dialect, [dialect.says(Said("好"))]) as here:
        await here.model.answer(question())
        health = ModelHealth([ModelAddress(here.server.url, "a-key", dialect.name)])
        assert await health.trouble() == [None]
        header, before = dialect.key
        posted, listed = here.server.requests
    assert posted.headers[header] == listed.headers[header] == f"{before}a-key"


@each_row("end", ["/v1", "/v1/", "/"])
async def test_an_address_may_end_with_the_version(end: str) -> None:
    async with ProviderServer(ANTHROPIC, [ANTHROPIC.says(Said("好"))]) as server:
        model = ChatModel(server.origin + end, "scripted", spoken="anthropic")
        assert (await model.answer(question())).text == "好"
        await model.aclose()


@each_row(
    ("end", "model", "path"),
    [
        ("", "gemini-3", "/v1beta/models/gemini-3:generateContent"),
        ("/v1alpha/", "gemini-3", "/v1alpha/models/gemini-3:generateContent"),
        ("", "models/gemini-3", "/v1beta/models/gemini-3:generateContent"),
        ("", "tunedModels/leave", "/v1beta/tunedModels/leave:generateContent"),
        ("", "a?b#c d", "/v1beta/models/a%3Fb%23c%20d:generateContent"),
    ],
)
async def test_gemini_s_model_is_part_of_the_address(end: str, model: str, path: str) -> None:
    async with WebServer(lambda _: json_reply(GEMINI.whole(Said("好"), model))) as server:
        chat = ChatModel(server.origin + end, model, spoken="gemini")
        assert (await chat.answer(question())).text == "好"
        await chat.aclose()
        assert [received.target for received in server.requests] == [path]


async def test_no_other_key_is_taken_from_the_environment(
    dialect: Dialect, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY"):
        monkeypatch.setenv(name, "someone's key")
    async with ProviderServer(dialect, [dialect.says(Said("好"))]) as server:
        model = ChatModel(server.url, "scripted", spoken=dialect.name)
        await model.answer(question())
        await model.aclose()
        headers = server.requests[0].headers
    # OpenAI's library has to be given one.
    is_of_openai = dialect in {CHAT, RESPONSES}
    assert headers.get(dialect.key[0]) == ("Bearer none" if is_of_openai else None)
    assert "someone's key" not in headers.values()


async def test_a_question_given_up_leaves_the_model_usable(dialect: Dialect) -> None:
    arrived = asyncio.Event()
    script = [reaches(arrived, hangs()), dialect.says(Said("好了"))]
    async with counter(dialect, script) as here:
        asking = asyncio.create_task(here.model.answer(question()))
        await arrived.wait()
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
        assert (await here.model.answer(question())).text == "好了"
