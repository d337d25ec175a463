"""The suite's own tools: tables of cases, shards, shared servers."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.servers import SharedServerError, server_address
from tests.shards import SHARDS, Shard
from tests.table import each_row

ROOT = Path(__file__).parents[3]
TABLE = """\
import pytest
from tests.table import each_row

@each_row("number, half", [(2, 1), pytest.param(3, 2, id="odd"), (4, 2)])
@each_row("sign", [1, -1], ids=["plus", "minus"])
def test_halves(number, half, sign):
    assert sign * number == 2 * sign * half

@each_row("text", ["a", "b"])
async def test_is_awaited(text):
    assert text == "a"
"""


def test_a_table_is_one_test_that_reports_each_failing_row(tmp_path: Path) -> None:
    (tmp_path / "test_table.py").write_text(TABLE)
    command = [sys.executable, "-m", "pytest", "-q", "-o", "asyncio_mode=auto", str(tmp_path)]
    run = subprocess.run(
        [*command, "-p", "no:cacheprovider", "--rootdir", str(tmp_path)],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    titles = ["test_halves [minus-odd]", "test_halves [plus-odd]", "test_is_awaited ['b']"]
    assert [title for title in titles if title not in run.stdout] == [], run.stdout
    assert "contains 2 failed subtests" in run.stdout


@each_row(
    ("names", "values"),
    [
        ("one", []),
        ("one, two", [(1,)]),
        ("one", [pytest.param(1, marks=pytest.mark.slow)]),
    ],
    ids=["no rows", "too few values", "a mark"],
)
def test_a_table_that_cannot_be_run_is_refused(names: str, values: list[object]) -> None:
    with pytest.raises(TypeError):
        each_row(names, values)


def test_each_module_belongs_to_one_shard() -> None:
    shards = [Shard(number, SHARDS) for number in range(1, SHARDS + 1)]
    for module in (ROOT / "tests").rglob("test_*.py"):
        assert sum(shard.has(module) for shard in shards) == 1


@each_row("text", ["", "2", "0/4", "5/4", "1/0", "-1/4", "1/4/1", "one/four", "1/9999"])
def test_what_is_no_shard_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is no shard: write 2/4"):
        Shard.parse(text)


def test_a_shared_server_that_there_is_not_is_refused_by_name() -> None:
    with pytest.raises(SharedServerError, match="there is no shared server 'mainframe'"):
        server_address("mainframe")
