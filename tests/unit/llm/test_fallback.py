"""A chain of models: breakers, who leads it, and how many questions a server gets."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from router.domain.circuit import CircuitBreaker
from router.domain.concurrency import ConcurrencyLimiter
from router.llm.client import ChatModel
from router.llm.fallback import (
    ChainAnswer,
    FallbackChain,
    FallbackChains,
    LedRole,
    judge_model_error,
    refuse_question,
)
from router.llm.prices import ModelPrice
from router.llm.types import (
    AccessRefused,
    ChatAnswer,
    ChatRequest,
    ContextTooLong,
    Crowded,
    ModelUnavailable,
    NoModelAnswered,
)
from tests.fakes.model_server import (
    Behaviour,
    ModelServer,
    drops,
    fails,
    hangs,
    rate_limits,
    reaches,
    says,
)
from tests.fakes.web_server import Received, Reply
from tests.table import each_row
from tests.unit.llm.asking import Desk, desk, question


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


async def climb(first: Behaviour, second: Behaviour) -> tuple[ChainAnswer, Desk, Desk]:
    async with desk([first]) as one, desk([second]) as two:
        return await FallbackChain([one.model, two.model]).answer(question(), 20), one, two


@each_row("fault", [fails(500), rate_limits("9"), fails(401), fails(400), fails(413)])
async def test_a_fallback_answers_where_the_model_fails(fault: Behaviour) -> None:
    result, one, two = await climb(fault, says("后备"))
    assert (result.answer.text, result.provider) == ("后备", two.model.endpoint)
    assert [failure.provider for failure in result.failures] == [one.model.endpoint]


async def test_a_model_that_answers_leaves_its_fallbacks_alone() -> None:
    async with desk([says("好")]) as one, desk([]) as two:
        result = await FallbackChain([one.model, two.model]).answer(question(), 20)
        assert two.server.chats == []
    assert (result.answer.text, result.failures) == ("好", ())


async def test_a_model_that_hangs_leaves_time_for_the_next() -> None:
    async with desk([hangs()]) as one, desk([says("rechtzeitig")]) as two:
        answer = await FallbackChain([one.model, two.model]).answer(question(), 3)
    assert (answer.answer.text, len(answer.failures)) == ("rechtzeitig", 1)


class Stub:
    """A model that notes how long it may take, and fails."""

    may_see = True
    price: ModelPrice | None = None

    def __init__(self, endpoint: str, error: ModelUnavailable | None = None) -> None:
        self.endpoint = self.name = endpoint
        self.given: list[float] = []
        self._error = error or ModelUnavailable("down")

    async def answer(self, request: ChatRequest, seconds: float, on_text: object) -> ChatAnswer:
        self.given.append(round(seconds))
        raise self._error

    async def aclose(self) -> None:
        pass


async def ask_in_vain(chain: FallbackChain, seconds: float) -> None:
    with pytest.raises(NoModelAnswered):
        await chain.answer(question(), seconds)


async def test_a_sole_model_may_take_all_that_is_left_and_several_share_it(clock: Clock) -> None:
    one, two, three = map(Stub, ("one", "two", "three"))
    await ask_in_vain(FallbackChain([one], clock=clock), 600)
    await ask_in_vain(FallbackChain([one, two, three], clock=clock), 600)
    assert (one.given, two.given, three.given) == ([600, 200], [300], [600])


async def test_no_time_is_set_aside_for_a_fallback_that_would_not_be_asked(clock: Clock) -> None:
    one, two = Stub("one"), Stub("two", ModelUnavailable("later", retry_after=60))
    chain = FallbackChain([one, two], clock=clock)
    for _ in range(2):
        await ask_in_vain(chain, 600)
    assert (one.given, two.given) == ([300, 600], [600])


async def test_nobody_is_asked_after_the_turns_time_is_over(clock: Clock) -> None:
    def overdue(received: Received) -> Reply:
        clock.now += 30
        return fails(500)(received)

    async with desk([overdue]) as one, desk([says("zu spät")]) as two:
        with pytest.raises(NoModelAnswered, match="the turn's time is over"):
            await FallbackChain([one.model, two.model], clock=clock).answer(question(), 10)
        assert two.server.chats == []


async def test_where_all_fail_all_are_listed_with_the_shortest_wait() -> None:
    with pytest.raises(NoModelAnswered) as caught:
        await climb(rate_limits("30"), rate_limits("4"))
    assert caught.value.retry_after == 4
    assert caught.value.worth_retrying
    assert str(caught.value).count("answered 429") == 2


async def test_where_all_refuse_for_good_nothing_is_worth_another_try() -> None:
    with pytest.raises(NoModelAnswered) as caught:
        await climb(fails(400, code="context_length_exceeded"), fails(401))
    assert not caught.value.worth_retrying
    assert [type(one.error) for one in caught.value.failures] == [ContextTooLong, AccessRefused]


async def test_no_models_at_all_is_said() -> None:
    with pytest.raises(NoModelAnswered, match="none is configured"):
        await FallbackChain([]).answer(question(), 1)


async def test_text_that_a_fallback_writes_begins_anew() -> None:
    async with desk([drops(says("前半句……后半句"), 3)]) as one, desk([says("完整")]) as two:
        heard = Desk(two.server)
        await FallbackChain([one.model, two.model]).answer(question(), 20, heard.hear)
        await heard.model.aclose()
    assert {delta.attempt for delta in heard.deltas if delta.text in "前半句……后半句"} == {1}
    assert heard.deltas[-1].attempt == 2


async def test_a_dead_provider_is_left_alone_and_tried_again_later(clock: Clock) -> None:
    async with ModelServer([fails(500)] * 3 + [says("wieder da")]) as server:
        model = ChatModel(server.url, "scripted")
        chain = FallbackChain([model], clock=clock)
        for _ in range(5):
            with pytest.raises(NoModelAnswered):
                await chain.answer(question(), 20)
        assert len(server.chats) == 3
        assert chain.states == {model.endpoint: "open"}
        clock.now += 31
        assert chain.states == {model.endpoint: "half-open"}
        assert (await chain.answer(question(), 20)).answer.text == "wieder da"
        assert chain.states == {model.endpoint: "closed"}
        await model.aclose()


def attempt(breaker: CircuitBreaker, error: BaseException | None = None) -> None:
    with breaker.call(refuse_question):
        if error is not None:
            raise error


def fail(breaker: CircuitBreaker, error: BaseException) -> None:
    with pytest.raises(type(error)):
        attempt(breaker, error)


DOWN = ModelUnavailable("x")


@each_row(
    ("ends", "states"),
    [
        ([DOWN, DOWN, DOWN], ["closed", "closed", "open"]),
        ([DOWN, DOWN, None, DOWN], ["closed"] * 4),
        ([AccessRefused("x")], ["open"]),
        ([ContextTooLong("x")] * 5, ["closed"] * 5),
        ([Crowded("of ours, no fault of the server's")] * 5, ["closed"] * 5),
    ],
)
def test_failures_in_a_row_open_the_breaker_and_a_refused_key_at_once(
    ends: list[Exception | None], states: list[str]
) -> None:
    breaker = CircuitBreaker(judge_model_error, failures=3)
    for error, state in zip(ends, states, strict=True):
        attempt(breaker) if error is None else fail(breaker, error)
        assert breaker.state == state


def test_a_server_that_asks_for_a_wait_gets_it(clock: Clock) -> None:
    breaker = CircuitBreaker(judge_model_error, failures=3, clock=clock)
    fail(breaker, ModelUnavailable("x", retry_after=12))
    clock.now += 11
    with pytest.raises(ModelUnavailable) as caught, breaker.call(refuse_question):
        pass
    assert caught.value.retry_after == 1
    clock.now += 1
    attempt(breaker)


def test_a_wait_asked_for_has_a_limit(clock: Clock) -> None:
    breaker = CircuitBreaker(judge_model_error, failures=3, clock=clock)
    fail(breaker, ModelUnavailable("x", retry_after=1e9))
    clock.now += 301
    assert breaker.state == "half-open"


@pytest.fixture
def rested(clock: Clock) -> CircuitBreaker:
    """A breaker that one failure opened, and that has rested long enough to try again."""
    breaker = CircuitBreaker(judge_model_error, failures=3, clock=clock)
    fail(breaker, AccessRefused("x"))
    clock.now += 31
    return breaker


def test_one_call_at_a_time_tries_whether_it_is_over(rested: CircuitBreaker) -> None:
    with rested.call(refuse_question):
        fail(rested, ModelUnavailable("not asked"))
    assert rested.state == "closed"


def test_a_trial_that_fails_opens_it_again(rested: CircuitBreaker) -> None:
    fail(rested, ModelUnavailable("x"))
    assert rested.state == "open"


def test_a_trial_that_is_given_up_lets_the_next_one_try(rested: CircuitBreaker) -> None:
    fail(rested, asyncio.CancelledError())
    attempt(rested)
    assert rested.state == "closed"


@pytest.fixture
def attended(clock: Clock) -> CircuitBreaker:
    """One that failed once too often, and beside which somebody makes trials."""
    breaker = CircuitBreaker(judge_model_error, failures=1, clock=clock)
    breaker.attended = True
    fail(breaker, DOWN)
    return breaker


def test_no_call_is_a_trial_where_somebody_makes_them(
    attended: CircuitBreaker, clock: Clock
) -> None:
    clock.now += 10_000
    fail(attended, ModelUnavailable("not asked"))
    with attended.trial():
        assert attended.state == "half-open"
        fail(attended, ModelUnavailable("not asked"))
    assert attended.admits
    attempt(attended)


def test_a_trial_that_fails_leaves_an_attended_one_open(attended: CircuitBreaker) -> None:
    with pytest.raises(ModelUnavailable), attended.trial():
        raise DOWN
    assert (attended.state, attended.wait) == ("open", 0)


@pytest.mark.parametrize(
    ("error", "seconds"), [(ModelUnavailable("x", retry_after=12), 12), (AccessRefused("x"), 30)]
)
def test_trials_too_wait_for_as_long_as_a_server_wants(
    attended: CircuitBreaker, clock: Clock, error: Exception, seconds: float
) -> None:
    with pytest.raises(type(error)), attended.trial():
        raise error
    assert attended.wait == seconds
    clock.now += seconds
    assert attended.wait == 0


async def asked(chain: FallbackChain | None) -> ChatAnswer:
    assert chain is not None
    return (await chain.answer(question(), 20)).answer


@asynccontextmanager
async def chains(
    script: list[Behaviour], *asked: str, for_skills: str | None = "big"
) -> AsyncIterator[FallbackChains]:
    """Chains over a server at which these models have been asked when they are left."""
    async with ModelServer(script) as server:
        small = ChatModel(server.url, "small")

        def lead(_: LedRole, name: str | None, __: str) -> ChatModel | None:
            wanted = name or for_skills
            return ChatModel(server.url, wanted) if wanted else None

        house = FallbackChains([small], lead)
        yield house
        await house.aclose()
        assert [chat["model"] for chat in server.chats] == list(asked)


async def test_without_a_model_there_is_no_chain() -> None:
    assert FallbackChains().usual is FallbackChains().of("skill", "big") is None


async def test_skills_are_led_by_the_model_that_is_set_for_them() -> None:
    async with chains([says("hello")] * 3, "small", "big", "biggest") as house:
        for chain in (house.usual, house.of("skill"), house.of("skill", "biggest")):
            await asked(chain)


async def test_a_skill_without_a_wish_has_the_usual_model() -> None:
    async with chains([], for_skills=None) as house:
        assert house.of("skill") is house.usual


async def test_only_models_that_decide_have_to_read_what_decisions_begin_with() -> None:
    async with chains([]) as house:
        deciding = [house.of("router"), house.usual, house.stronger]
        skilled, planning = house.of("skill", "biggest"), house.of("plan")
        firsts = [chain.links[0].model for chain in [*deciding, skilled, planning] if chain]
        assert [house.decides(model) for model in firsts] == [True, True, True, False, False]


async def test_below_a_skills_model_come_the_usual_ones_with_the_breakers_that_they_have() -> None:
    async with chains([fails(500), says("hello")], "big", "small") as house:
        usual, led = house.usual, house.of("skill")
        assert (await asked(led)).text == "hello"
        assert led is not None
        assert usual is not None
        assert led is house.of("skill")
        assert set(usual.states) < set(led.states)


async def test_one_question_more_waits_until_another_is_answered() -> None:
    asked, let_go = asyncio.Event(), asyncio.Event()
    async with ModelServer([reaches(asked, hangs(let_go)), says("second")]) as server:
        slots = ConcurrencyLimiter(1)
        first, second = (ChatModel(server.url, name, slots=slots) for name in ("a", "b"))
        hanging = asyncio.create_task(first.answer(question(), 30))
        await asked.wait()
        waiting = asyncio.create_task(second.answer(question(), 30))
        await asyncio.wait({waiting}, timeout=0.1)
        assert len(server.chats) == 1
        hanging.cancel()
        assert (await waiting).text == "second"
        await first.aclose()
        await second.aclose()


async def test_a_question_that_gets_no_slot_in_time_is_told_so() -> None:
    slots = ConcurrencyLimiter(1)
    model = ChatModel("http://localhost:1", "a", slots=slots)
    async with slots.slot(1, AssertionError):
        with pytest.raises(Crowded, match=r"1 questions are under way there, and none ended in 0"):
            await model.answer(question(), 0.01)
    await model.aclose()
