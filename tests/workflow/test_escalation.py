"""A cheap model decides first; where it is unsure a stronger one does, before people have to."""

from collections.abc import AsyncIterator

import pytest
from prometheus_client import REGISTRY
from temporalio.client import Client

from router.runtime.composition import Parts
from tests.fakes.model_server import Behaviour, ModelServer, calls, fails, says
from tests.workflow.desk import Talk, flow_of, texts
from tests.workflow.tooled import modelled

FAR = calls(("calculate", {"expression": "1 + 1"}))
"""Far behind what is near."""
SICK = {"leave_type": "sick", "reason": "牙疼"}
RIGHT = calls(("dispatch_to_flow", {"flow_name": "leave_request", "slots": SICK}))
ASKS = calls(("ask_clarification", {"text": "是要请假吗？", "options": ["请假", "报销"]}))
GIVES_UP = calls(("hand_off", {"reason": "不会"}))
WISH = "牙疼得厉害，三月头两天来不了"


@pytest.fixture
async def talk(real_client: Client, parts: Parts, model: ModelServer) -> AsyncIterator[Talk]:
    async with modelled(real_client, parts, model, llm_escalate="strong") as talk:
        yield talk


def counted(why: str, outcome: str) -> float:
    labels = {"why": why, "outcome": outcome}
    return REGISTRY.get_sample_value("router_escalations_total", labels) or 0.0


def asked(talk: Talk) -> list[str]:
    return [chat["model"] for chat in talk.model.chats]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("unsure", "why"),
    [
        ([FAR], "doubted"),
        ([ASKS], "asks"),
        ([GIVES_UP], "gives_up"),
        ([says(""), says("")], "unusable"),
    ],
)
async def test_where_the_first_is_unsure_a_stronger_one_decides(
    talk: Talk, unsure: list[Behaviour], why: str
) -> None:
    before = counted(why, "sure")
    talk.model.then(*unsure, RIGHT)
    turn = await talk.say(WISH)
    assert flow_of(turn).name == "leave_request"
    assert asked(talk) == ["scripted"] * len(unsure) + ["strong"]
    assert turn.usage.llm_calls == len(unsure) + 1
    assert counted(why, "sure") == before + 1


async def test_where_the_first_is_sure_nobody_else_is_asked(talk: Talk) -> None:
    talk.model.then(RIGHT)
    assert flow_of(await talk.say(WISH)).name == "leave_request"
    assert asked(talk) == ["scripted"]


async def test_where_both_are_unsure_the_person_is_asked(talk: Talk) -> None:
    before = counted("doubted", "unsure")
    talk.model.then(FAR, ASKS)
    turn = await talk.say(WISH)
    assert turn.route.kind == "clarify"
    assert asked(talk) == ["scripted", "strong"]
    assert counted("doubted", "unsure") == before + 1


async def test_where_the_stronger_one_is_away_the_first_ones_doubt_is_put_to_the_person(
    talk: Talk,
) -> None:
    before = counted("asks", "failed")
    talk.model.then(ASKS, fails(400), fails(400))
    turn = await talk.say(WISH)
    assert turn.route.kind == "clarify"
    assert "是要请假吗？" in "".join(texts(turn))
    assert counted("asks", "failed") == before + 1
