"""`ROUTER_EMBEDDER=openai:<model>`, from the setting to what is found, over real HTTP."""

from pathlib import Path

import numpy as np
import pytest

from router.retrieval.index import LEXICAL_ONLY, CapabilityIndex
from router.retrieval.vector_cache import VectorFile
from router.runtime import composition
from router.settings import Settings
from tests.fakes.model_server import Behaviour, ModelServer, fails, sends
from tests.unit.retrieval.capabilities import OFFICE


def settings(server: ModelServer, folder: Path) -> Settings:
    return Settings.load(
        embedder="openai:small", llm_base_url=server.url, llm_api_key="a key", data=folder
    )


async def test_capabilities_are_found_by_a_servers_vectors(tmp_path: Path) -> None:
    async with ModelServer() as server:
        encoder = composition.encoder(settings(server, tmp_path))
        index = CapabilityIndex(encoder, VectorFile(tmp_path / "vectors.db"))
        await index.update(OFFICE)
        found = await index.select("预订一间会议室")
    assert found.candidates[0].name == "book_room"
    assert found.notes == ()
    assert {one.body["model"] for one in server.requests} == {"small"}
    assert {one.path for one in server.requests} == {"/v1/embeddings"}


async def test_cards_are_not_sent_again_after_a_restart_and_messages_are(tmp_path: Path) -> None:
    sent: list[int] = []
    async with ModelServer() as server:
        for _ in range(2):
            encoder = composition.encoder(settings(server, tmp_path))
            index = CapabilityIndex(encoder, VectorFile(tmp_path / "vectors.db"))
            await index.update(OFFICE)
            sent.append(len(server.requests))
            await index.select("预订一间会议室")
    assert sent[1] == sent[0] + 1
    assert [one.body["input"] for one in server.requests[sent[0] :]] == [["预订一间会议室"]] * 2


@pytest.mark.parametrize(
    "behaviour",
    [
        fails(401, "wrong key"),
        fails(404, "no such model"),
        fails(503),
        sends({"data": []}),
        sends({"data": [{"index": 0, "embedding": [0.0, 0.0]}]}),
    ],
    ids=["401", "404", "503", "no vectors", "no direction"],
)
async def test_words_are_searched_where_the_server_encodes_nothing(
    behaviour: Behaviour, tmp_path: Path
) -> None:
    async with ModelServer() as server:
        server.embeddings = behaviour
        index = CapabilityIndex(composition.encoder(settings(server, tmp_path)))
        await index.update(OFFICE)
        found = await index.select("预订一间会议室")
    assert found.candidates[0].name == "book_room"
    assert found.notes == (f"{LEXICAL_ONLY}: capabilities aren't encoded",)


async def test_words_are_searched_while_the_server_is_away_and_vectors_once_it_is_back(
    tmp_path: Path,
) -> None:
    async with ModelServer() as server:
        encodes = server.embeddings
        index = CapabilityIndex(composition.encoder(settings(server, tmp_path)))
        await index.update(OFFICE)
        server.embeddings = fails(500)
        away = await index.select("查询年假余额")
        server.embeddings = encodes
        back = await index.select("查询年假余额")
    assert away.notes == (f"{LEXICAL_ONLY}: the encoder failed",)
    assert back.notes == ()
    assert away.candidates[0].name == back.candidates[0].name == "leave_balance"
    assert np.isfinite([c.score for c in back.candidates]).all()
