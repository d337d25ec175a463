import multiprocessing
from pathlib import Path

import numpy as np
import pytest

from router.retrieval.vector_cache import VectorFile

ROW = np.arange(4, dtype=np.float32)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "some" / "folder" / "vectors.db"


def test_vectors_survive_the_process(path: Path) -> None:
    first = VectorFile(path)
    first.keep({b"a": ROW})
    first.close()
    found = VectorFile(path).recall([b"a", b"b"])
    assert list(found) == [b"a"]
    assert found[b"a"].tolist() == ROW.tolist()
    assert found[b"a"].dtype == np.float32


def test_thousands_are_recalled_at_once(path: Path) -> None:
    file = VectorFile(path)
    kept = {str(i).encode(): ROW + i for i in range(2500)}
    file.keep(kept)
    assert len(file.recall(list(kept))) == 2500


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
