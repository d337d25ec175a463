"""What is wrong with a file that is watched is said once for each time that it is edited."""

from pathlib import Path

from router.domain.errors import InvalidInput
from router.formats.watcher import Watcher


class Reader:
    """Reads files that say `ok`, and whatever else once it is `lenient`; keeps what it refuses."""

    def __init__(self, path: Path) -> None:
        self.lenient = False
        self.said: list[str] = []
        complain = self.said.append
        self.watcher = Watcher(lambda: [path], self.read, lambda _, __, error: complain(str(error)))
        self.watcher.begin(lambda: {path: self.read(path)})

    def read(self, path: Path) -> str:
        text = path.read_text()
        if text == "ok" or self.lenient:
            return text
        raise InvalidInput(f"{text} is wrong: write ok")


def test_a_bad_file_is_said_once_however_often_it_is_tried_again(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_text("ok")
    reader = Reader(path)
    path.write_text("bad")
    assert reader.watcher.reload() == ["ok"]
    assert reader.watcher.unsound == [path]
    reader.watcher.retry()
    assert reader.watcher.reload() == ["ok"]
    assert reader.said == ["bad is wrong: write ok"]
    reader.lenient = True
    reader.watcher.retry()
    assert reader.watcher.reload() == ["bad"]
    assert reader.watcher.unsound == []


def test_a_file_that_is_edited_and_still_bad_is_said_again(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_text("ok")
    reader = Reader(path)
    for text in ("bad", "worse"):
        path.write_text(text)
        reader.watcher.reload()
    assert reader.said == ["bad is wrong: write ok", "worse is wrong: write ok"]
