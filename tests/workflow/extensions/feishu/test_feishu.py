"""The desk on Feishu, with everything behind it real."""

from collections.abc import AsyncIterator
from dataclasses import replace

import pytest
from httpx import AsyncClient
from temporalio.client import Client

from router.directory.file import FileDirectory
from router.runtime.composition import Parts
from tests.fakes.feishu import Feishu, buttons
from tests.workflow.desk import QUEUE
from tests.workflow.test_streaming import served

REQUEST = "我要请年假，2027-06-08 到 2027-06-09，家里有事"


@pytest.fixture
async def feishu() -> AsyncIterator[Feishu]:
    async with Feishu() as feishu:
        yield feishu


@pytest.fixture
async def router(feishu: Feishu, parts: Parts, real_client: Client) -> AsyncIterator[AsyncClient]:
    everyone = parts.directory.everyone()
    accounts = {("feishu", f"ou_{person.id}"): person for person in everyone}
    settings = parts.settings.having(feishu.settings)
    there = replace(parts, settings=settings, directory=FileDirectory(everyone, accounts))
    async with served(there, real_client, QUEUE) as api:
        yield api


@pytest.mark.slow
async def test_leave_is_requested_and_approved_by_card(feishu: Feishu, router: AsyncClient) -> None:
    asking = feishu.message("ou_frank", "I want annual leave 2027-06-08 to 2027-06-09, family")
    for _ in range(2):
        assert (await feishu.deliver(router, asking)).status_code == 200
    card = await feishu.posted("Confirm")
    await feishu.deliver(router, feishu.press("ou_frank", card, "Confirm"))
    wanted = await feishu.posted("，6月8日")
    assert wanted["receive_id"] == "ou_bob"
    wordless = await feishu.deliver(router, feishu.press("ou_bob", wanted, "退回修改"))
    decided = await feishu.deliver(router, feishu.press("ou_bob", wanted, "同意"))
    again = await feishu.deliver(router, feishu.press("ou_bob", wanted, "退回修改", "why?"))
    assert "还没有退回" in wordless.json()["toast"]["content"]
    assert "已同意" in decided.json()["toast"]["content"]
    assert buttons({"content": decided.json()["card"]["data"]}) == []
    assert "已经处理过了" in again.json()["toast"]["content"]
    assert len([post for post in feishu.posts if buttons(post)]) == 2


@pytest.mark.slow
async def test_a_card_is_the_approver_s_alone(feishu: Feishu, router: AsyncClient) -> None:
    await feishu.deliver(router, feishu.message("ou_alice", REQUEST))
    card = await feishu.posted("确认")
    await feishu.deliver(router, feishu.press("ou_alice", card, "确认"))
    wanted = await feishu.posted("请审批")
    answer = await feishu.deliver(router, feishu.press("ou_alice", wanted, "同意"))
    assert "这张卡片不是给您的" in answer.json()["toast"]["content"]
    assert "card" not in answer.json()


async def test_a_thread_is_answered_in_it(feishu: Feishu, router: AsyncClient) -> None:
    said = feishu.message(
        "ou_gina", "@_user_1 我要请假", chat_id="oc_group", thread_id="omt_1", message_id="om_9"
    )
    await feishu.deliver(router, said)
    post = await feishu.posted("想请什么假")
    assert post["to"].endswith("/im/v1/messages/om_9/reply")
    assert post["reply_in_thread"] is True
