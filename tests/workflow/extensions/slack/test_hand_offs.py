"""A hand-off on Slack: asked for, taken by a button, answered, given back; all of it is real."""

from collections.abc import AsyncIterator
from pathlib import Path
from uuid import uuid4

import pytest
from httpx import AsyncClient
from temporalio.client import Client

from router.directory.file import SAMPLE
from router.runtime.upkeep import at_work
from router.runtime.worker import build_worker
from router.settings import Settings
from tests.fakes.slack import Slack, buttons
from tests.workflow.test_hand_offs import ALWAYS, always_worked
from tests.workflow.test_streaming import served

pytestmark = pytest.mark.slow

ALICE, FRANK, DAVE, GINA = "UALICE", "UFRANK", "UDAVE", "UGINA"
QUEUE = "hand-offs-on-slack"
RETRIES = 3
"""Slack's, of what wasn't answered 200 within three seconds."""


@pytest.fixture
def channel() -> str:
    """One of each test's own: what is said in it is a conversation of its own too."""
    return f"D{uuid4().hex[:10]}"


@pytest.fixture
async def slack() -> AsyncIterator[Slack]:
    async with Slack() as slack:
        yield slack


def people(folder: Path) -> Path:
    """The sample directory with accounts on Slack; dave and hilda are always at work."""
    text = SAMPLE.read_text("utf-8")
    for user in ("alice", "frank", "dave", "gina"):
        begins = f"{{id: {user}, "
        text = text.replace(begins, f"{begins}accounts: {{slack: U{user.upper()}}}, ")
    text = text.replace("roles: [hr]", f"roles: [hr], {ALWAYS}")
    hilda = f"{{id: hilda, name: Hilda, roles: [hr], timezone: America/Lima, {ALWAYS}}}"
    file = folder / "people.yaml"
    file.write_text(f"{text}  - {hilda}\n", "utf-8")
    return file


@pytest.fixture
async def router(slack: Slack, real_client: Client, tmp_path: Path) -> AsyncIterator[AsyncClient]:
    tenants = tmp_path / "tenants.yaml"
    tenants.write_text("default: {hand_off: {roles: [hr]}}\n", "utf-8")
    own = {"directory": people(tmp_path), "tenants": tenants}
    settings = Settings.load(data=tmp_path, **own).having(slack.settings)
    async with at_work(settings) as parts:
        always_worked(parts)
        async with (
            build_worker(real_client, parts, QUEUE),
            served(parts, real_client, QUEUE) as api,
        ):
            yield api


async def tells(slack: Slack, router: AsyncClient, user: str, text: str, **more: str) -> None:
    """Say it to the bot; Slack delivers it again where a house that has just begun is slow."""
    event = slack.event(user, text, **more)
    for _ in range(1 + RETRIES):
        if (await slack.deliver(router, event)).status_code == 200:
            return
    raise AssertionError(f"{text!r} was never taken in")


async def handed_to_dave(
    slack: Slack, router: AsyncClient, channel: str, user: str = ALICE
) -> None:
    wish = "转人工" if user == ALICE else "talk to a human"
    await tells(slack, router, user, wish, channel=channel)
    card = await slack.posted("wants a person")
    assert card["channel"] == DAVE
    await slack.presses(router, DAVE, card, "Take it")
    await slack.posted("conversation. What you write here goes to")


async def test_a_hand_off_is_taken_answered_and_given_back(
    slack: Slack, router: AsyncClient, channel: str
) -> None:
    await handed_to_dave(slack, router, channel)
    assert (await slack.posted("Dave Hughes 来了"))["channel"] == channel
    await tells(slack, router, ALICE, "工资少了 *200*", channel=channel)
    heard = await slack.posted("王丽 Alice: 工资少了")
    assert heard["channel"] == DAVE
    await tells(slack, router, DAVE, "We'll pay it on Friday.")
    answer = await slack.posted("We'll pay it on Friday.")
    assert answer["channel"] == channel
    assert "Dave Hughes" in answer["text"]
    await tells(slack, router, DAVE, "/back")
    assert (await slack.posted("把对话交还给我了"))["channel"] == channel
    assert (await slack.posted("is back with the desk"))["channel"] == DAVE
    await tells(slack, router, DAVE, "what can you do?")
    await tells(slack, router, ALICE, "我要请假", channel=channel)
    await slack.posted("想请什么假")


async def test_a_press_on_done_ends_it(slack: Slack, router: AsyncClient, channel: str) -> None:
    await handed_to_dave(slack, router, channel, FRANK)
    card = await slack.posted("conversation. What you write here goes to")
    assert [b["text"]["text"] for b in buttons(card)] == ["Back to the desk", "Done"]
    await slack.presses(router, DAVE, card, "Done")
    assert (await slack.posted("is done with it"))["channel"] == channel
    await slack.presses(router, DAVE, card, "Done")
    await slack.presses(router, DAVE, card, "Back to the desk")
    assert sum("is done with it" in post["text"] for post in slack.posts) == 1


async def test_nobody_else_takes_it_by_a_press(
    slack: Slack, router: AsyncClient, channel: str
) -> None:
    await tells(slack, router, ALICE, "转人工", channel=channel)
    card = await slack.posted("wants a person")
    await slack.presses(router, GINA, card, "Take it")
    await slack.posted("这个转交已经没有了")
    await slack.presses(router, DAVE, card, "Take it")
    await slack.posted("Dave Hughes 来了")


async def test_what_is_said_in_a_channel_is_never_passed_on(
    slack: Slack, router: AsyncClient, channel: str
) -> None:
    await handed_to_dave(slack, router, channel)
    there = {"channel": "C1", "channel_type": "channel", "type": "app_mention"}
    await tells(slack, router, DAVE, "<@UDESK> what can you do?", ts="1.1", **there)
    answer = await slack.first(slack.posts, '"channel": "C1"')
    assert answer["channel"] == "C1"
    assert not [p for p in slack.posts if p["channel"] == channel and "what can" in str(p)]


async def test_an_event_that_comes_again_is_passed_on_once(
    slack: Slack, router: AsyncClient, channel: str
) -> None:
    await handed_to_dave(slack, router, channel)
    event = slack.event(DAVE, "Only once.")
    for _ in range(3):
        assert (await slack.deliver(router, event)).status_code == 200
    await slack.posted("Only once.")
    await tells(slack, router, DAVE, "/back")
    await slack.posted("把对话交还给我了")
    assert sum("Only once." in post["text"] for post in slack.posts) == 1
