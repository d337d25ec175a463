"""How hooks are declared, and what of their answers is heard."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any

import pytest
from pydantic import ValidationError

from router.contracts.hook_calls import HookAnswer
from router.domain.errors import BrokenHook, DefinitionError, NotFound
from router.domain.hooks import (
    LONGEST_CONTEXT,
    LONGEST_WORDS,
    MOST_HIDDEN,
    Advice,
    DecisionEvent,
    HookPoint,
    ToolEvent,
    TurnEvent,
    Veto,
)
from router.domain.locale import Localised
from router.domain.principals import EVERYTHING, Principal
from router.tool.context import Dependencies, Depends, Provider, ToolContext
from router.tool.hook import Hook, Hooks, hook
from router.tool.tool import tool
from tests.table import each_row

NO = Localised(zh="不行", en="no")
ALICE = Principal(id="alice", name="Alice")
EVENT = DecisionEvent(
    caller=ALICE, locale="en", now=datetime(2026, 11, 20, 9, tzinfo=UTC), message_id="m", text="hi"
)
clock: Provider[str] = Provider("clock")


@hook("before_decision", timeout="500ms", required=True, phrases=["pay", "工资"])
async def refuse_pay(
    event: DecisionEvent, time: Annotated[str, Depends(clock)]
) -> Veto | Advice | None:
    """Refuses what is about pay."""
    return Veto(say=Localised(zh=time, en=f"{event.text} {time}"))


async def test_one_is_declared_by_its_options_and_given_what_it_depends_on() -> None:
    assert (refuse_pay.name, refuse_pay.point, refuse_pay.required) == (
        "refuse_pay",
        "before_decision",
        True,
    )
    assert refuse_pay.timeout == timedelta(milliseconds=500)
    assert refuse_pay.providers == {clock}
    dependencies = Dependencies()
    dependencies.provide(clock, "noon")
    assert await refuse_pay.call(EVENT, dependencies) == Veto(
        say=Localised(zh="noon", en="hi noon")
    )


@each_row(
    ("text", "hears"), [("my PAY", True), ("发工资了吗", True), ("hello", False), ("", False)]
)
def test_phrases_say_which_messages_it_hears_of(text: str, hears: bool) -> None:
    assert refuse_pay.is_about_words(text) is hears


async def says(event: DecisionEvent) -> Veto | None:
    """Says no."""
    return Veto(say=NO)


async def speechless(event: DecisionEvent) -> Veto | None:
    return None


async def unsaid(event: DecisionEvent):  # type: ignore[no-untyped-def]
    """Doesn't say what it answers."""


async def another(event: TurnEvent) -> None:
    """Takes another point's event."""


async def nothing() -> None:
    """Takes nothing."""


async def twice(event: DecisionEvent, again: DecisionEvent) -> None:
    """Takes its event twice."""


async def contextual(event: DecisionEvent, ctx: ToolContext) -> None:
    """Takes a tool's context."""


async def greedy(event: DecisionEvent, secret: str) -> None:
    """Takes what nobody gives it."""


async def starred(*events: DecisionEvent) -> None:
    """Takes any number."""


async def bare(event) -> None:  # type: ignore[no-untyped-def]
    """Takes what isn't said."""


async def permissive(event: DecisionEvent) -> bool:
    """Answers with a yes."""
    return True


async def advising(event: ToolEvent) -> Advice | None:
    """Advises on a call."""
    return None


def yielding(event: DecisionEvent) -> Iterator[None]:
    """Yields its answer."""
    yield None


async def Loud(event: DecisionEvent) -> None:  # noqa: N802
    """Has a name that is none."""


@each_row(
    ("point", "function", "options", "told"),
    [
        ("before_lunch", says, {}, "stands at 'before_lunch'"),
        ("before_decisions", says, {}, "did you mean before_decision"),
        ("before_decision", speechless, {}, "has no docstring"),
        ("before_decision", unsaid, {}, "doesn't say what it answers"),
        ("before_decision", another, {}, "write `event: DecisionEvent`"),
        ("before_decision", nothing, {}, "give it a parameter of type DecisionEvent"),
        ("before_decision", twice, {}, "takes its event twice"),
        ("before_decision", contextual, {}, "takes a ToolContext"),
        ("before_decision", greedy, {}, "has a parameter 'secret' that nobody gives it"),
        ("before_decision", starred, {}, "can't be given by name"),
        ("before_decision", bare, {}, "without an annotation"),
        ("before_decision", permissive, {}, "write -> Veto | Advice | None"),
        ("before_tool", advising, {}, "write -> Veto | None"),
        ("after_turn", says, {}, "write -> None"),
        ("before_decision", yielding, {}, "yields; return the whole result"),
        ("before_decision", Loud, {}, "can't be an activity's"),
        ("before_decision", says, {"timeout": "soon"}, "has the timeout 'soon'"),
        ("before_decision", says, {"timeout": "0s"}, "has the timeout '0s'"),
        ("before_decision", says, {"timeout": "31s"}, "at most 30 seconds"),
        ("after_turn", another, {"required": True}, "where nothing can be stopped"),
        ("before_decision", says, {"tools": ["a"]}, "names tools at before_decision"),
        ("after_turn", another, {"phrases": ["a"]}, "has phrases at after_turn"),
        ("before_decision", says, {"phrases": "pay"}, "phrases=[…]"),
        ("before_decision", says, {"phrases": [" "]}, "write a list of texts"),
        ("before_decision", says, {"phrases": ["("]}, "isn't RE2"),
        ("before_decision", says, {"phrases": ["(?=a)b"]}, "looks around"),
        ("before_tool", advising, {"tools": [7]}, "write a list of texts"),
    ],
)
def test_what_cannot_be_one_says_why_and_what_would_be_right(
    point: Any, function: Any, options: dict[str, Any], told: str
) -> None:
    with pytest.raises(DefinitionError) as refused:
        hook(point, **options)(function)
    assert told in str(refused.value)
    assert f"the hook {function.__name__} " in str(refused.value)
    assert "test_hook.py:" in str(refused.value)


def made_anyhow(kind: Any, **fields: Any) -> Any:
    """An answer that nobody has validated."""
    return kind.model_construct(**fields)


def answering(point: HookPoint, answer: Any) -> Hook:
    async def answers(event: DecisionEvent) -> None:
        """Answers anything."""
        return answer  # type: ignore[no-any-return]

    made = hook("before_decision")(answers)
    object.__setattr__(made, "point", point)
    return made


@each_row(
    ("point", "answer"),
    [
        ("before_decision", True),
        ("before_decision", "go ahead"),
        ("before_decision", {"refuse": None}),
        ("before_decision", [Veto(say=NO)]),
        ("before_decision", HookAnswer()),
        ("before_tool", Advice(context="obey")),
        ("before_verdict", Advice(hide=frozenset({"*"}))),
        ("after_turn", Veto(say=NO)),
        ("after_tool", {"result": "another"}),
        ("on_approval", "approve"),
        ("on_error", Advice()),
        ("before_decision", made_anyhow(Veto, say=None)),
        ("before_decision", made_anyhow(Advice, say=None, context=7, hide=frozenset())),
        ("before_decision", made_anyhow(Advice, say=None, context="", hide=[["a"]])),
    ],
)
async def test_an_answer_that_is_none_of_its_points_is_not_heard(
    point: HookPoint, answer: Any
) -> None:
    with pytest.raises(BrokenHook):
        await answering(point, answer).call(EVENT, Dependencies())


@each_row("point", ["after_turn", "before_tool", "before_decision", "on_error"])
async def test_nothing_is_an_answer_everywhere(point: HookPoint) -> None:
    assert await answering(point, None).call(EVENT, Dependencies()) is None


LONG = "x" * (LONGEST_WORDS + 1)


@each_row(
    ("kind", "given", "told"),
    [
        (Veto, {}, "Field required"),
        (Veto, {"say": {"zh": "不"}}, "Field required"),
        (Veto, {"say": {"zh": "不", "en": " "}}, "en has no words"),
        (Veto, {"say": {"zh": LONG, "en": "no"}}, "zh has over 1000 characters"),
        (Veto, {"say": {"zh": "不", "en": "no\u202e"}}, "nobody sees"),
        (Veto, {"say": {"zh": "不", "en": "no"}, "confirmed": True}, "Extra inputs"),
        (Advice, {"context": "x" * (LONGEST_CONTEXT + 1)}, "at most 2000"),
        (Advice, {"hide": [""]}, "at least 1"),
        (Advice, {"hide": ["x" * 101]}, "at most 100"),
        (Advice, {"hide": [str(n) for n in range(MOST_HIDDEN + 1)]}, "at most 50"),
        (Advice, {"call": "order_lunch"}, "Extra inputs"),
    ],
)
def test_an_answer_is_bounded_and_says_what_is_wrong(
    kind: Any, given: dict[str, Any], told: str
) -> None:
    with pytest.raises(ValidationError, match=told):
        kind(**given)


def test_several_answers_add_up_and_the_first_that_refuses_is_told() -> None:
    other = Localised(zh="也不行", en="nor so")
    whole = HookAnswer.of(
        [
            HookAnswer(say=(NO,), context="one", hide=frozenset({"a"})),
            HookAnswer(refused=NO, refused_by="b"),
            HookAnswer(refused=other, refused_by="c", context="x" * 3000, hide=frozenset({"d*"})),
        ]
    )
    assert (whole.refused, whole.refused_by) == (NO, "b")
    assert whole.say == (NO,)
    assert whole.hide == {"a", "d*"}
    assert whole.context.startswith("one\n\nxxx")
    assert len(whole.context) == LONGEST_CONTEXT


def test_what_is_hidden_narrows_and_never_widens() -> None:
    tenant = EVERYTHING.without(["leave_*"])
    narrowed = tenant.without(["order_lunch"])
    assert not narrowed.covers("flow", "leave_request")
    assert not narrowed.covers("tool", "order_lunch")
    assert narrowed.covers("tool", "get_menu")


def test_two_of_one_name_are_refused_and_those_before_stay() -> None:
    hooks = Hooks()
    hooks.swap([], [refuse_pay])

    @hook("before_decision")
    async def refuse_pay_too(event: DecisionEvent) -> None:
        """Another."""

    object.__setattr__(refuse_pay_too, "name", "refuse_pay")
    with pytest.raises(DefinitionError, match="has a name that is taken"):
        hooks.swap([], [refuse_pay_too])
    assert [*hooks] == [refuse_pay]
    with pytest.raises(NotFound, match="did you mean refuse_pay"):
        hooks["refuse_pays"]


def test_tools_that_are_not_there_are_named_unless_they_may_yet_come() -> None:
    @hook("before_tool", tools=["get_menu", "get_menus", "crm__find"])
    async def guard(event: ToolEvent) -> None:
        """Guards."""

    @tool(permission="read")
    async def get_menu() -> str:
        """What there is."""
        return ""

    hooks = Hooks()
    hooks.swap([], [guard])
    (wrong,) = hooks.misfits([get_menu.name], ("crm__",))
    assert "the hook guard is about get_menus" in wrong
    assert "did you mean get_menu?" in wrong
    assert [each.name for each in hooks.around("get_menu")] == ["guard"]
    assert hooks.around("get_sky") == []


def test_a_setting_that_one_needs_and_that_is_not_there_is_named() -> None:
    hooks = Hooks()
    hooks.swap([], [refuse_pay])
    (wrong,) = hooks.misfits([], lacking={clock: "ROUTER_CLOCK_URL"})
    assert wrong.startswith("the hook refuse_pay fails whenever it is called: ROUTER_CLOCK_URL")
