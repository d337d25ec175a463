"""Why a tool failed, in the language of whoever asked: in a form, a flow, a skill, and plainly."""

import re
from dataclasses import replace

import pytest

from router.domain.errors import PermanentToolError, TransientToolError, UnknownOutcome
from router.domain.locale import Locale, Localised
from router.runtime.composition import Parts
from router.tool.tool import Tool, tool
from tests.fakes.model_server import calls, fails
from tests.workflow.desk import Talk, defined, texts, words
from tests.workflow.tooled import Tooled, chosen

CLOSED = Localised(zh="账已经关了", en="the books are closed")
ASKING = defined("""
flow: asking
title: {zh: 查账, en: Books}
description: {zh: 查账, en: Looks at the books}
triggers: {patterns: [查账, look at the books]}
start: look
states:
  look: {call: look, next: fine, on_error: sorry}
  fine: {say: {zh: 好, en: Fine}, end: completed}
  sorry:
    say: {zh: "查不了：{{ results.error.message }}", en: "Sorry: {{ results.error.message }}"}
    end: failed
""")


def look_that_raises(error: Exception) -> Tool:
    async def look() -> str:
        """Look at the books."""
        raise error

    return tool(permission="read", retries=0, title={"zh": "看账", "en": "Look"})(look)


CLOSED_BOOKS = look_that_raises(PermanentToolError(CLOSED))


def send_that_raises(error: Exception) -> Tool:
    async def send(amount: int) -> str:
        """Send the money."""
        del amount
        raise error

    return tool(permission="write", retries=0, title={"zh": "汇款", "en": "Send"})(send)


def in_language(talk: Talk, locale: Locale) -> Talk:
    return replace(talk, locale=locale)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("locale", "opening", "form", "flow", "plain"),
    [
        ("zh", "查账", "没办成：账已经关了", "查不了：账已经关了", "没查到：账已经关了"),
        (
            *("en", "look at the books", "That didn't work: the books are closed"),
            *("Sorry: the books are closed", "That couldn't be found out: the books are closed"),
        ),
    ],
)
async def test_form_flow_and_plain_words_say_it_in_the_readers_language(
    tooled: Tooled, locale: Locale, opening: str, form: str, flow: str, plain: str
) -> None:
    async with tooled([CLOSED_BOOKS]) as talk:
        assert texts(await chosen(in_language(talk, locale), "look")) == [form]
    async with tooled([CLOSED_BOOKS], flows=[ASKING]) as talk:
        turn = await in_language(talk, locale).say(opening)
        assert texts(turn) == [flow]
        assert [call.status for call in turn.tool_calls] == ["failed"]
    async with tooled([CLOSED_BOOKS], [calls(("look", {})), fails(400)]) as talk:
        said = "帮我看看" if locale == "zh" else "have a look for me"
        assert texts(await in_language(talk, locale).say(said)) == [plain]


async def test_what_fails_for_too_long_is_given_up_in_the_readers_language(tooled: Tooled) -> None:
    busy = Localised(zh="正在结账", en="they are being closed")
    tools = [look_that_raises(TransientToolError(busy))]
    async with tooled(tools, flows=[ASKING]) as talk:
        turn = await talk.say("查账")
    assert texts(turn) == ["查不了：“看账”现在用不了：试了 1 次都没成，最后一次是因为：正在结账"]


@pytest.mark.slow
@pytest.mark.parametrize(("failures", "status", "attempts"), [(2, "done", 3), (9, "failed", 4)])
@pytest.mark.parametrize("by", ["the model", "a flow"])
async def test_a_turn_says_how_many_tries_a_call_took(
    tooled: Tooled, by: str, failures: int, status: str, attempts: int
) -> None:
    left = [TransientToolError("busy", retry_after=0.01)] * failures

    @tool(permission="read", retries=3, title={"zh": "看账", "en": "Look"}, return_direct=True)
    async def look() -> str:
        """Look at the books."""
        if left:
            raise left.pop()
        return "ok"

    if by == "the model":
        async with tooled([look], [calls(("look", {}))]) as talk:
            turn = await talk.say("帮我看看")
    else:
        async with tooled([look], flows=[ASKING]) as talk:
            turn = await talk.say("查账")
    (call,) = turn.tool_calls
    assert (call.status, call.attempts) == (status, attempts)


@pytest.mark.slow
async def test_a_turn_does_not_wait_for_who_wants_to_be_left_alone_for_long(tooled: Tooled) -> None:
    tries = []

    @tool(permission="read", title={"zh": "看账", "en": "Look"})
    async def look() -> str:
        """Look at the books."""
        tries.append(1)
        raise TransientToolError("429", retry_after=86_400)

    said = "“看账”现在用不了：试了 1 次都没成，最后一次是因为：429"
    async with tooled([look], [calls(("look", {})), fails(400)]) as talk:
        assert texts(await talk.say("帮我看看")) == [f"没查到：{said}"]
    async with tooled([look]) as talk:
        assert texts(await chosen(talk, "look")) == [f"没办成：{said}"]
    assert len(tries) == 2


async def test_what_nobody_foresaw_is_told_by_a_reference_to_the_log(
    tooled: Tooled, parts: Parts, caplog: pytest.LogCaptureFixture
) -> None:
    tools = [look_that_raises(ValueError("a bug with secret s3cr3t"))]
    async with tooled(tools, flows=[ASKING]) as talk:
        turn = await talk.say("查账")
        english = await in_language(talk, "en").say("look at the books")
    said = re.search(
        "“看账”有程序错误，再试也没有用，请告诉管理员；原因在日志里，编号 ([0-9a-f]{8})$",
        texts(turn)[0],
    )
    assert said is not None
    assert "s3cr3t" not in turn.model_dump_json() + english.model_dump_json()
    (logged,) = [one for one in caplog.records if said[1] in one.getMessage()]
    assert logged.exc_info is not None
    assert "s3cr3t" in str(logged.exc_info[1])
    last, *_ = await parts.store.audit.of_person("default", "alice", 1)
    assert "ValueError: a bug with secret s3cr3t" in last.detail


@pytest.mark.slow
async def test_an_outcome_that_nobody_knows_is_told_in_the_readers_language(tooled: Tooled) -> None:
    unknown = UnknownOutcome(Localised(zh="银行没有回话", en="the bank didn't answer"))
    async with tooled([send_that_raises(unknown)]) as talk:
        await chosen(talk, "send", "500")
        turn = await talk.press("confirm", value=True)
    assert "（银行没有回话）" in texts(turn)[0]


ASKING_WHO = defined("""
flow: who
title: {zh: 问是谁, en: Who}
description: {zh: 问是谁, en: Asks who it is}
triggers: {patterns: [查人]}
slots:
  one: {type: text, ask: {zh: "哪位？", en: "Who?"}}
  called: {type: text, lookup: "names(slots.one)"}
start: ask
states:
  ask: {collect: [one], next: told}
  told: {say: {zh: "{{ slots.called }}", en: "{{ slots.called }}"}, end: completed}
""")


async def test_a_lookup_that_fails_for_good_is_asked_about(tooled: Tooled) -> None:
    async with tooled([], flows=[ASKING_WHO]) as talk:
        await talk.say("查人")
        asked = words(await talk.say("bob"))
    assert "bob is no list of user ids" in asked
    assert "哪位？" in asked
