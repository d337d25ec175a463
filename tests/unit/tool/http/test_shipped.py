"""The declared tools that ship."""

from pathlib import Path
from typing import Any

import activities.tools
from router.tool.http.client import OutboundGuard, Sender
from router.tool.http.loader import load_http_tools
from router.tool.tool import Tool
from tests.fakes.web_server import Got, Reply, WebServer, json_reply
from tests.unit.tool.http.declaring import call

SHIPPED = Path(next(iter(activities.tools.__path__))) / "http"


def tool(name: str, server: WebServer) -> Tool:
    variables = {"ROUTER_TOOL_WEATHER_URL": server.origin, "ROUTER_TOOL_SEARCH_URL": server.origin}
    loaded = load_http_tools(SHIPPED, variables, Sender(OutboundGuard([server.origin])))
    return {tool.name: tool for tool in loaded.tools}[name]


def test_without_a_search_server_there_is_no_search() -> None:
    loaded = load_http_tools(SHIPPED, {}, Sender(OutboundGuard()))
    assert [tool.name for tool in loaded.tools] == ["get_weather"]
    assert list(loaded.absent.values()) == ["ROUTER_TOOL_SEARCH_URL"]


async def test_the_weather_of_a_city_is_told_in_few_words() -> None:
    def weather(_: Got) -> Reply:
        now: dict[str, Any] = {"temp_C": "9", "weatherDesc": [{"value": "Sunny"}], "extra": "x" * 9}
        return json_reply(
            {
                "current_condition": [now],
                "nearest_area": [{"areaName": [{"value": "Shanghai"}]}],
                "weather": [{"maxtempC": "12"}, {"maxtempC": "14"}],
            }
        )

    async with WebServer(weather) as server:
        found = await call(tool("get_weather", server), city="上海")
    assert server.targets == ["/%E4%B8%8A%E6%B5%B7?format=j1&lang=zh"]
    assert (found["place"], found["degrees"], found["weather"]) == ("Shanghai", "9", "Sunny")
    assert (found["today_high"], found["tomorrow_high"]) == ("12", "14")
    assert "extra" not in str(found)


async def test_of_a_search_five_pages_are_told() -> None:
    page = {"title": "t", "url": "https://a.example", "content": "c", "engine": "e", "score": 1}
    async with WebServer(lambda _: json_reply({"results": [page] * 9})) as server:
        found = await call(tool("web_search", server), query="增值税 & co")
    assert server.targets[0].startswith(
        "/search?q=%E5%A2%9E%E5%80%BC%E7%A8%8E%20%26%20co&format=json"
    )
    assert found == [{"title": "t", "url": "https://a.example", "content": "c"}] * 5
