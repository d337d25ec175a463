"""What ends processes: it costs itself, never whoever else is served."""

import psutil
from httpx import AsyncClient

UNFOLDS = "\ufdfa" * 8


def engines() -> set[int]:
    """The processes below this one that encode."""
    below = psutil.Process().children(recursive=True)
    return {each.pid for each in below if "router.retrieval.encoder_process" in each.cmdline()}


async def test_a_message_that_unfolds_is_answered_and_ends_no_process(api: AsyncClient) -> None:
    conversation = (await api.post("/v1/conversations")).json()["id"]
    messages = f"/v1/conversations/{conversation}/messages"
    await api.post(messages, json={"text": "天气如何"})
    before = engines()
    turn = (await api.post(messages, json={"text": UNFOLDS})).json()
    assert turn["status"] == "done"
    assert (await api.post("/v1/route", json={"text": UNFOLDS})).status_code == 200
    assert engines() == before != set()
