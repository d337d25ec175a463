"""The desk on Slack, with everything behind it real: API, worker, Temporal, flows, approvals."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from pathlib import Path

import pytest
from httpx import AsyncClient
from temporalio.client import Client

from router.directory.file import SAMPLE, FileDirectory
from router.runtime.composition import Parts
from tests.fakes.slack import Slack, buttons
from tests.fakes.web_server import json_reply
from tests.waiting import HANGS_AFTER_S
from tests.workflow.desk import QUEUE
from tests.workflow.test_streaming import served

ALICE, BOB, FRANK, GINA = "UALICE", "UBOB", "UFRANK", "UGINA"
REQUEST = "我要请年假，2027-05-11 到 2027-05-12，家里有事"


@pytest.fixture
async def slack() -> AsyncIterator[Slack]:
    async with Slack() as slack:
        yield slack


def with_accounts(folder: Path) -> FileDirectory:
    """The sample directory, its people with accounts on Slack."""
    text = SAMPLE.read_text("utf-8")
    for user in ("alice", "bob", "frank", "gina"):
        begins = f"{{id: {user}, "
        assert begins in text
        text = text.replace(begins, f"{begins}accounts: {{slack: U{user.upper()}}}, ")
    file = folder / "people.yaml"
    file.write_text(text, "utf-8")
    return FileDirectory.load(file)


Entrance = Callable[..., AbstractAsyncContextManager[AsyncClient]]


@pytest.fixture
def entered(slack: Slack, parts: Parts, real_client: Client, tmp_path: Path) -> Entrance:
    """Opens connections to an API that Slack is an entrance of."""
    directory = with_accounts(tmp_path)

    def opened(**limits: int) -> AbstractAsyncContextManager[AsyncClient]:
        settings = parts.settings.model_copy(update=limits).having(slack.settings)
        return served(replace(parts, settings=settings, directory=directory), real_client, QUEUE)

    return opened


@pytest.fixture
async def router(entered: Entrance) -> AsyncIterator[AsyncClient]:
    async with entered() as api:
        yield api


@pytest.mark.slow
async def test_leave_is_asked_and_approved_by_buttons(slack: Slack, router: AsyncClient) -> None:
    await slack.says(router, ALICE, REQUEST)
    card = await slack.posted("确认")
    await slack.presses(router, ALICE, card, "确认")
    await slack.posted("已提交给")
    wanted = await slack.posted("，5月11日")
    assert wanted["channel"] == BOB
    assert "2027" in str(wanted["blocks"])
    await slack.presses(router, BOB, wanted, "同意")
    done = await slack.updated("已同意")
    assert (done["ts"], buttons(done)) == (wanted["ts"], [])
    await slack.posted("批准")
    await slack.presses(router, BOB, wanted, "拒绝")
    assert "已同意" in (await slack.updated("已经处理过了"))["text"]


@pytest.mark.slow
async def test_a_verdict_that_only_its_row_has_is_told_to_the_run_by_the_next_press(
    slack: Slack, router: AsyncClient, parts: Parts
) -> None:
    """The row was written, and Temporal's server died before it knew: whoever pressed was told so.

    As good as any row is what its workflow says, which still asks.
    """
    request = "我要请年假，2027-08-10 到 2027-08-11，家里有事"
    await slack.says(router, ALICE, request, channel="D13")
    await slack.presses(router, ALICE, await slack.posted("确认"), "确认")
    wanted = await slack.posted("，8月10日")
    ids = [json.loads(each["value"])["decision"]["approval"] for each in buttons(wanted)]
    approval = await parts.store.runs.find_approval("default", ids[0])
    assert approval is not None
    run = await parts.store.runs.find("default", approval.run)
    assert run is not None
    ahead = run.model_copy(update={"events": run.events + 1})
    decided = approval.model_copy(update={"verdict": "approve", "active": False})
    await parts.store.runs.publish(ahead, [decided])
    await slack.presses(router, BOB, wanted, "拒绝")
    assert (await slack.updated("已拒绝"))["ts"] == wanted["ts"]
    await slack.posted("没有获批")
    await slack.presses(router, BOB, wanted, "同意")
    assert "已拒绝" in (await slack.updated("已经处理过了"))["text"]


@pytest.mark.slow
async def test_what_is_confirmed_is_returned_with_words(slack: Slack, router: AsyncClient) -> None:
    await slack.says(router, FRANK, "I want annual leave 2027-09-07 to 2027-09-08, family")
    card = await slack.posted("Not right")
    await slack.presses(router, FRANK, card, "Cancel")
    await slack.posted("ancelled")
    await slack.says(router, FRANK, "I want annual leave 2027-09-14 to 2027-09-15, family")
    await slack.presses(router, FRANK, await slack.posted("14 Sep 2027"), "Confirm")
    wanted = await slack.posted("，9月14日")
    for nothing in ("", " \n", "\x07", "x" * 1001):
        await slack.presses(router, BOB, wanted, "退回修改", nothing)
    await slack.posted("还没有退回")
    await slack.presses(router, BOB, wanted, "退回修改", "which family?")
    assert "已退回修改" in str(await slack.updated("已"))
    await slack.posted("which family?")


@pytest.mark.slow
async def test_a_reason_forges_no_field(slack: Slack, router: AsyncClient) -> None:
    await slack.says(router, ALICE, "我要请年假，2027-06-08 到 2027-06-09", channel="D7")
    await slack.posted("请假事由")
    forged = "探亲\n天数: 1\u2028申请人: 陈博\u202e\u200b"
    await slack.says(router, ALICE, forged, channel="D7")
    await slack.presses(router, ALICE, await slack.posted("探亲"), "确认")
    wanted = await slack.posted("，6月8日")
    texts = [each["text"]["text"] for each in wanted["blocks"] if each["type"] == "section"]
    assert "事由: 探亲 ↵ 天数: 1 ↵ 申请人: 陈博" in texts
    assert [text for text in texts if text.startswith("申请人")] == ["申请人: 王丽 Alice"]


@pytest.mark.slow
async def test_a_repeated_event_is_answered_once(slack: Slack, router: AsyncClient) -> None:
    event = slack.event(BOB, "我要请假")
    answers = [await slack.deliver(router, event) for _ in range(3)]
    await slack.posted("想请什么假？")
    await slack.says(router, BOB, "取消")
    await slack.posted("已取消")
    assert [a.status_code for a in answers] == [200] * 3
    assert str(slack.posts).count("'text': '想请什么假？") <= 2  # text, block
    assert sum("想请什么假？" in post["text"] for post in slack.posts) == 1


@pytest.mark.slow
async def test_threads_are_conversations_of_their_own(slack: Slack, router: AsyncClient) -> None:
    there = {"channel": "C1", "channel_type": "channel", "type": "app_mention"}
    await slack.says(router, GINA, "<@UDESK> 我要请假", ts="1.1", **there)
    choices = await slack.posted("想请什么假")
    await slack.presses(router, GINA, choices, "年假")
    form = await slack.posted("从哪天开始")
    assert (choices["channel"], choices["thread_ts"]) == ("C1", "1.1")
    assert (form["channel"], form["thread_ts"]) == ("C1", "1.1")


async def test_nobody_answers_on_a_card_of_somebody_else(slack: Slack, router: AsyncClient) -> None:
    await slack.says(router, GINA, "我要请假", channel="D2")
    choices = await slack.posted("想请什么假")
    await slack.presses(router, ALICE, choices, "年假")
    await slack.posted("这张卡片不是给您的")
    assert not [post for post in slack.posts if "从哪天开始" in post["text"]]


@pytest.mark.slow
async def test_a_stranger_is_told_so_once_bilingually(slack: Slack, router: AsyncClient) -> None:
    event = slack.event("UMALLORY", "hello")
    for _ in range(2):
        assert (await slack.deliver(router, event)).status_code == 200
    assert "我还不认识您" in (await slack.posted("I don't know you yet"))["text"]
    assert len(slack.posts) == 1


@pytest.mark.slow
async def test_what_slack_refuses_for_now_comes_later(slack: Slack, router: AsyncClient) -> None:
    busy = json_reply({"ok": False, "error": "ratelimited"}, 429, retry_after="1")
    slack.troubles.append(busy)
    await slack.says(router, ALICE, "我要报销", channel="D3")
    await slack.posted("是哪一类费用")
    assert not slack.troubles


@pytest.mark.slow
async def test_what_a_dead_process_owed_is_posted_later(slack: Slack, entered: Entrance) -> None:
    gone = json_reply({"ok": False, "error": "ratelimited"}, 429, retry_after="0")
    slack.troubles.extend([gone] * 1000)
    async with entered() as api:
        await slack.says(api, GINA, "我要请假", channel="D4")
        async with asyncio.timeout(HANGS_AFTER_S):
            while len(slack.troubles) == 1000:  # noqa: ASYNC110 - it is the server that counts
                await asyncio.sleep(0.05)
    assert not slack.posts
    slack.troubles.clear()
    async with entered():
        await slack.posted("想请什么假")
    assert len([post for post in slack.posts if "想请什么假" in post["text"]]) == 1


@pytest.mark.slow
async def test_who_writes_too_fast_is_told_so_once(slack: Slack, entered: Entrance) -> None:
    async with entered(user_requests_per_minute=2) as api:
        await slack.says(api, FRANK, "what time is it", channel="D9")
        await slack.says(api, FRANK, "what time is it", channel="D9")
        for number in range(5):
            await slack.says(api, FRANK, f"and now, {number}", channel="D9")
        said = await slack.posted("You make too many requests")
        await slack.says(api, ALICE, "我要报销", channel="D10")
        await slack.posted("是哪一类费用")
    assert "This message wasn't taken in" in said["text"]
    assert sum("too many requests" in str(post) for post in slack.posts) == 1
    assert not [post for post in slack.posts if "and now" in str(post)]


@pytest.mark.slow
async def test_an_approver_who_presses_too_fast_decides_nothing(
    slack: Slack, router: AsyncClient, entered: Entrance
) -> None:
    await slack.says(router, ALICE, "我要请年假，2027-06-15 到 2027-06-16，家里有事", channel="D11")
    await slack.presses(router, ALICE, await slack.posted("确认"), "确认")
    wanted = await slack.posted("，6月15日")
    async with entered(user_requests_per_minute=1) as api:
        await slack.says(api, BOB, "你好", channel="D12")
        await slack.presses(api, BOB, wanted, "同意")
        await slack.posted("您的请求太频繁了")
    assert not slack.updates
    await slack.presses(router, BOB, wanted, "同意")
    await slack.updated("已同意")
