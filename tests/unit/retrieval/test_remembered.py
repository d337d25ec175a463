from pathlib import Path

import pytest

from router.retrieval.vector_cache import RecentVectors, RememberedEncoder, VectorFile
from tests.unit.retrieval.encoders import PairsEncoder


async def test_a_text_is_encoded_once() -> None:
    encoder = PairsEncoder()
    remembered = RememberedEncoder(encoder, RecentVectors())
    first = await remembered.queries(["年假", "leave", "年假"])
    again = await remembered.queries(["leave"])
    assert encoder.encoded == ["年假", "leave"]
    assert (first[0] == first[2]).all()
    assert (first[1] == again[0]).all()


async def test_the_two_sides_of_a_text_are_kept_apart() -> None:
    remembered = RememberedEncoder(PairsEncoder(), RecentVectors())
    query, document = await remembered.queries(["年假"]), await remembered.documents(["年假"])
    assert (query != document).any()


async def test_another_version_of_the_encoder_encodes_anew(tmp_path: Path) -> None:
    memory, newer = VectorFile(tmp_path / "v.db"), PairsEncoder("2")
    await RememberedEncoder(PairsEncoder("1"), memory).queries(["年假"])
    await RememberedEncoder(newer, memory).queries(["年假"])
    assert newer.encoded == ["年假"]


async def test_what_was_used_longest_ago_is_forgotten_first() -> None:
    encoder = PairsEncoder()
    remembered = RememberedEncoder(encoder, RecentVectors(most=2))
    for text in ("a", "b", "a", "c", "a", "b"):
        await remembered.queries([text])
    assert encoder.encoded == ["a", "b", "c", "b"]


@pytest.mark.parametrize("texts", [[], ["\ud83d"]])
async def test_no_text_and_broken_text_are_encoded_too(texts: list[str]) -> None:
    rows = await RememberedEncoder(PairsEncoder(), RecentVectors()).queries(texts)
    assert rows.shape == (len(texts), PairsEncoder.dimensions)
