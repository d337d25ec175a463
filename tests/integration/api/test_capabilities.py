"""What may be done here by whoever asks."""

from tests.integration.api.conftest import As


async def test_they_are_the_callers_in_their_language(caller: As) -> None:
    items = (await caller("alice").get("/v1/capabilities")).json()["items"]
    parameters = items[0].pop("parameters")
    assert parameters["properties"]["start"] == {
        "title": "开始",
        "type": "string",
        "format": "date",
    }
    assert items[0] == {
        "kind": "flow",
        "name": "leave_request",
        "title": "leave_request 中文",
        "description": "leave_request 中文",
        "examples": ["办 leave_request"],
    }
    assert [item["name"] for item in items] == [
        "leave_request",
        "policy-advisor",
        "get_leave_balance",
        "locate",
        "tangle",
    ]
    theirs = (await caller("dave").get("/v1/capabilities?kind=flow")).json()["items"]
    assert [item["title"] for item in theirs] == ["leave_request English", "audit English"]
    skills = (await caller("dave").get("/v1/capabilities?kind=skill")).json()["items"]
    assert [item["title"] for item in skills] == ["policy-advisor English"]
    assert not {"permission", "parameters", "examples"} & set(skills[0])
    assert theirs[0]["examples"] == ["do leave_request"]
    tools = (await caller("dave").get("/v1/capabilities?kind=tool")).json()["items"]
    assert [each["name"] for each in tools if each.get("client")] == ["locate"]
