"""What ends processes: it costs itself, never whoever else is served."""

from contextlib import AbstractAsyncContextManager, nullcontext
from uuid import uuid4

import psutil
import pytest
from httpx import AsyncClient
from temporalio.client import Client

from router.domain.errors import SetAside
from router.runtime.composition import Parts
from router.runtime.worker import build_worker
from router.telemetry.crashes import ActivityRegister, ActivityWork
from router.tool.tool import tool
from tests.fakes.model_server import ModelServer, calls
from tests.table import each_row
from tests.workflow.desk import Talk, person, words
from tests.workflow.tooled import furnished, skill

UNFOLDS = "\ufdfa" * 8


def engines() -> set[int]:
    """The processes below this one that encode."""
    below = psutil.Process().children(recursive=True)
    return {each.pid for each in below if "router.retrieval.encoder_process" in each.cmdline()}


async def test_a_message_that_unfolds_is_answered_and_ends_no_process(api: AsyncClient) -> None:
    conversation = (await api.post("/v1/conversations")).json()["id"]
    messages = f"/v1/conversations/{conversation}/messages"
    await api.post(messages, json={"text": "天气如何"})
    before = engines()
    turn = (await api.post(messages, json={"text": UNFOLDS})).json()
    assert turn["status"] == "done"
    assert (await api.post("/v1/route", json={"text": UNFOLDS})).status_code == 200
    assert engines() == before != set()


class Refusing(ActivityRegister):
    """Has set aside whatever is called so; `refused` is how often it was to be run."""

    def __init__(self, activity: str) -> None:
        self.activity = activity
        self.refused = 0

    def trying(self, work: ActivityWork) -> AbstractAsyncContextManager[None]:
        if work.activity != self.activity:
            return nullcontext()
        self.refused += 1
        raise SetAside("processes died of it")


@tool(permission="read", title={"zh": "看账", "en": "Look"})
async def look() -> str:
    """Look at the books."""
    return "closed"


@pytest.mark.slow
@each_row("deadly", ["understand", "decide", "think", "look"])
async def test_whatever_is_set_aside_ends_its_turn_and_is_not_begun_in_another_way(
    real_client: Client, parts: Parts, deadly: str
) -> None:
    clerk = skill("clerk", "查账", "Looks at the books", allowed_tools=["look"])
    queue, register = uuid4().hex, Refusing(deadly)
    async with (
        ModelServer() as model,
        furnished(parts, [look], [model.url], [clerk]) as house,
        build_worker(real_client, house, queue, register=register),
    ):
        alice = await person(house, "alice")
        talk = await Talk(real_client, house, alice, queue=queue, models=[model]).open()
        dispatch = calls(("dispatch_to_skill", {"skill_name": "clerk", "request": "the books"}))
        turn = await talk.scripted("账怎么样了？", dispatch, calls(("look", {})))
    assert (turn.status, turn.route.reason) == ("failed", "这一轮被搁置了")
    assert "接连意外退出" in words(turn)
    assert register.refused == 1
