"""What may be done here by whoever asks."""

from tests.integration.api.conftest import As


async def test_they_are_the_callers_in_their_language(caller: As) -> None:
    first, *others = (await caller("alice").get("/v1/capabilities")).json()["items"]
    start = first.pop("parameters")["properties"]["start"]
    assert start == {"title": "开始", "type": "string", "format": "date"}
    name, titles = "leave_request", ("title", "description")
    told = {"kind": "flow", "name": name, "examples": [f"办 {name}"]}
    assert first == told | dict.fromkeys(titles, f"{name} 中文")
    names = [item["name"] for item in others]
    assert names == ["policy-advisor", "get_leave_balance", "locate", "tangle"]
    theirs = (await caller("dave").get("/v1/capabilities?kind=flow")).json()["items"]
    assert [item["title"] for item in theirs] == ["leave_request English", "audit English"]
    assert theirs[0]["examples"] == ["do leave_request"]
    skill, named = (await caller("dave").get("/v1/capabilities?kind=skill")).json()["items"]
    assert skill["title"] == "policy-advisor English"
    assert not {"permission", "parameters", "examples", "hint", "named_only"} & set(skill)
    assert skill["command"] == "/policy-advisor"
    who = (named["command"], named["hint"], named["named_only"])
    assert who == ("/named-alone", "[week]", True)
    tools = (await caller("dave").get("/v1/capabilities?kind=tool")).json()["items"]
    assert [each["name"] for each in tools if each.get("client")] == ["locate"]
