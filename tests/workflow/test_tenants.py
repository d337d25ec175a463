"""Two tenants at one desk: each has its own flows, tools and skills, and its own name for it."""

from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest
from httpx import AsyncClient
from temporalio.client import Client

from router.runtime.composition import Parts
from router.runtime.upkeep import at_work
from router.runtime.worker import build_worker
from router.settings import Settings
from tests.fakes.model_server import ModelServer, calls, says
from tests.table import each_row
from tests.workflow.test_streaming import served

QUEUE = "tenants"
PEOPLE = "users:\n" + "".join(
    f"  - {{id: {user}, name: {user}, tenant: {tenant}, locale: {locale}}}\n"
    for tenant in ("acme", "globex")
    for user, locale in (("alice", "zh"), ("frank", "en"))
)
TENANTS = """
acme:
  flows: [leave_*]
  skills: []
  tools: {except: [get_weather, convert_*]}
  persona: acme.yaml
  models: {router: {model: acme-model}}
globex:
  flows: {except: [leave_*]}
"""
PERSONA = "name: {zh: 小艾, en: Ada}\ndo: [Mention the weekday]\n"
As = Callable[[str], AsyncClient]


@pytest.fixture(scope="module")
async def server() -> AsyncIterator[ModelServer]:
    async with ModelServer() as server:
        yield server


def files(folder: Path) -> dict[str, Any]:
    for name, text in {"t.yaml": TENANTS, "acme.yaml": PERSONA, "people.yaml": PEOPLE}.items():
        (folder / name).write_text(text, "utf-8")
    house = folder / "house.yaml"
    house.write_text("name: {zh: 大堂, en: Lobby}\n", "utf-8")
    return {"tenants": folder / "t.yaml", "directory": folder / "people.yaml", "persona": house}


@pytest.fixture
async def house(tmp_path: Path) -> AsyncIterator[Parts]:
    async with at_work(Settings.load(data=tmp_path, **files(tmp_path))) as parts:
        yield parts


@pytest.fixture
async def desk(house: Parts, real_client: Client) -> AsyncIterator[AsyncClient]:
    async with (
        build_worker(real_client, house, QUEUE),
        served(house, real_client, QUEUE) as client,
    ):
        yield client


def caller(who: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {who}"}


async def names(desk: AsyncClient, who: str, kind: str) -> set[str]:
    answer = await desk.get("/v1/capabilities", params={"kind": kind}, headers=caller(who))
    return {each["name"] for each in answer.json()["items"]}


async def said(desk: AsyncClient, who: str, **message: Any) -> Any:
    made = await desk.post("/v1/conversations", json={}, headers=caller(who))
    path = f"/v1/conversations/{made.json()['id']}/messages"
    return (await desk.post(path, json=message, headers=caller(who))).json()


@pytest.mark.slow
async def test_what_a_tenant_does_not_have_is_in_no_list(desk: AsyncClient) -> None:
    assert await names(desk, "acme/alice", "flow") == {"leave_request"}
    assert "leave_request" not in await names(desk, "globex/alice", "flow")
    assert await names(desk, "acme/alice", "skill") == set()
    assert await names(desk, "globex/alice", "skill")
    assert "get_weather" not in await names(desk, "acme/alice", "tool")
    assert not any(n.startswith("convert_") for n in await names(desk, "acme/alice", "tool"))


WAYS = {
    "a sentence": {"text": "我要报销打车费 58 元"},
    "a button": {"action": {"type": "start", "flow": "reimbursement", "slots": {}}},
}


@each_row("message", WAYS.values(), ids=WAYS)
@pytest.mark.slow
async def test_a_flow_of_another_tenant_is_started_by_nothing(
    desk: AsyncClient, message: dict[str, Any]
) -> None:
    own = await said(desk, "globex/alice", **message)
    assert own["flow"]["name"] == "reimbursement"
    others = await said(desk, "acme/alice", **message)
    assert not others.get("flow"), others
    assert others["status"] == 404 or "'reimbursement'" not in str(others), others


@pytest.mark.slow
async def test_a_tool_of_another_tenant_is_called_by_nothing(desk: AsyncClient) -> None:
    own = await said(desk, "globex/alice", text="北京今天天气怎么样")
    others = await said(desk, "acme/alice", text="北京今天天气怎么样")
    assert "get_weather" in str(own["route"]) + str(own["tool_calls"])
    assert "get_weather" not in str(others)
    started = {"type": "start", "flow": "get_weather", "slots": {}}
    answer = await said(desk, "acme/alice", action=started)
    assert answer["status"] == 404, answer


@pytest.mark.slow
async def test_how_a_message_would_be_routed_says_nothing_of_anothers(desk: AsyncClient) -> None:
    text = {"text": "我要报销打车费 58 元"}
    own = await desk.post("/v1/route", json=text, headers=caller("globex/alice"))
    others = await desk.post("/v1/route", json=text, headers=caller("acme/alice"))
    assert own.json()["decision"]["target"] == "reimbursement"
    assert "reimbursement" not in others.text


@pytest.mark.slow
async def test_each_tenant_meets_the_desk_by_its_own_name(desk: AsyncClient) -> None:
    assert (await desk.get("/v1/me", headers=caller("acme/alice"))).json()["assistant"] == "小艾"
    assert (await desk.get("/v1/me", headers=caller("acme/frank"))).json()["assistant"] == "Ada"
    there = await desk.get("/v1/me", headers=caller("globex/frank"))
    assert there.json()["assistant"] == "Lobby"
    for words, who, name in (
        ("你是谁？", "acme/alice", "小艾"),
        ("Who are you?", "acme/frank", "Ada"),
        ("hello", "globex/frank", "Lobby"),
    ):
        turn = await said(desk, who, text=words)
        assert name in turn["replies"][0]["text"], turn
        if who.startswith("globex"):
            assert "Ada" not in str(turn)


@pytest.mark.slow
async def test_a_run_goes_on_when_its_flow_is_withdrawn(
    house: Parts, desk: AsyncClient, tmp_path: Path
) -> None:
    made = await desk.post("/v1/conversations", json={}, headers=caller("acme/alice"))
    path = f"/v1/conversations/{made.json()['id']}/messages"
    begun = await desk.post(path, json={"text": "我要请年假"}, headers=caller("acme/alice"))
    assert begun.json()["flow"]["name"] == "leave_request"
    (tmp_path / "t.yaml").write_text("acme: {flows: []}\n", "utf-8")
    house.tenants.refresh()
    assert await names(desk, "acme/alice", "flow") == set()
    answer = {"text": "2027-03-01 到 2027-03-02"}
    turn = (await desk.post(path, json=answer, headers=caller("acme/alice"))).json()
    assert turn["flow"]["id"] == begun.json()["flow"]["id"]
    assert turn["flow"]["slots"]["start"] == "2027-03-01"


@pytest.mark.slow
async def test_a_model_neither_hears_of_anothers_nor_can_name_it(
    tmp_path: Path, real_client: Client, server: ModelServer
) -> None:
    given = {"llm_base_url": server.url, "llm_model": "house-model", "llm_warm": False}
    settings = Settings.load(data=tmp_path, **files(tmp_path), **given)
    async with (
        at_work(settings) as house,
        build_worker(real_client, house, QUEUE),
        served(house, real_client, QUEUE) as desk,
    ):
        server.then(calls(("get_weather", {"city": "北京"})), says("我只能帮你办假。"))
        turn = await said(desk, "acme/alice", text="帮我看看北京外头冷不冷")
        assert not any(c["status"] == "done" for c in turn["tool_calls"]), turn
        first = server.chats[0]
        system = first["messages"][0]["content"]
        assert first["model"] == "acme-model"
        assert "小艾" in system
        assert "get_weather" not in str(first["tools"])
        assert "reimbursement" not in str(first["tools"])
        server.then(says("你好。"))
        asked = len(server.chats)
        await said(desk, "globex/frank", text="tell me something about this place please")
        assert server.chats[asked]["model"] == "house-model"
        there = server.chats[asked]["messages"][0]["content"]
        assert "Lobby" in there
        assert "Ada" not in there
