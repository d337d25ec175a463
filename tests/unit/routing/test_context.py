"""What a step is sent of a memory that grows and grows."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from router.domain.records import ResultPage
from router.llm.request import estimated_prompt_tokens, estimated_tokens
from router.llm.types import AssistantMessage, ChatMessage, FunctionCall, TokenUsage, ToolMessage
from router.routing import skill_context, skill_step
from router.routing.skill_context import (
    EARLIER_TOKENS,
    LEAST_RESULT,
    STEP_TOKENS,
    Room,
    fitted,
    result,
)
from router.routing.skill_memory import AgentMemory
from router.routing.skill_step import Means
from tests.table import each_row
from tests.unit.routing.dialogues import EPHEMERAL, memories, worked
from tests.unit.routing.samples import PROMPTS, TASK, TOOLS

CALL = FunctionCall(id="1", name="search", arguments={"question": "年假"})
budgets = st.integers(1, 60_000)


def tokens(messages: tuple[ChatMessage, ...]) -> int:
    return estimated_prompt_tokens(messages, ())


def identity(message: ChatMessage) -> object:
    """What tells a message from others whether it was shrunk or not."""
    return message.model_copy(update={"text": ""}) if isinstance(message, ToolMessage) else message


def latest(dialogue: tuple[ChatMessage, ...]) -> tuple[ChatMessage, ...]:
    said = [n for n, message in enumerate(dialogue) if isinstance(message, AssistantMessage)]
    return dialogue[said[-1] :] if said else dialogue[-1:]


def whole(memory: AgentMemory) -> set[int]:
    """Which results are as long as they were, counted from the end."""
    last = len(memory.dialogue)
    return {
        last - n
        for n, message in enumerate(memory.dialogue)
        if isinstance(message, ToolMessage) and "shortened since" not in message.text
    }


def found(memory: AgentMemory) -> list[str]:
    return [m.text for m in memory.dialogue if isinstance(m, ToolMessage)]


def long(steps: int, text: str = "字" * 3000, tool: str = "search") -> AgentMemory:
    memory = AgentMemory()
    for _ in range(steps):
        memory = worked(memory, text, tool=tool)
    return memory


@pytest.mark.slow
@given(memories(), budgets)
def test_the_dialogue_is_kept_in_order_or_gone(memory: AgentMemory, budget: int) -> None:
    fit = fitted(memory, EPHEMERAL, budget)
    assert latest(fit.memory.dialogue) == latest(memory.dialogue)
    assert fit.memory.waiting == memory.waiting
    for message, before in zip((*fit.gone, *fit.memory.dialogue), memory.dialogue, strict=True):
        assert identity(message) == identity(before)
        assert tokens((message,)) <= tokens((before,))
        assert len(message.model_dump_json()) <= len(before.model_dump_json())


@pytest.mark.slow
@given(memories(), budgets)
def test_a_call_and_its_result_are_never_parted(memory: AgentMemory, budget: int) -> None:
    fit = fitted(memory, EPHEMERAL, budget)
    assert not isinstance(next(iter(fit.memory.dialogue), None), ToolMessage)
    waiting = 1 if memory.waiting else 0
    for part, open_calls in ((fit.gone, 0), (fit.memory.dialogue, waiting)):
        calls = sum(len(m.calls) for m in part if isinstance(m, AssistantMessage))
        assert calls - sum(isinstance(m, ToolMessage) for m in part) == open_calls


@pytest.mark.slow
@given(memories(), budgets)
def test_it_is_within_budget_and_left_as_it_is(memory: AgentMemory, budget: int) -> None:
    once = fitted(memory, EPHEMERAL, budget)
    fits = max(Room.of(memory, budget).tokens, tokens(latest(memory.dialogue)))
    assert tokens(once.memory.dialogue) <= fits
    again = fitted(once.memory, EPHEMERAL, budget)
    assert (again.memory, again.gone) == (once.memory, ())


@pytest.mark.slow
@given(memories(), budgets, budgets)
def test_a_larger_budget_keeps_all_of_a_smaller(memory: AgentMemory, one: int, other: int) -> None:
    less, more = (fitted(memory, EPHEMERAL, budget) for budget in sorted((one, other)))
    assert len(less.gone) >= len(more.gone)
    assert whole(less.memory) <= whole(more.memory)


@pytest.mark.slow
@given(memories(), st.integers(20_000, 60_000))
def test_the_question_as_it_is_sent_is_within_the_budget(memory: AgentMemory, budget: int) -> None:
    prompt, means = PROMPTS.of("skill", "c1", "en", "default"), Means(TOOLS)
    question = skill_step.request(prompt, TASK, means, memory)
    usage = TokenUsage(prompt_tokens=0, completion_tokens=0, estimated=True)
    wiser = memory.model_copy(update={"fixed": 0, "ratio": 1.0}).measured(
        skill_context.measured(question, memory, usage)
    )
    fit = fitted(wiser, EPHEMERAL, budget)
    told = fit.memory.recalling("字" * 9000) if fit.gone else fit.memory
    sent = skill_step.request(prompt, TASK, means, told)
    assert estimated_prompt_tokens(sent.messages, sent.functions) <= budget


@pytest.mark.slow
@each_row("text", ["字" * 3000, "word " * 1500])
def test_a_dialogue_is_bounded_however_long_the_run(text: str) -> None:
    memory, most = AgentMemory(fixed=2000), 0
    for _ in range(120):
        memory = fitted(worked(memory, text, text), {}).memory
        most = max(most, tokens(memory.dialogue))
    assert 10_000 < most <= STEP_TOKENS - 2000 - EARLIER_TOKENS


def test_the_oldest_results_shrink_first_and_say_what_they_were() -> None:
    memory = fitted(long(12), {}).memory
    results = found(memory)
    assert results[0] == "字" * 240 + "… (3000 characters of search, shortened since)"
    assert results[-1] == "字" * 3000
    assert sorted(results, key=len) == results


def test_more_is_shrunk_than_has_to_be_so_that_most_steps_only_add() -> None:
    memory, changed = AgentMemory(), 0
    for _ in range(40):
        before = memory.dialogue
        memory = fitted(worked(memory, "字" * 2000), {}).memory
        changed += memory.dialogue[: len(before)] != before
    assert 2 <= changed <= 12


def test_of_an_ephemeral_tool_only_the_last_results_stay_whole() -> None:
    memory = AgentMemory()
    for tool in ("search", "look", "search", "look", "search"):
        memory = worked(memory, "字" * 1000, tool=tool)
    kept = found(fitted(memory, {"search": 2, "look": 0}).memory)
    assert [len(text) == 1000 for text in kept] == [False, True, True, True, True]


def test_what_the_employee_said_never_shrinks() -> None:
    assert {len(text) for text in found(fitted(long(12, tool="ask_user"), {}).memory)} == {3000}


def test_what_is_already_small_goes_whole_and_oldest_first() -> None:
    memory = AgentMemory()
    for n in range(400):
        memory = worked(memory, f"result {n} " + "x" * 300)
    fit = fitted(memory, {})
    assert found(fit.memory)[0].startswith(f"result {len(fit.gone) // 2} ")
    assert len(fit.gone) > 100


def test_a_server_that_counts_three_times_as_much_is_sent_a_third() -> None:
    usual = tokens(fitted(long(100), {}).memory.dialogue)
    dear = tokens(fitted(long(100).model_copy(update={"ratio": 3.0}), {}).memory.dialogue)
    assert 3 * dear <= STEP_TOKENS
    assert dear < usual / 2


def test_the_dialogue_stays_within_its_bytes_even_where_tokens_cost_little() -> None:
    memory = fitted(long(100).model_copy(update={"ratio": 0.3}), {}).memory
    size = sum(len(m.model_dump_json().encode()) for m in memory.dialogue)
    assert size <= skill_context.MOST_BYTES


@each_row("text", ["x" * 20_000, "字" * 20_000, "x" * 9000 + "字" * 9000])
@each_row("longest", [100, 1000, 5000])
def test_a_long_result_keeps_its_beginning_and_its_end_and_says_so(text: str, longest: int) -> None:
    told = skill_context.result(CALL, text + ', "read_more": "h1"}', longest)
    assert estimated_tokens(told.text) <= longest
    assert len(told.text) < 8100
    assert told.text.startswith(text[:50])
    assert told.text.endswith(', "read_more": "h1"}')
    assert f"of {len(text) + 20} characters left out" in told.text
    assert skill_context.result(CALL, "x" * 300, longest).text == "x" * 300


def test_results_of_one_answer_share_what_room_there_is() -> None:
    alone, six = (skill_context.longest_result(AgentMemory(), n) for n in (1, 6))
    assert alone == pytest.approx(6 * six, abs=6)
    crowded = AgentMemory(fixed=STEP_TOKENS)
    assert skill_context.longest_result(crowded, 6) == skill_context.LEAST_RESULT


def test_a_question_that_was_refused_is_half_as_long_the_next_time_whatever_the_budget() -> None:
    memory = fitted(long(100).model_copy(update={"fixed": 2000}), {}).memory
    refused = skill_context.refused(memory)
    assert refused.most == pytest.approx((2000 + tokens(memory.dialogue)) / 2, abs=1)
    assert Room.of(refused, 60_000) == Room.of(refused.model_copy(update={"most": 0}), refused.most)
    assert skill_context.refused(refused).most == refused.most


@each_row("longest", [LEAST_RESULT, 500, 2000, 20_000])
@each_row("piece", ["行", '"', "\\", "word "])
def test_a_page_shows_how_to_read_on_however_short_it_is_cut(piece: str, longest: int) -> None:
    page = ResultPage(read_more="h4nd1e", page=1, pages=9, text=piece * 3000)
    text = json.dumps(page.model_dump(mode="json"), ensure_ascii=False)
    shown = result(FunctionCall(id="1", name="list_rows", arguments={}), text, longest)
    assert '"read_more": "h4nd1e", "page": 1, "pages": 9' in shown.text
