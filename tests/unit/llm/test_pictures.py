"""Pictures beside a message: as parts to who sees, in words to who doesn't, and learned."""

import base64
from typing import Any

import pytest

from router.llm.refusals import is_of_these, refused_feature
from router.llm.request import estimated_prompt_tokens
from router.llm.servers import FEATURES, ServerMemory
from router.llm.types import ChatRequest, ContextTooLong, ShownPicture, SystemMessage, UserMessage
from router.routing.skill_memory import AgentMemory
from tests.fakes.model_server import Behaviour, calls, decides, fails, refuses, says
from tests.table import each_row
from tests.unit.llm.asking import ANNUAL, Desk, desk, question

PNG = b"\x89PNG\r\n\x1a\n of a receipt"
SHOWN = ShownPicture(name="receipt.png", media_type="image/png", content=PNG)
SAID = UserMessage(text="多少钱？", pictures=(SHOWN,), unseen="<read>58 元</read>")
PARTS = [
    {"type": "text", "text": "多少钱？"},
    {
        "type": "image_url",
        "image_url": {"url": f"data:image/png;base64,{base64.b64encode(PNG).decode()}"},
    },
]
IN_WORDS = "<read>58 元</read>\n多少钱？"
BLIND = fails(400, "Invalid content type. image_url is only supported by certain models.")


def asking(**more: Any) -> ChatRequest:
    return question(messages=(SystemMessage(text="You route."), SAID), **more)


def contents(here: Desk) -> list[Any]:
    return [body["messages"][-1]["content"] for body in here.server.chats]


async def test_who_sees_gets_the_pictures_as_parts_behind_the_words() -> None:
    async with desk([says("58"), calls(ANNUAL)]) as here:
        await here.model.answer(asking(functions=()))
        await here.model.answer(asking())
        assert contents(here) == [PARTS, PARTS]
        assert here.memory.refused(here.model.endpoint) == frozenset()


async def test_who_is_asked_for_json_gets_them_too() -> None:
    script = [refuses("tools", otherwise=says("")), decides(ANNUAL)]
    async with desk(script) as here:
        await here.model.answer(asking())
        assert contents(here) == [PARTS, PARTS]


async def test_who_refuses_them_is_asked_once_more_in_words_and_never_again_with_them() -> None:
    async with desk([BLIND, says("58"), says("58")]) as here:
        first = await here.model.answer(asking(functions=()))
        again = await here.model.answer(asking(functions=()))
        assert contents(here) == [PARTS, IN_WORDS, IN_WORDS]
        assert (first.attempts, again.attempts) == (2, 1)
        assert here.memory.refused(here.model.endpoint) == {"pictures"}


@each_row(
    "trouble",
    [
        fails(400, "Invalid image data: could not decode the image"),
        fails(400, "image exceeds 5 MB maximum"),
        fails(413, "Request Entity Too Large"),
        fails(400, "This model's maximum context length is 4096 tokens"),
    ],
)
async def test_what_is_wrong_with_these_pictures_is_no_lesson(trouble: Behaviour) -> None:
    async with desk([trouble, says("58"), says("58")]) as here:
        await here.model.answer(asking(functions=()))
        await here.model.answer(asking(functions=()))
        assert contents(here) == [PARTS, IN_WORDS, PARTS]
        assert here.memory.refused(here.model.endpoint) == frozenset()


async def test_what_is_too_long_in_words_as_well_is_said_to_be() -> None:
    long = fails(400, "This model's maximum context length is 4096 tokens")
    async with desk([long, long]) as here:
        with pytest.raises(ContextTooLong):
            await here.model.answer(asking(functions=()))
        assert contents(here) == [PARTS, IN_WORDS]


async def test_a_question_without_pictures_learns_nothing_of_them() -> None:
    async with desk([says("5")], ServerMemory()) as here:
        await here.model.answer(question(functions=()))
        assert contents(here) == ["还有几天年假？"]


@each_row(
    ("status", "message", "learned"),
    [
        (400, "Invalid content type. image_url is only supported by certain models.", True),
        (400, "registry/gemma is not a multimodal model", True),
        (400, "At most 0 image(s) may be provided in one prompt.", True),
        (404, "No endpoints found that support image input", True),
        (422, "messages[1]: unknown variant `image_url`, expected `text`", True),
        (422, '{"loc": ["messages", 1, "content"], "msg": "content: a valid string"}', True),
        (500, "image input is not supported - you may need to provide the mmproj", True),
        (500, "this server has no multimodal support; mmproj is missing", True),
        (500, "failed to process image", False),
        (400, "You uploaded an unsupported image. Please make sure it is valid", True),
        (400, "image is too large", False),
    ],
)
def test_servers_in_use_are_understood(status: int, message: str, learned: bool) -> None:
    assert refused_feature(status, message, set(FEATURES)) == "pictures"
    assert is_of_these(status, message) is not learned
    without = set(FEATURES) - {"pictures"}
    assert refused_feature(status, message, without) != "pictures"


def test_pictures_are_counted_and_never_carried() -> None:
    bare = estimated_prompt_tokens([UserMessage(text="多少钱？")], [])
    assert estimated_prompt_tokens([SAID], []) > bare + 1000
    memory = AgentMemory(dialogue=(SAID,))
    assert AgentMemory.model_validate_json(memory.model_dump_json()).dialogue == (
        UserMessage(text="多少钱？"),
    )
