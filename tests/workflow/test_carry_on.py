"""A conversation that carries on: what was found and written is there for the next message."""

from collections.abc import AsyncIterator

import pytest

from router.domain.locale import Localised
from router.skill.skill import Skill
from router.tool.tool import tool
from tests.fakes.model_server import ModelServer, calls, says
from tests.workflow.desk import Talk, texts
from tests.workflow.tooled import Tooled

DRAFT = "秋天的会议室安静得像图书馆。" * 110
WRITER = Skill(
    name="writer",
    title=Localised(zh="写作", en="Writer"),
    description=Localised(zh="写博客文章。", en="Writes blog posts."),
    instructions="Write what is asked for.",
    allowed_tools=frozenset({"find_links"}),
    examples=("写一篇博客", "write a blog post"),
)


@tool(permission="read", title={"zh": "搜制度", "en": "Search"}, examples=["搜一下差旅制度"])
async def find_links(query: str) -> list[dict[str, str]]:
    """Where something stands in the policies."""
    return [{"title": f"差旅制度第 {n} 章", "link": f"policies/travel-{n}.md"} for n in (1, 2, 3)]


SEARCH = calls(("find_links", {"query": "差旅"}))
TO_WRITER = calls(("dispatch_to_skill", {"skill_name": "writer", "request": "autumn, in short"}))


@pytest.fixture
async def talk(tooled: Tooled) -> AsyncIterator[Talk]:
    async with ModelServer() as model, tooled([find_links], model, [WRITER]) as talk:
        yield talk


def prompts(talk: Talk) -> list[str]:
    return [str(chat["messages"]) for chat in talk.model.chats]


@pytest.mark.slow
async def test_calls_and_what_they_found_are_told_with_the_next_message(talk: Talk) -> None:
    talk.model.then(SEARCH, says("差旅制度有 3 章。"), says("policies/travel-1.md"))
    await talk.say("搜一下差旅制度")
    turn = await talk.say("第一个链接是什么")
    assert texts(turn) == ["policies/travel-1.md"]
    *_, called, result, answered, _ = talk.model.chats[-1]["messages"]
    assert called["tool_calls"][0]["function"]["name"] == "find_links"
    assert "policies/travel-1.md" in result["content"]
    assert answered["content"] == "差旅制度有 3 章。"


async def test_what_refers_to_something_is_searched_with_that(talk: Talk) -> None:
    talk.model.then(SEARCH, says("差旅制度有 3 章。"), says("三。"))
    await talk.say("搜一下差旅制度")
    await talk.say("那第三个呢")
    offered = [one["function"]["name"] for one in talk.model.chats[-1]["tools"]]
    assert "find_links" in offered


@pytest.mark.slow
async def test_a_skill_that_has_answered_is_gone_on_with_in_its_own_dialogue(talk: Talk) -> None:
    talk.model.then(TO_WRITER, says(DRAFT), says("总结：秋天很安静。"))
    assert texts(await talk.say("写一篇关于秋天的博客")) == [DRAFT]
    turn = await talk.say("加一个总结")
    assert texts(turn) == ["总结：秋天很安静。"]
    assert (turn.route.kind, turn.route.target, turn.usage.llm_calls) == ("skill", "writer", 1)
    messages = talk.model.chats[-1]["messages"]
    assert [message["content"] for message in messages[-2:]] == [DRAFT, "加一个总结"]


async def test_a_skill_is_given_the_persons_own_words_with_the_models_beside_them(
    talk: Talk,
) -> None:
    talk.model.then(TO_WRITER, says("好。"))
    await talk.say("写一篇关于秋天的博客，五百字，别太抒情")
    opening = talk.model.chats[-1]["messages"][1]["content"]
    assert "<request>\n写一篇关于秋天的博客，五百字，别太抒情\n</request>" in opening
    assert "<summary>\nautumn, in short\n</summary>" in opening


@pytest.mark.slow
async def test_another_wish_leaves_the_skill_alone(talk: Talk) -> None:
    talk.model.then(TO_WRITER, says(DRAFT), SEARCH, says("差旅制度有 3 章。"), says("短。"))
    await talk.say("写一篇关于秋天的博客")
    await talk.say("搜一下差旅制度")
    turn = await talk.say("再短一点")
    assert turn.route.target != "writer"


@pytest.mark.slow
async def test_a_skill_hands_back_what_is_none_of_its_own(talk: Talk) -> None:
    talk.model.then(TO_WRITER, says(DRAFT), calls(("hand_back", {})), says("不客气。"))
    await talk.say("写一篇关于秋天的博客")
    turn = await talk.say("这个不错，谢谢你")
    assert texts(turn) == ["不客气。"]
    assert "hand_back" in str(talk.model.chats[2]["tools"])


async def test_the_whole_draft_is_known_to_whoever_is_asked_next(talk: Talk) -> None:
    talk.model.then(TO_WRITER, says(DRAFT), says("写得不错。"))
    await talk.say("写一篇关于秋天的博客")
    await talk.say("食堂今天有什么好吃的")
    assert DRAFT in prompts(talk)[-1]


@pytest.mark.slow
async def test_old_results_are_shortened_before_anything_that_was_said(talk: Talk) -> None:
    talk.model.then(SEARCH, says("差旅制度有 3 章。"))
    await talk.say("搜一下差旅制度")
    for number in range(4):
        talk.model.then(says(f"{number}{'长' * 2500}"))
        await talk.say(f"第{number}句闲话，随便聊聊")
    talk.model.then(says("好。"))
    await talk.say("食堂今天有什么好吃的")
    said = prompts(talk)[-1]
    assert "travel-3" not in said
    assert "find_links" in said
    assert f"3{'长' * 2500}" in said
    assert len(said) < 15_000


async def test_a_skill_that_is_asked_about_is_run_when_its_button_is_pressed(talk: Talk) -> None:
    asks = ("ask_clarification", {"text": "哪个？", "options": ["writer", "find_links"]})
    talk.model.then(calls(asks), says("好。"))
    await talk.say("写点关于差旅的东西")
    turn = await talk.press("choose", value="writer")
    assert (texts(turn), turn.route.target) == (["好。"], "writer")
    assert "<request>\n写点关于差旅的东西\n" in talk.model.chats[-1]["messages"][1]["content"]
