"""Where a `dev` serves is found in its folder while it runs, and only then."""

import json
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from router.runtime.data_folder import SERVED, ServedPorts, announced, claimed, served

PORTS = ServedPorts(api=18001, temporal=17001, ui=18002, metrics=19001)


@contextmanager
def running(folder: Path) -> Iterator[None]:
    with claimed(folder) as held, announced(held, PORTS):
        yield


def test_where_a_dev_serves_is_known_while_it_runs_and_then_no_longer(tmp_path: Path) -> None:
    assert served(tmp_path) is None
    with running(tmp_path):
        assert served(tmp_path) == PORTS
        assert stat.S_IMODE((tmp_path / SERVED).stat().st_mode) == 0o600
    assert served(tmp_path) is None
    assert not (tmp_path / SERVED).exists()


def test_what_a_killed_dev_has_left_is_nobodys(tmp_path: Path) -> None:
    with running(tmp_path):
        left = (tmp_path / SERVED).read_text()
    (tmp_path / SERVED).write_text(left)
    assert served(tmp_path) is None


def test_what_a_killed_dev_has_left_does_not_count_for_the_one_that_is_starting(
    tmp_path: Path,
) -> None:
    with claimed(tmp_path):
        left = {"pid": os.getpid() + 1, "ports": {"api": 1, "temporal": 2, "ui": 3}}
        (tmp_path / SERVED).write_text(json.dumps(left))
        assert served(tmp_path) is None


def test_a_file_that_says_something_else_is_none(tmp_path: Path) -> None:
    with running(tmp_path):
        (tmp_path / SERVED).write_text('{"pid": 1, "url": "https://else.example"}')
        assert served(tmp_path) is None
