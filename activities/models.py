"""Asking a model on somebody's account: within budgets, and within the time of a turn."""

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field, replace
from datetime import date, timedelta
from functools import partial
from hashlib import sha256
from time import monotonic
from typing import TypeVar
from uuid import uuid4

from temporalio import activity
from temporalio.exceptions import ApplicationError

from activities.attachments import Attachments
from activities.execution import heartbeating
from activities.outages import outlast
from activities.progress import ClauseByClause, Holds, ProgressPublisher, QuestionOutcome
from router.contracts.activities import TOO_LONG, Account
from router.domain.budgets import Budgets, Spent
from router.domain.costs import Purpose
from router.domain.messages import SpokenLine, Usage
from router.domain.progress import ProgressPlace, Thinking
from router.llm.fallback import FallbackChain
from router.llm.request import estimated_prompt_tokens
from router.llm.types import (
    BudgetSpent,
    ChatAnswer,
    ChatRequest,
    ContextTooLong,
    ModelRefused,
    ModelUnavailable,
    NoModelAnswered,
    OnText,
    TextDelta,
    TurnTimeOver,
)
from router.routing.decider import cost
from router.routing.message_files import NO_FILES, MessageFiles
from router.store.spending import Spending

KEPT_BACK = 0.1
"""The share of what is left of a turn that a step keeps for what comes after its questions: the
words for what was found, or the plain answer where no model gave one."""
TRIES = 2
"""Tries of an activity with models, before it is done without one."""
SOONEST = 1.0
"""Seconds until another try, where the server asks for no other wait."""
LONGEST_WAIT = 5.0
"""Seconds; a server that wants to be left alone for longer is done without."""

OnFailure = Callable[[ModelUnavailable], None]
T = TypeVar("T")


@dataclass
class Models:
    """What every question of a worker goes through.

    Without `spending` nothing is counted by the day, without `telling` nobody watches; what is
    answered is passed on while it is written only where it is said `aloud`.
    """

    budgets: Budgets = field(default_factory=Budgets)
    spending: Spending | None = None
    telling: ProgressPublisher | None = None
    aloud: bool = True
    attachments: Attachments | None = None
    thrifty: Callable[[float], FallbackChain | None] = lambda _: None
    """Whom to ask instead where this share of a budget is left; None: whoever is meant to be."""

    @property
    def unheard(self) -> "Models":
        """The same, for answers that aren't for the employee."""
        return replace(self, aloud=False)

    def asking(
        self, chain: FallbackChain | None, account: Account, step: "SkillStep | None" = None
    ) -> "ModelQuestions":
        """The questions of one activity; of a skill's, with the `step` that they are for."""
        return ModelQuestions(self, chain, account, step)


@dataclass(frozen=True)
class SkillStep:
    """Which step of which skill a question is for, as those see it who watch."""

    skill: str
    number: int


@dataclass
class ModelQuestions:
    """Questions of one activity. `usage` is what its answers cost so far."""

    models: Models
    chain: FallbackChain | None
    account: Account
    step: SkillStep | None = None
    usage: Usage = field(default_factory=Usage)

    def __post_init__(self) -> None:
        self._asked = 0
        self._ends = monotonic() + self.account.seconds * (1 - KEPT_BACK) - _since_scheduled()

    async def __call__(
        self, request: ChatRequest, holds: Holds | None = None, of: FallbackChain | None = None
    ) -> ChatAnswer:
        """The first answer that a model gives; or `BudgetSpent`, `TurnTimeOver`, or the chain's.

        Who watches is told no more of its text, clause by clause, than `holds`. Another chain may
        be asked, on the same account.
        """
        chain = of or self.chain
        if chain is None:
            raise NoModelAnswered(())
        chain = await self._thrifty(chain) or chain
        request = self._keyed(request)
        ahead = chain.ahead(estimated_prompt_tokens(request.messages, request.functions))
        self._check_turn(ahead)
        if self._ends <= monotonic():
            raise TurnTimeOver(f"{self.account.seconds:g} s of this turn are over")
        async with self._paying(ahead, Purpose.of(request.prompt, chain.name)) as paid:
            async with heartbeating(), self._watched() as answered, self._told(holds) as on_text:
                answer = await self._answered(chain, request, on_text)
                answered.by(answer)
            paid(answer)
        return answer

    async def is_thrifty(self, of: FallbackChain) -> bool:
        """Whether this chain wouldn't be asked but a cheaper one, for a budget comes to its end."""
        return await self._thrifty(of) is not None

    async def _thrifty(self, chain: FallbackChain) -> FallbackChain | None:
        if self.models.thrifty(0) is None:
            return None
        spent, currency = Spent(), chain.ahead(1).cost
        if self._daily is not None:
            of = currency.currency if currency else ""
            spent = await self._spent_today(of)
        left = self.models.budgets.left(self.account.spent + self.usage, spent)
        return self.models.thrifty(left)

    def _keyed(self, request: ChatRequest) -> ChatRequest:
        """The request with what names all those that begin like it, and nobody in them."""
        tenant = sha256(self.account.caller.tenant.encode()).hexdigest()[:8]
        return request.replace(cache_key=f"{request.prompt}/{tenant}")

    async def _answered(
        self, chain: FallbackChain, request: ChatRequest, on_text: OnText | None
    ) -> ChatAnswer:
        try:
            return (await chain.answer(request, self._ends - monotonic(), on_text)).answer
        except NoModelAnswered as error:
            is_over = self._ends - monotonic() < SOONEST
            if not is_over or any(isinstance(f.error, ModelRefused) for f in error.failures):
                raise
            # Another try of the activity would only find that out, a second later.
            said = f"{self.account.seconds:g} s of this turn are over: {error}"
            raise TurnTimeOver(said) from error

    async def files(self) -> MessageFiles:
        """The files that came with the turn's message; none where no model is to see them."""
        attachments, about = self.models.attachments, self.account
        if attachments is None or self.chain is None or not about.files:
            return NO_FILES
        async with heartbeating():
            return await attachments.shown(about.caller, about.files)

    async def told(self, history: Sequence[SpokenLine]) -> list[SpokenLine]:
        """What was said before, with what was read by now of the files that came with it."""
        attachments = self.models.attachments
        if attachments is None or self.chain is None:
            return [*history]
        return await attachments.told(self.account.caller, history)

    async def take_back(self, instead: str) -> None:
        """Tell those who watch that the answer begins anew, and is this."""
        async with self._told() as on_text:
            if on_text is not None:
                await on_text(TextDelta(attempt=1, text=instead))

    async def affords(self, calls: int, tokens: int = 1) -> bool:
        """True where no budget stands against so many questions, of so many tokens each."""
        each = self.chain.ahead(tokens) if self.chain else Usage(llm_calls=1, prompt_tokens=tokens)
        before = sum([each] * (calls - 1), start=Usage())
        try:
            self._check_turn(each, before)
            if self._daily is not None:
                currency = each.cost.currency if each.cost else ""
                spent = await self._spent_today(currency)
                self._check_day(spent.with_ahead(before), each)
        except BudgetSpent:
            return False
        return True

    def _check_turn(self, ahead: Usage, before: Usage | None = None) -> None:
        spent = self.account.spent + self.usage + (before or Usage())
        if why := self.models.budgets.turn.why_spent(spent, ahead):
            raise BudgetSpent("turn", why)

    def _check_day(self, spent: Spent, ahead: Usage) -> None:
        if why := self.models.budgets.why_spent(spent, ahead):
            raise BudgetSpent(*why)

    @property
    def _daily(self) -> Spending | None:
        return self.models.spending if self.models.budgets.by_the_day else None

    @asynccontextmanager
    async def _paying(
        self, ahead: Usage, purpose: Purpose
    ) -> AsyncIterator[Callable[[ChatAnswer], None]]:
        """What is within is one question; it gives the answer, which says what that cost.

        Its call, estimated tokens and their cost are counted before it is asked, so that many at
        once spend no more than there is; what it cost less is given back.
        """
        taken = Usage()
        if self._daily is not None:
            await self._take(ahead, purpose)
            taken = ahead
        owed = [(purpose, Usage() - taken)]

        def paid(answer: ChatAnswer) -> None:
            self.usage += cost(answer)
            by = purpose._replace(model=answer.asked or purpose.model)
            owed.append((by, cost(answer)))

        try:
            yield paid
        finally:
            changes = [(of, usage) for of, usage in owed if usage != Usage()]
            if self.models.spending is not None and changes:
                settle = partial(self.models.spending.settle, *self._payer, changes)
                await outlast(settle)

    async def _spent_today(self, currency: str) -> Spent:
        daily = self._daily
        assert daily is not None  # noqa: S101 - its callers have looked
        return await self._outlast(lambda: daily.of_day(*self._payer, currency))

    async def _take(self, ahead: Usage, purpose: Purpose) -> None:
        daily = self._daily
        assert daily is not None  # noqa: S101 - its caller has looked

        def check(spent: Spent) -> None:
            self._check_day(spent, ahead)

        await self._outlast(lambda: daily.take(*self._payer, ahead, check, purpose))

    async def _outlast(self, work: Callable[[], Awaitable[T]]) -> T:
        """Do it however long the database is away; what that takes isn't of the turn's time."""
        began = monotonic()
        try:
            return await outlast(work, reserve_s=self.account.seconds)
        finally:
            self._ends += monotonic() - began

    @property
    def _payer(self) -> tuple[str, str, date]:
        caller = self.account.caller
        return caller.tenant, caller.id, self.account.now.date()

    @asynccontextmanager
    async def _watched(self) -> AsyncIterator[QuestionOutcome]:
        self._asked += 1
        telling, about = self.models.telling, self.account
        if telling is None or not about.conversation:
            yield QuestionOutcome()
        else:
            async with telling.thinking(about.caller.tenant, self._thinking()) as answered:
                yield answered

    @asynccontextmanager
    async def _told(self, holds: Holds | None = None) -> AsyncIterator[OnText | None]:
        telling, about = self.models.telling, self.account
        if telling is None or not about.conversation or not self.models.aloud:
            yield None
        else:
            place = about.caller.tenant, about.conversation, about.message_id
            async with telling.of(*place) as tell:
                if holds is None:
                    yield tell
                else:
                    clauses = ClauseByClause(tell, holds)
                    yield clauses.add
                    await clauses.end()

    def _thinking(self) -> Thinking:
        """This question among all others: the same id only where the same try asks it again."""
        step, attempt, task, within = self.step, 1, "", uuid4().hex
        if activity.in_activity():
            info = activity.info()
            attempt, task = info.attempt, info.activity_type
            within = f"{info.workflow_run_id}:{info.activity_id}:{attempt}"
        return Thinking(
            place=ProgressPlace(self.account.conversation, self.account.message_id),
            question=f"{within}:{self._asked}",
            task=task,
            skill=step.skill if step else None,
            step=step.number if step else self._asked,
            attempt=attempt,
        )


@contextmanager
def giving_up() -> Iterator[None]:
    """Where no model answers, raise `ApplicationError`: tried again, where that may help."""
    try:
        yield
    except ModelUnavailable as error:
        again_soon(error)
        raise given_up(error) from error
    except ModelRefused as error:
        raise given_up(error) from error


def again_soon(error: ModelUnavailable) -> None:
    """Have Temporal try again, after the wait that the server asks for, where that may help."""
    wait = error.retry_after if error.retry_after is not None else SOONEST
    hopeless = isinstance(error, TurnTimeOver) or (
        isinstance(error, NoModelAnswered) and not error.worth_retrying
    )
    is_last = not activity.in_activity() or activity.info().attempt >= TRIES
    if hopeless or wait > LONGEST_WAIT or is_last:
        return
    raise ApplicationError(
        str(error), type=type(error).__name__, next_retry_delay=timedelta(seconds=wait)
    ) from error


def is_too_long(error: Exception) -> bool:
    """Whether a model was given more than it can read: less may be answered."""
    failures = [f.error for f in error.failures] if isinstance(error, NoModelAnswered) else [error]
    return any(isinstance(one, ContextTooLong) for one in failures)


def given_up(error: ModelUnavailable | ModelRefused | BudgetSpent) -> ApplicationError:
    """The failure of an activity that isn't tried again: a `TOO_LONG` one where that is why."""
    type_ = TOO_LONG if is_too_long(error) else type(error).__name__
    return ApplicationError(str(error), type=type_, non_retryable=True)


def _since_scheduled() -> float:
    """Seconds that went by in earlier tries of this activity, and in its queue."""
    if not activity.in_activity():
        return 0.0
    info = activity.info()
    return max(0.0, (info.started_time - info.scheduled_time).total_seconds())
