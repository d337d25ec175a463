from router.llm.client import ChatModel
from router.llm.fallback import FallbackChain, FallbackChains
from router.llm.types import ChatAnswer
from tests.fakes.model_server import Behaviour, ModelServer, fails, says
from tests.unit.llm.asking import question


async def asked(chain: FallbackChain | None) -> ChatAnswer:
    assert chain is not None
    return (await chain.answer(question(), 20)).answer


def chains(server: ModelServer, *names: str, for_skills: str | None = None) -> FallbackChains:
    models = [ChatModel(server.url, name) for name in names]
    return FallbackChains(models, lambda name: ChatModel(server.url, name), for_skills)


def models_of(server: ModelServer) -> list[str]:
    return [chat["model"] for chat in server.chats]


async def test_without_a_model_there_is_no_chain() -> None:
    none = FallbackChains()
    assert none.usual is None
    assert none.for_skill("big") is None


async def test_skills_are_led_by_the_model_that_is_set_for_them() -> None:
    async with ModelServer(says("hello")) as server:
        house = chains(server, "small", for_skills="big")
        await asked(house.usual)
        await asked(house.for_skill(None))
        await asked(house.for_skill("biggest"))
        await house.aclose()
        assert models_of(server) == ["small", "big", "biggest"]


async def test_a_skill_without_a_wish_has_the_usual_model() -> None:
    async with ModelServer(says("hello")) as server:
        house = chains(server, "small")
        assert house.for_skill(None) is house.usual
        await house.aclose()


async def test_below_a_skills_model_come_the_usual_ones() -> None:
    script: list[Behaviour] = [fails(500), says("hello")]
    async with ModelServer(script) as server:
        house = chains(server, "small", for_skills="big")
        assert (await asked(house.for_skill(None))).text == "hello"
        await house.aclose()
        assert models_of(server) == ["big", "small"]


async def test_a_model_that_is_down_is_down_for_skills_too() -> None:
    async with ModelServer(fails(500)) as server:
        house = chains(server, "small", for_skills="big")
        usual, led = house.usual, house.for_skill(None)
        assert usual is not None
        assert led is not None
        assert set(usual.states) < set(led.states)
        assert house.for_skill(None) is led
        await house.aclose()
