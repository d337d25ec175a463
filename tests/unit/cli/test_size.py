"""What so many employees take: computed from what was measured, and the same in the docs."""

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from router.cli import main
from router.cli.size import CACHED, LINES, MEASURED, Habits, Sizes, table

ROOT = Path(__file__).parents[3]
IN_DOCS = ("10000", "100000", "1000000")


def fenced(page: str, name: str) -> str:
    """What stands in the page's block of that name."""
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    found = re.search(rf"^```text {name}\n(.*?)\n```$", text, flags=re.MULTILINE | re.DOTALL)
    assert found is not None, f"docs/{page} has no block `{name}`"
    return found[1]


def printed(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    with pytest.raises(SystemExit) as ended:
        main(["size", *words])
    assert ended.value.code == 0
    return capsys.readouterr().out


def sizes(employees: int = 10_000, **assumed: Any) -> Sizes:
    return Sizes(employees, Habits(**assumed), MEASURED)


def test_the_table_of_the_docs_is_what_the_command_prints(
    capsys: pytest.CaptureFixture[str],
) -> None:
    words = [word for number in IN_DOCS for word in ("--employees", number)]
    assert fenced("operations.md", "size") == printed(capsys, *words).rstrip("\n")


@pytest.mark.parametrize(
    ("kind", "row"),
    [
        ("small talk", "small talk"),
        ("status", "a status question"),
        ("model", "a model's turn with a tool"),
        ("request", "a leave request, to its approval"),
    ],
)
def test_what_a_turn_takes_of_temporal_is_what_the_docs_say_was_counted(
    kind: Any, row: str
) -> None:
    lines = fenced("benchmarks.md", "actions").splitlines()
    (line,) = [line for line in lines if line.startswith(f"{row}  ")]
    actions, visibility, events, _, kib = map(float, line.removeprefix(row).split())
    assert MEASURED.kinds[kind][1:] == (actions, visibility, events, kib)


def test_what_a_turn_takes_of_processors_is_what_the_docs_say_was_measured() -> None:
    lines = fenced("benchmarks.md", "stages").splitlines()
    (line,) = [line for line in lines if line.startswith("all ")]
    talk, _, status, _, flow, _, model, _ = map(float, line.split()[1:])
    expected = {"small talk": talk, "status": status, "model": model, "request": 3 * flow}
    cpu = {kind: taken.cpu for kind, taken in MEASURED.kinds.items()}
    assert cpu == pytest.approx(expected, abs=0.15)


def test_turns_are_of_the_busiest_hour() -> None:
    of = sizes(36_000, turns=10, requests=0, peak=0.5)
    assert of.at_peak(of.turns) == pytest.approx(50)
    assert sizes(21, turns=0, requests=1).turns == pytest.approx(3)


def test_what_is_twice_as_many_takes_twice_as_much_and_one_process_more_each_is_there() -> None:
    few, many = sizes(1_000_000), sizes(2_000_000)
    assert many.cores == pytest.approx(2 * few.cores)
    assert many.open == pytest.approx(2 * few.open)
    assert (sizes(1).workers, sizes(1).apis) == (2, 2)


def test_no_more_is_in_memory_than_workers_keep_and_the_rest_is_replayed() -> None:
    few, many = sizes(1000), sizes(1_000_000)
    assert few.cached == few.open
    assert many.cached == many.workers * CACHED < many.open
    (replayed,) = [line for line in LINES if "replayed" in line.name.en]
    assert replayed.value(few) == 0
    assert replayed.value(many) == pytest.approx(many.open - many.workers * CACHED)


def test_a_long_conversation_takes_more_memory_until_it_continues_as_new() -> None:
    kept = MEASURED.turns_held
    one, two, longest, longer = (
        sizes(100_000, requests=100, length=n) for n in (1, 2, kept, 5 * kept)
    )
    assert one.cached == longer.cached == one.workers * CACHED
    grown = (two.memory - one.memory) * 2**20 / one.cached
    assert grown == pytest.approx(MEASURED.turn_kib)
    assert longest.memory == longer.memory > two.memory


@pytest.mark.parametrize("name", ["cpu", "temporal_cpu", "process_mib", "open_kib", "rows"])
def test_the_docs_say_of_each_figure_what_it_is_computed_with(name: str) -> None:
    kinds = MEASURED.kinds
    said = {
        "cpu": f"{kinds['small talk'].cpu:.0f} ms of CPU for small talk, {kinds['status'].cpu:.0f} "
        f"for a flow's answer or a status question, {kinds['model'].cpu:.0f} for a model's turn",
        "temporal_cpu": f"{MEASURED.temporal_cpu:.0f} ms of CPU",
        "process_mib": f"{MEASURED.process_mib} MiB",
        "open_kib": f"{MEASURED.open_kib} KiB, and some {MEASURED.turn_kib} for each further of "
        f"its last {MEASURED.turns_held} turns; {CACHED:,} of them",
        "rows": f"{MEASURED.rows} rows and {MEASURED.row_kib} KiB",
    }
    page = (ROOT / "docs" / "operations.md").read_text(encoding="utf-8")
    sizing = page.split("\n## Sizing\n")[1].split("\n## ")[0]
    assert f"| {said[name]}" in sizing


def test_shards_are_a_power_of_two_and_never_few() -> None:
    assert sizes(1).shards == 512
    busy = replace(MEASURED, kinds={k: v._replace(events=1e5) for k, v in MEASURED.kinds.items()})
    assert Sizes(100_000, Habits(), busy).shards.bit_count() == 1
    assert Sizes(100_000, Habits(), busy).shards > 512


def test_both_languages_have_the_same_values() -> None:
    zh, en = (table([5000], Habits(), locale) for locale in ("zh", "en"))
    assert [row[1] for row in zh] == [row[1] for row in en]
    assert all(a[0] != b[0] for a, b in zip(zh, en, strict=True))


@pytest.mark.parametrize(
    "words",
    [
        [],
        ["--employees", "0"],
        ["--employees", "-5"],
        ["--employees", "ten"],
        ["--employees", "1e9"],
        ["--employees", "99999999999"],
        ["--employees", "10", "--peak", "1.5"],
        ["--employees", "10", "--model", "-0.1"],
        ["--employees", "10", "--length", "0"],
        ["--employees", "10", "--turns", "nan"],
        ["--employees", "10", "--requests", "inf"],
        ["--employees", "10", "--locale", "fr"],
    ],
    ids=" ".join,
)
def test_what_is_no_number_of_anything_is_refused(
    words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["size", *words])
    assert ended.value.code == 2
    assert "error:" in capsys.readouterr().err
