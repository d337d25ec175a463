"""No text is encoded twice: in memory, on disk, and shipped."""

import multiprocessing
from pathlib import Path

import numpy as np
import pytest

from company.policies.book import PolicyBook
from router.retrieval.encoders import EmbeddedEncoder
from router.retrieval.index import CapabilityIndex
from router.retrieval.statistics import encoded_background, sentences
from router.retrieval.vector_cache import (
    FILE,
    RecentVectors,
    RememberedEncoder,
    ShippedVectors,
    VectorFile,
    write,
)
from router.runtime.composition import assembled
from router.settings import Settings
from tests.fakes.encoder import PairsEncoder
from tests.table import each_row


async def test_a_text_is_encoded_once_for_each_side() -> None:
    encoder = PairsEncoder()
    remembered = RememberedEncoder(encoder, RecentVectors())
    first = await remembered.queries(["年假", "leave", "年假"])
    again = await remembered.queries(["leave"])
    assert encoder.encoded == ["年假", "leave"]
    assert (first[0] == first[2]).all()
    assert (first[1] == again[0]).all()
    assert (await remembered.documents(["leave"]) != again).any()


async def test_another_version_of_the_encoder_encodes_anew(tmp_path: Path) -> None:
    memory, newer = VectorFile(tmp_path / "v.db"), PairsEncoder("2")
    await RememberedEncoder(PairsEncoder("1"), memory).queries(["年假"])
    await RememberedEncoder(newer, memory).queries(["年假"])
    assert newer.encoded == ["年假"]


async def test_what_was_used_longest_ago_is_forgotten_first() -> None:
    encoder = PairsEncoder()
    remembered = RememberedEncoder(encoder, RecentVectors(max_vectors=2))
    for text in ("a", "b", "a", "c", "a", "b"):
        await remembered.queries([text])
    assert encoder.encoded == ["a", "b", "c", "b"]


@each_row("texts", [[], ["\ud83d"]])
async def test_no_text_and_broken_text_are_encoded_too(texts: list[str]) -> None:
    rows = await RememberedEncoder(PairsEncoder(), RecentVectors()).queries(texts)
    assert rows.shape == (len(texts), PairsEncoder.dimensions)


ROW = np.arange(4, dtype=np.float32)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "some" / "folder" / "vectors.db"


def test_thousands_of_vectors_survive_the_process_and_are_recalled_at_once(path: Path) -> None:
    first, kept = VectorFile(path), {str(i).encode(): ROW + i for i in range(2500)}
    first.keep(kept)
    first.close()
    found = VectorFile(path).recall([*kept, b"other"])
    assert {key: row.tolist() for key, row in found.items()} == {
        key: row.tolist() for key, row in kept.items()
    }
    assert found[b"7"].dtype == np.float32


@pytest.mark.parametrize(
    "garbage", [b"this is no database" * 500, b"SQLite format 3\0" + b"x" * 999]
)
def test_a_damaged_file_is_put_aside_and_started_anew(path: Path, garbage: bytes) -> None:
    path.parent.mkdir(parents=True)
    path.write_bytes(garbage)
    file = VectorFile(path)
    assert file.recall([b"a"]) == {}
    file.keep({b"a": ROW})
    assert b"a" in file.recall([b"a"])
    assert path.with_name("vectors.db.damaged").read_bytes() == garbage


def test_a_folder_that_cannot_be_written_costs_only_the_memory(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    file = VectorFile(tmp_path / "file" / "vectors.db")
    file.keep({b"a": ROW})
    assert file.recall([b"a"]) == {}


def write_for_ever(path: Path, name: str) -> None:
    file, number = VectorFile(path), 0
    while True:
        file.keep({f"{name}{number}".encode(): ROW})
        number += 1


@pytest.mark.slow
def test_processes_share_it_and_may_be_killed_in_the_middle(path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    writers = [context.Process(target=write_for_ever, args=(path, name)) for name in "ab"]
    for writer in writers:
        writer.start()
    file = VectorFile(path)
    while not {b"a3", b"b3"} <= set(file.recall([b"a3", b"b3"])):
        pass
    for writer in writers:
        writer.kill()
        writer.join()
    file.keep({b"c": ROW})
    assert len(VectorFile(path).recall([b"a0", b"b0", b"c"])) == 3


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


@pytest.mark.slow
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


@pytest.mark.slow
@each_row(
    ("encoder", "file"),
    [(PairsEncoder("0.0.1"), FILE), (PairsEncoder(""), FILE), (Posing(), Path("none.npz"))],
)
async def test_another_encoder_or_file_has_all_encoded(encoder: PairsEncoder, file: Path) -> None:
    await encoded_background(RememberedEncoder(encoder, ShippedVectors(file)))
    assert set(sentences("needs_a_tool.txt")) <= set(encoder.encoded)


async def test_a_changed_sentence_is_encoded_and_remembered_behind() -> None:
    encoder, behind = Posing(), RecentVectors()
    shipped = RememberedEncoder(RememberedEncoder(encoder, behind), ShippedVectors())
    await shipped.queries(["a sentence that nobody shipped"])
    await shipped.queries(["a sentence that nobody shipped"])
    assert encoder.encoded == ["a sentence that nobody shipped"]


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
