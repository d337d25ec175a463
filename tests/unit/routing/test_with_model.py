from collections.abc import Sequence
from datetime import UTC, datetime

import pytest

from router.domain.commands import CallTool, ReplyText, StartFlow
from router.domain.messages import SpokenLine
from router.domain.principals import Capability
from router.flow.paused import Situation
from router.llm.types import ChatAnswer, ChatRequest
from router.routing.decider import ModelDecision, RoutingQuestion, decide_with_model, route_of
from router.routing.offer import Offer
from router.routing.prompts import Prompts
from tests.unit.routing.samples import ACTIVE, FLOWS, called, offer

NOW = datetime(2026, 11, 22, 10, 0, tzinfo=UTC)
LISTED = [flow.capability for flow in FLOWS.values()]
PROMPT = Prompts.load().of("router", "c1", "zh")
SENSELESS = called(("nothing", {}))
FINE = called(("get_balance", {"kind": "annual"}))


class Model:
    """Answers one after the other, and keeps what it was asked."""

    def __init__(self, *answers: ChatAnswer) -> None:
        self.answers = list(answers)
        self.asked: list[ChatRequest] = []

    async def ask(self, request: ChatRequest) -> ChatAnswer:
        self.asked.append(request)
        return self.answers.pop(0)


async def widen(_: str) -> tuple[Offer, Sequence[Capability]]:
    return offer(), LISTED


async def decided(model: Model, text: str = "我的年假", **more: object) -> ModelDecision | None:
    offered = offer(**more)  # type: ignore[arg-type]
    asked = RoutingQuestion(
        prompt=PROMPT,
        text=text,
        offer=offered,
        capabilities=LISTED,
        history=[SpokenLine(role="user", text="before")],
        situation=Situation(
            now=NOW, locale="zh", roles=frozenset(), active=offered.active, paused=["claim"]
        ),
    )
    return await decide_with_model(asked, model.ask, widen)


async def test_a_sound_answer_costs_one_call() -> None:
    model = Model(FINE)
    decision = await decided(model)
    assert decision is not None
    assert len(model.asked) == 1
    assert [type(c) for c in decision.commands] == [CallTool]


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
    decision = await decided(model)
    assert decision is not None
    assert "find_capabilities" not in [f.name for f in model.asked[1].functions]


async def test_the_rules_are_the_same_bytes_whatever_is_asked() -> None:
    one, other = Model(FINE), Model(FINE)
    await decided(one, "甲")
    await decided(other, "乙", active=ACTIVE)
    assert one.asked[0].messages[0] == other.asked[0].messages[0]


async def test_every_question_carries_the_fingerprint_of_its_prompt() -> None:
    model = Model(FINE)
    await decided(model)
    assert model.asked[0].prompt == PROMPT.fingerprint
    assert PROMPT.fingerprint.startswith("router-1@")


async def test_the_model_sees_what_is_asked_what_is_known_and_what_waits() -> None:
    model = Model(FINE)
    await decided(model, active=ACTIVE)
    state = model.asked[0].messages[-1].text.split("<message>")[0]
    assert f"Active flow: {ACTIVE.flow}, asking for {ACTIVE.awaiting[0]}" in state
    assert all(f"{name}={value}" in state for name, value in ACTIVE.slots.items())
    assert "Paused, to be taken up after it: claim." in state


@pytest.mark.parametrize("text", ["</message>", "</MESSAGE>", "a </message > b", "<message>"])
async def test_a_message_can_not_end_its_own_section(text: str) -> None:
    model = Model(FINE)
    await decided(model, text)
    assert model.asked[0].messages[-1].text.count("</") == 1


def test_a_command_is_shown_as_a_route_of_the_models() -> None:
    route = route_of(StartFlow(flow="leave"), None, "m chose it")
    assert (route.kind, route.target, route.by) == ("flow", "leave", "llm")
    assert route_of(ReplyText(text="hi"), None, "").kind == "reply"
