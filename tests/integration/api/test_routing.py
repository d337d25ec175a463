"""Where a text would go."""

from httpx import AsyncClient


async def test_a_text_that_a_rule_takes(alice: AsyncClient) -> None:
    answer = await alice.post("/v1/route", json={"text": "我要请假"})
    hit = {"flow": "leave_request", "pattern": "请假", "span": [2, 4], "blocked_by": None}
    decision = {"kind": "flow", "target": "leave_request", "by": "pattern", "reason": "请假"}
    assert answer.json() == {
        "text": "我要请假",
        "normalised": "我要请假",
        "patterns": [hit],
        "entities": [],
        "candidates": [],
        "decision": decision | {"slots": {"leave_type": "annual"}, "confidence": 1.0},
    }


async def test_a_text_that_no_rule_takes(alice: AsyncClient) -> None:
    decision = (await alice.post("/v1/route", json={"text": "天气如何"})).json()["decision"]
    assert (decision["kind"], decision["by"]) == ("clarify", "fallback")
    assert "slots" not in decision
