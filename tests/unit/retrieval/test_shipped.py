from pathlib import Path

import numpy as np
import pytest

from activities.policies.book import PolicyBook
from router.retrieval.background import encoded_background, sentences
from router.retrieval.encoders import EmbeddedEncoder
from router.retrieval.index import CapabilityIndex
from router.retrieval.vector_cache import (
    RecentVectors,
    RememberedEncoder,
    ShippedVectors,
    VectorFile,
    write,
)
from router.runtime.composition import assembled
from router.settings import Settings
from tests.unit.retrieval.encoders import PairsEncoder


class Posing(PairsEncoder):
    """Says it is the embedded encoder, and counts what it is asked to encode."""

    name = EmbeddedEncoder.name

    def __init__(self) -> None:
        super().__init__(EmbeddedEncoder().version)


async def test_nothing_of_the_background_is_encoded_where_the_embedded_encoder_is_used() -> None:
    encoder = Posing()
    background = await encoded_background(RememberedEncoder(encoder, ShippedVectors()))
    assert encoder.encoded == []
    assert background.queries.shape[1] == EmbeddedEncoder.dimensions
    np.testing.assert_allclose(np.linalg.norm(background.queries, axis=1), 1, rtol=1e-5)


async def test_nothing_that_ships_is_encoded_by_a_first_start(tmp_path: Path) -> None:
    """Where this fails, run `python -m router.runtime.vectors`."""
    async with assembled(Settings.load(data=tmp_path)) as parts:
        encoder = Posing()
        await CapabilityIndex(encoder).update(parts.offered.everything())
        await PolicyBook.load(encoder=encoder).learn(RecentVectors())
    assert encoder.encoded == []


async def test_a_memory_is_there_though_nothing_had_to_be_encoded(tmp_path: Path) -> None:
    """A single `route` searches by meaning where an earlier command has learnt what there is."""
    encoder, file = Posing(), tmp_path / "vectors.db"
    await CapabilityIndex(encoder, VectorFile(file)).update([])
    assert encoder.encoded == []
    assert file.exists()


async def test_what_is_shipped_is_what_the_encoder_makes_of_the_texts() -> None:
    texts = [*sentences("needs_a_tool.txt")[:3], *sentences("needs_no_tool.txt")[-3:]]
    encoder = EmbeddedEncoder()
    shipped = RememberedEncoder(Posing(), ShippedVectors())
    cosines = np.sum(await shipped.queries(texts) * await encoder.queries(texts), axis=1)
    assert cosines.min() > 0.999


@pytest.mark.parametrize("version", ["0.0.1", ""])
async def test_another_encoder_encodes_for_itself(version: str) -> None:
    encoder = PairsEncoder(version)
    await encoded_background(RememberedEncoder(encoder, ShippedVectors()))
    assert set(sentences("needs_a_tool.txt")) <= set(encoder.encoded)


async def test_a_changed_sentence_is_encoded_and_remembered_behind() -> None:
    encoder, behind = Posing(), RecentVectors()
    shipped = RememberedEncoder(RememberedEncoder(encoder, behind), ShippedVectors())
    await shipped.queries(["a sentence that nobody shipped"])
    await shipped.queries(["a sentence that nobody shipped"])
    assert encoder.encoded == ["a sentence that nobody shipped"]


async def test_without_the_file_everything_is_encoded(tmp_path: Path) -> None:
    encoder = Posing()
    await encoded_background(RememberedEncoder(encoder, ShippedVectors(tmp_path / "none.npz")))
    assert len(encoder.encoded) > len(sentences("needs_a_tool.txt"))


def test_what_is_written_is_recalled_whatever_its_order(tmp_path: Path) -> None:
    known = {bytes([row] * 16): np.eye(3, dtype=np.float32)[row] for row in (2, 0, 1)}
    one, other = tmp_path / "one.npz", tmp_path / "other.npz"
    write(known, one)
    write(dict(sorted(known.items())), other)
    recalled = ShippedVectors(one).recall([*known, b"unknown"])
    assert recalled.keys() == known.keys()
    for key, row in known.items():
        np.testing.assert_array_equal(recalled[key], row)
    with np.load(one) as first, np.load(other) as second:
        np.testing.assert_array_equal(first["keys"], second["keys"])


class Planted:
    """Pickled, it would have its own folder made on being read."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def __reduce__(self) -> tuple[object, ...]:
        return Path.mkdir, (self._folder,)


def test_a_file_of_vectors_that_would_run_code_is_refused(tmp_path: Path) -> None:
    ran, file = tmp_path / "ran", tmp_path / "vectors.npz"
    planted = np.array([Planted(ran)], dtype=object)
    np.savez(file, keys=planted, rows=planted)
    with pytest.raises(ValueError, match="allow_pickle"):
        ShippedVectors(file).recall([b"any"])
    assert not ran.exists()
