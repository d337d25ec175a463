"""Deciding with a model, by nearness, and without."""

from dataclasses import replace
from datetime import UTC, datetime

from router.domain.commands import CallTool, Clarify, Misunderstood, ReplyText, StartFlow
from router.domain.locale import LOCALES, Localised
from router.domain.messages import Option, SpokenLine
from router.flow.paused import PausedRun, Situation, which
from router.flow.view import FormView
from router.llm.types import ChatAnswer, ChatRequest
from router.retrieval.selection import RetrievedCandidate, SearchVerdict, Selection, Signs
from router.routing.decider import (
    DecisionPolicy,
    ModelDecision,
    RoutingQuestion,
    decide_with_model,
    decide_without_model,
    fixed_questions,
    listed,
    route_of,
)
from router.routing.offer import FIXED, MOST_OPTIONS, Offer
from tests.table import each_row
from tests.unit.retrieval.capabilities import capability
from tests.unit.routing.samples import ACTIVE, FLOWS, PROMPTS, called, offer

NOW = datetime(2026, 11, 22, 10, 0, tzinfo=UTC)
LISTED = [flow.capability for flow in FLOWS.values()]
PROMPT = PROMPTS.of("router", "c1", "zh", "default")
SENSELESS = called(("nothing", {}))
FINE = called(("get_balance", {"kind": "annual"}))


def situation(active: FormView | None = None) -> Situation:
    return Situation(now=NOW, locale="en", roles=frozenset({"employee"})).showing(active)


class Model:
    """Answers one after the other, and keeps what it was asked."""

    def __init__(self, *answers: ChatAnswer) -> None:
        self.answers = list(answers)
        self.asked: list[ChatRequest] = []

    async def ask(self, request: ChatRequest) -> ChatAnswer:
        self.asked.append(request)
        return self.answers.pop(0)


async def widen(_: str) -> Offer:
    return offer()


async def decided(model: Model, text: str = "我的年假", **more: object) -> ModelDecision | None:
    offered = offer(**more)  # type: ignore[arg-type]
    here = situation(offered.active).model_copy(update={"paused": ["claim"]})
    history = [SpokenLine(role="user", text="before")]
    asked = RoutingQuestion(PROMPT, text, offered, offered, history, here)
    return await decide_with_model(asked, model.ask, widen)


async def test_a_sound_answer_costs_one_call_which_carries_its_prompts_fingerprint() -> None:
    model = Model(FINE)
    decision = await decided(model)
    assert decision is not None
    assert [type(c) for c in decision.commands] == [CallTool]
    assert [request.prompt for request in model.asked] == [PROMPT.fingerprint]
    assert PROMPT.fingerprint.startswith("router-1@")


async def test_an_answer_that_makes_no_sense_goes_back_once_with_what_is_wrong() -> None:
    model = Model(SENSELESS, FINE)
    decision = await decided(model)
    assert decision is not None
    assert decision.commands
    assert "nothing: there is no such function" in model.asked[1].messages[-1].text


async def test_two_answers_that_make_no_sense_decide_nothing() -> None:
    assert await decided(Model(SENSELESS, SENSELESS)) is None


async def test_searching_asks_again_over_what_was_found_and_searches_no_more() -> None:
    model = Model(called(("find_capabilities", {"query": "leave"})), FINE)
    assert await decided(model)
    assert "find_capabilities" not in [f.name for f in model.asked[1].functions]


async def test_the_rules_are_the_same_bytes_whatever_is_asked() -> None:
    one, other = Model(FINE), Model(FINE)
    await decided(one, "甲")
    await decided(other, "乙", active=ACTIVE)
    assert one.asked[0].messages[0] == other.asked[0].messages[0]


@each_row("everything", [False, True])
async def test_what_servers_read_ahead_is_what_questions_begin_with(everything: bool) -> None:
    model, fixed = Model(FINE), offer() if everything else Offer()
    await decided(model)
    ahead = fixed_questions(PROMPTS, fixed)[LOCALES.index("zh")]
    (asked,) = model.asked
    assert ahead.messages[0] == asked.messages[0]
    assert asked.functions[: len(ahead.functions)] == ahead.functions
    assert len(ahead.functions) == (len(asked.functions) if everything else len(FIXED))
    assert (ahead.max_tokens, ahead.must_call) == (1, asked.must_call)


async def test_the_model_sees_what_is_asked_what_is_known_and_what_waits() -> None:
    model = Model(FINE)
    await decided(model, active=ACTIVE)
    state = model.asked[0].messages[-1].text.split("<message>")[0]
    assert f"Active flow: {ACTIVE.flow}, asking for {ACTIVE.awaiting[0]}" in state
    assert all(f"{name}={value}" in state for name, value in ACTIVE.slots.items())
    assert "Paused, to be taken up after it: claim." in state


@each_row("text", ["</message>", "</MESSAGE>", "a </message > b", "<message>"])
async def test_a_message_can_not_end_its_own_section(text: str) -> None:
    model = Model(FINE)
    await decided(model, text)
    assert model.asked[0].messages[-1].text.count("</") == 1


def test_a_command_is_shown_as_a_route_of_the_models() -> None:
    route = route_of(StartFlow(flow="leave"), None, "m chose it")
    assert (route.kind, route.target, route.by) == ("flow", "leave", "llm")
    assert route_of(ReplyText(text="hi"), None, "").kind == "reply"


USABLE = [capability(f"tool_{number:02}", "词 " * 20, "word " * 20) for number in range(20)]
NEAR = tuple(RetrievedCandidate(USABLE[n], 0.5, f"{n}?") for n in (7, 3, 5))
FOUND = Selection(NEAR, verdict="several", signs=Signs(1.0, 1.0, 0.1))
NAMES = [one.name for one in USABLE]


def test_the_nearest_are_told_with_what_was_once_said_that_is_nearest() -> None:
    told = listed([FOUND], USABLE, DecisionPolicy(offer=2))
    assert list(told.items()) == [("tool_07", "7?"), ("tool_03", "3?")]


def test_each_clause_of_several_has_its_nearest_told() -> None:
    other = replace(FOUND, candidates=(RetrievedCandidate(USABLE[9], 0.4, "9?"), *NEAR))
    told = listed([FOUND, other], USABLE, DecisionPolicy(offer=3))
    assert list(told.items()) == [("tool_07", "7?"), ("tool_09", "9?"), ("tool_03", "3?")]


def test_everything_reads_the_same_whatever_was_said() -> None:
    told = listed([FOUND], USABLE, DecisionPolicy.of("everything", None, 3))
    assert list(told.items()) == [(name, "") for name in NAMES]


def test_of_everything_the_farthest_are_left_out_where_it_is_too_much() -> None:
    told = listed([FOUND], USABLE, DecisionPolicy.of("everything", 250, 3))
    assert {"tool_03", "tool_05", "tool_07"} <= set(told) < set(NAMES)
    assert list(told) == sorted(told)


RANKED = [*(capability(f"tool_{n}", "工具") for n in range(8)), capability("leave", kind="flow")]


def offered(verdict: SearchVerdict, by: str, situation: Situation) -> list[Option]:
    route, (command,) = decide_without_model(situation, RANKED, verdict)
    assert (route.kind, route.by) == ("clarify", by)
    assert isinstance(command, Clarify)
    return command.options


def test_what_is_near_comes_first_and_flows_are_always_there() -> None:
    options = offered("clear", "retrieval", situation())
    assert [option.value for option in options] == ["tool_0", "tool_1", "tool_2", "leave"]


def test_where_nothing_is_near_there_is_a_list_that_is_read_at_a_glance() -> None:
    assert len(offered("none", "fallback", situation())) == MOST_OPTIONS


def test_a_flow_that_asks_gets_what_was_said_as_not_understood() -> None:
    route, commands = decide_without_model(situation(ACTIVE), RANKED, "clear")
    assert (route.target, commands) == ("leave", [Misunderstood()])


def test_asked_which_open_flow_to_go_on_with_those_can_still_be_chosen() -> None:
    leave = PausedRun(run="r1", flow="leave", title=Localised(zh="请假", en="Leave"))
    asked = which([leave, leave.model_copy(update={"run": "r2"})], "en").options
    waiting = situation().model_copy(update={"offered": [*asked, Option(label="x", value="x")]})
    usual = offered("none", "fallback", situation())
    assert offered("none", "fallback", waiting) == [*asked, *usual]


def test_where_nothing_may_be_used_it_says_so() -> None:
    route, (command,) = decide_without_model(situation(), [])
    assert route.kind == "handoff"
    assert isinstance(command, ReplyText)
