from pathlib import Path

import pytest

from router.domain.errors import MisconfiguredError
from router.retrieval.selection import Thresholds, read_thresholds, write_thresholds


def test_what_was_written_is_read(tmp_path: Path) -> None:
    path = tmp_path / "new" / "thresholds.json"
    write_thresholds(path, Thresholds(known=0.4, needs_tool=0.05, margin=0.7))
    assert read_thresholds(path) == Thresholds(known=0.4, needs_tool=0.05, margin=0.7)


def test_a_margin_without_end_is_written_as_one_that_can_be_read(tmp_path: Path) -> None:
    path = tmp_path / "thresholds.json"
    write_thresholds(path, Thresholds(margin=float("inf")))
    assert read_thresholds(path).margin == 1000


def test_what_a_file_leaves_out_is_the_default(tmp_path: Path) -> None:
    path = tmp_path / "thresholds.json"
    path.write_text('{"known": 1}')
    assert read_thresholds(path) == Thresholds(known=1.0)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "isn't JSON"),
        (b"\xff", "isn't JSON"),
        (b"[" * 100_000, "isn't JSON"),
        (b"[]", "holds list, not an object"),
        (b'{"margins": 1}', "has 'margins', and there are known, needs_tool, margin"),
        (b'{"known": "0.5"}', "has known = 0.5, which has to be a number, 0 to 1000"),
        (b'{"known": true}', "has known = True"),
        (b'{"known": -0.1}', "has known = -0.1"),
        (b'{"margin": NaN}', "has margin = nan"),
        (b'{"margin": 1e999}', "has margin = inf"),
        (b'{"margin": 1' + b"0" * 400 + b"}", "has margin = 1000"),
    ],
)
def test_anything_else_is_refused_with_what_to_do(
    tmp_path: Path, content: bytes, said: str
) -> None:
    path = tmp_path / "thresholds.json"
    path.write_bytes(content)
    with pytest.raises(MisconfiguredError) as refused:
        read_thresholds(path)
    assert str(refused.value).startswith(f"ROUTER_THRESHOLDS={path} ")
    assert said in str(refused.value)
    assert "eval FILE --fit DEV" in str(refused.value)


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(MisconfiguredError, match=r"nowhere\.json can't be read \(No such file"):
        read_thresholds(tmp_path / "nowhere.json")


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(MisconfiguredError, match=r"thresholds\.json can't be written"):
        write_thresholds(tmp_path / "file" / "thresholds.json", Thresholds())
