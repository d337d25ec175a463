from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import numpy as np
import pytest

from router.llm.embeddings import BATCH, OpenAIEmbeddings
from router.llm.types import AccessRefused, ModelUnavailable
from tests.fakes import model_server
from tests.fakes.model_server import Behaviour, ModelServer, fails, hangs, rate_limits, sends
from tests.table import each_row


@asynccontextmanager
async def encoder(
    behaviour: Behaviour | None = None, **more: Any
) -> AsyncIterator[tuple[OpenAIEmbeddings, ModelServer]]:
    async with ModelServer() as server:
        if behaviour is not None:
            server.embeddings = behaviour
        embeddings = OpenAIEmbeddings(server.url, "small", **more)
        yield embeddings, server
        await embeddings.aclose()


async def test_texts_become_unit_rows_in_their_order() -> None:
    async with encoder() as (embeddings, _):
        assert (embeddings.name, embeddings.dimensions) == ("openai:small", None)
        rows = await embeddings.documents(["请年假", "报销", "请年假"])
        assert rows.dtype == np.float32
        assert rows.shape == (3, model_server.DIMENSIONS) == (3, embeddings.dimensions)
    assert np.allclose(np.linalg.norm(rows, axis=1), 1, atol=1e-6)
    assert np.array_equal(rows[0], rows[2])
    assert not np.allclose(rows[0], rows[1])


async def test_many_texts_go_in_bounded_batches() -> None:
    texts = [f"text {number}" for number in range(BATCH * 5 + 1)]
    async with encoder() as (embeddings, server):
        rows = await embeddings.documents(texts)
        sizes = [len(one.body["input"]) for one in server.requests]
        assert np.array_equal(rows[-1], (await embeddings.documents(texts[-1:]))[0])
    assert sorted(sizes) == [1] + [BATCH] * 5


async def test_queries_and_documents_have_the_prefixes_of_the_models_card() -> None:
    prefixes: dict[str, Any] = {"query_prefix": "query: ", "document_prefix": "passage: "}
    async with encoder(**prefixes) as (embeddings, server), encoder() as (plain, _):
        await embeddings.queries(["a"])
        await embeddings.documents(["a"])
        assert [one.body["input"] for one in server.requests] == [["query: a"], ["passage: a"]]
        assert embeddings.version != plain.version


async def test_no_texts_are_no_request_and_an_empty_text_is_sent_as_something() -> None:
    async with encoder() as (embeddings, server):
        assert (await embeddings.queries([])).shape == (0, 0)
        assert server.requests == []
        assert (await embeddings.documents(["", "  "])).shape[0] == 2
        assert all(server.requests[0].body["input"])


async def test_rows_are_put_in_the_order_of_their_index() -> None:
    entries = [{"index": 1, "embedding": [0, 2]}, {"index": 0, "embedding": [3, 0]}]
    async with encoder(sends({"data": entries})) as (embeddings, _):
        assert (await embeddings.queries(["a", "b"])).tolist() == [[1.0, 0.0], [0.0, 1.0]]


@each_row(
    "body",
    [
        *({}, [], {"data": []}, {"data": [3]}, {"error": {"message": "loading"}}),
        *({"data": [{"index": 0}]}, {"data": [{"index": None, "embedding": [1.0]}]}),
        *(
            {"data": [{"index": 0, "embedding": vector}]}
            for vector in ([], "AAAA", [[1.0]], [0.0, 0.0], [None, 1.0])
        ),
    ],
)
async def test_what_is_no_vector_is_named_and_never_used(body: Any) -> None:
    async with encoder(sends(body)) as (embeddings, _):
        with pytest.raises(ModelUnavailable):
            await embeddings.queries(["a"])


async def test_vectors_of_another_length_than_before_are_refused() -> None:
    async with encoder() as (embeddings, server):
        await embeddings.queries(["a"])
        server.embeddings = sends({"data": [{"index": 0, "embedding": [1.0]}]})
        with pytest.raises(ModelUnavailable, match="1 dimensions, and had 64 before"):
            await embeddings.queries(["b"])


async def test_errors_are_those_of_every_model() -> None:
    async with encoder(rate_limits("3")) as (embeddings, server):
        with pytest.raises(ModelUnavailable) as caught:
            await embeddings.queries(["a"] * 200)
        assert caught.value.retry_after == 3
        server.embeddings = fails(401)
        with pytest.raises(AccessRefused):
            await embeddings.queries(["a"])


async def test_a_server_that_hangs_costs_the_deadline() -> None:
    async with encoder(hangs(), seconds=0.1) as (embeddings, _):
        with pytest.raises(ModelUnavailable, match=r"took longer than 0.1 s"):
            await embeddings.queries(["a"])
