"""What the pages and the tree's own figures say is so."""

import ast
import importlib.util
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from company.people.records import Balance
from company.tools.summaries import balance
from router.flow.language.functions import FUNCTIONS, LOOKUPS
from tests.drills.desk import LEFT
from tests.figures import SAMPLE_WORDS, find_cycle, lines_with
from tests.table import each_row

ROOT = Path(__file__).parents[3]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
LIBRARIES = (ROOT / "docs" / "libraries.md").read_text()
FLOWS = (ROOT / "docs" / "flows.md").read_text()


EXTRAS = PROJECT["optional-dependencies"]
USED = ("adapters", "documents", "docs", "test")
REQUIREMENTS = [*PROJECT["dependencies"], *(each for name in USED for each in EXTRAS[name])]


@each_row("requirement", [name for name in REQUIREMENTS if not name.startswith("intent-router[")])
def test_every_dependency_says_why_it_is_here(requirement: str) -> None:
    name = re.split(r"[<>=]", requirement)[0]
    if not name.startswith("types-"):
        assert f"`{name}`" in LIBRARIES


@each_row("name", [*FUNCTIONS, *LOOKUPS])
def test_every_function_of_expressions_is_described(name: str) -> None:
    assert f"`{name}(" in FLOWS


def test_every_drill_has_its_section_and_every_section_its_drill() -> None:
    page = (ROOT / "docs" / "operations.md").read_text().split("\n## Drills\n")[1].split("\n## ")[0]
    modules = (path.read_text() for path in (ROOT / "tests" / "drills").glob("*.py"))
    drills = set(re.findall(r'^@drill\("(.+)"\)', "\n".join(modules), re.MULTILINE))
    sections = page.split("\n### ")[1:]
    assert {each.partition("\n")[0] for each in sections} == drills
    parts = ("**You see**", "**Why**", "**Type**")
    assert [each for each in sections if any(part not in each for part in parts)] == []


def test_drills_read_the_balance_as_the_desk_says_it() -> None:
    has = {"leave_type": "annual", "year": 2026, "entitled": 15, "used": 3, "days": 12}
    assert LEFT.findall(balance(Balance.model_validate(has), "en")) == ["12"]


RISKS = [*(f"LLM{n:02}" for n in range(1, 11)), *(f"ASI{n:02}" for n in range(1, 11))]
COLUMNS = ["risk", "control", "in", "proven by", "left to the operator"]
_NAMED = re.compile(r"`([^`]+)`")


def table(heading: str) -> list[list[str]]:
    """The rows below a heading of the page on security, cell by cell."""
    section = (ROOT / "docs" / "security.md").read_text().split(f"## {heading}\n")[1]
    rows = [line for line in section.split("\n## ")[0].splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in row.strip("|").split("|")] for row in rows]


ROWS = {row[0].split()[0]: row for row in table("Risks by name")[2:]}
ATTACKS = table("Attacks")[2:]
PROOFS = sorted({proof for row in [*ROWS.values(), *ATTACKS] for proof in _NAMED.findall(row[3])})


def test_every_risk_has_a_row_and_no_row_is_cut_short() -> None:
    assert table("Risks by name")[0] == COLUMNS
    assert list(ROWS) == RISKS
    assert {len(row) for row in ROWS.values()} == {len(COLUMNS)}


@each_row("risk", RISKS)
def test_what_holds_a_risk_off_is_there_and_has_a_proof(risk: str) -> None:
    _, control, places, proofs, _ = ROWS[risk]
    assert control
    named = _NAMED.findall(places)
    assert named
    assert [place for place in named if not (ROOT / place).exists()] == []
    assert _NAMED.findall(proofs)


@each_row("attack", ATTACKS, ids=lambda row: row[0][:30])
def test_an_attack_says_who_and_what_holds_and_has_a_proof(attack: list[str]) -> None:
    _, who, holds, proofs = attack
    assert who
    assert holds
    assert _NAMED.findall(proofs)


@pytest.mark.slow
def test_every_proof_is_a_test_that_is_there() -> None:
    places = {proof.partition("::")[0] for proof in PROOFS}
    there = {test for place in places for test in held(place)}
    assert [proof for proof in PROOFS if proof not in there] == []


def held(place: str) -> Iterator[str]:
    """The file itself and its tests, as pytest names them."""
    assert Path(place).name.startswith("test_")
    yield place
    for one in ast.parse((ROOT / place).read_text()).body:
        within = one.body if isinstance(one, ast.ClassDef) else [one]
        prefix = f"{one.name}::" if isinstance(one, ast.ClassDef) else ""
        for each in within:
            name = getattr(each, "name", "")
            if name.startswith("test_"):
                yield f"{place}::{prefix}{name}"


PAGE = ROOT / "docs" / "benchmarks.md"
IMAGES = ROOT / "docs" / "images" / "bench"

TABLE = """
Turns, milliseconds
                       p50     p95
intent-router        165.3   1,234.8
bare Temporal, 1       9     220.0
ratio                 1.15    1.07
"""


def loaded(name: str) -> ModuleType:
    """A file of `bench/`, which is a folder of scripts and no package."""
    spec = importlib.util.spec_from_file_location(f"bench_{name}", ROOT / "bench" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


plots = loaded("plots")


def test_every_picture_is_what_the_pages_tables_say_and_shown_there() -> None:
    page = PAGE.read_text(encoding="utf-8")
    drawn = plots.pictures(page)
    kept = {path.name: path.read_text(encoding="utf-8") for path in IMAGES.glob("*.svg")}
    assert kept == drawn, "run .venv/bin/python bench/plots.py"
    assert [name for name in drawn if f"(images/bench/{name})" not in page] == []


def test_every_benchmark_has_its_place_on_the_page() -> None:
    held = plots.tables(PAGE.read_text(encoding="utf-8"))
    files = (path for path in (ROOT / "bench").glob("*.py") if path.stem not in NO_TABLE)
    named = {path.stem for path in files if '__name__ == "__main__"' in path.read_text("utf-8")}
    assert named - set(held) == set()


NO_TABLE = {"__main__", "plots", "flames", "semantic_router_peer"}
"""What prints pages and pictures of others, or answers another benchmark."""


def test_a_row_is_read_with_its_label_and_columns() -> None:
    bars = plots.columns("p50", "p95", rows="intent-router|bare")(TABLE)
    assert bars.rows == (("intent-router", (165.3, 1234.8)), ("bare Temporal, 1", (9.0, 220.0)))
    assert plots.columns("a", "b", "c")(TABLE).rows == ()  # too few numbers
    every_second = plots.columns("ours", "theirs", step=2)
    assert every_second("  10  seen     74   115     1     3\n").rows == (
        ("10 · seen", (74.0, 1.0)),
    )


LOAD = """
CPU ms a turn              ours  Temporal     sum   p50 ms
        small talk         14.1      20.2    34.3     41.0

one conversation of 1000 turns, ms: medians of its first, middle, last 50
        intent-router      41.0    42.5    44.1

   open                     p50     p90     p99   p99.9  turns  sustained    MiB
    100 intent-router      41.2    60.3    99.0   120.4     60     20.1/s    210
    100 floor              21.2    33.1    50.0    61.9     60     44.0/s     90
        ratio                                                       0.46
"""


def plot_of(name: str) -> Any:
    """The plot of a benchmark that may not be measured yet."""
    (found,) = (plot for plot in plots.PLOTS if plot.table == name)
    return found


def test_of_load_the_latencies_by_open_conversations_are_drawn_and_nothing_else() -> None:
    bars = plot_of("load").read(LOAD)
    assert bars.rows == (
        ("100 intent-router", (41.2, 60.3, 99.0, 120.4)),
        ("100 floor", (21.2, 33.1, 50.0, 61.9)),
    )


def test_of_asking_the_precision_and_recall_beside_each_other_are_drawn() -> None:
    heads = "lines     P, R at 0.5     P, R at 0.7     P, R at 0.8     P, R at 0.9"
    row = "en       1940      93.1, 95.4      95.6, 91.8      96.8, 87.9      98.2, 80.7"
    assert plot_of("asking").read(f"{heads}\n{row}").rows == (("en", (96.8, 87.9)),)


def test_of_what_is_not_measured_yet_there_is_no_picture() -> None:
    for plot in plots.PLOTS:
        assert plots.pictures(plots.fenced(plot.table, "(to be measured: python bench)")) == {}


def test_labels_are_no_markup_in_a_picture() -> None:
    bars = plots.Bars(("a",), (("<script>", (1.0,)),))
    assert "<script>" not in plots.svg("a & b", bars)


@each_row("log", [False, True])
def test_no_bar_is_longer_than_there_is_room(log: bool) -> None:
    bars = plots.Bars(("a",), (("none", (0.0,)), ("most", (1e6,))))
    assert 'width="420.0"' in plots.svg("t", bars, log=log)
    assert 'width="0.0"' in plots.svg("t", bars, log=log)


def test_a_newer_table_takes_the_place_of_the_older_and_nothing_else(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    older = plots.fenced("turns", "old      1     2")
    page.write_text(f"# B\n\n## T\n\n`python bench/turns.py`: 1 s.\n\n{older}\n\nProse.\n")
    newer = plots.fenced("turns", "intent-router     3     4")
    plots.replace(page, "turns", f"## T\n\n`python bench/turns.py`: 2 s.\n\n{newer}")
    text = page.read_text()
    assert text == f"# B\n\n## T\n\n`python bench/turns.py`: 2 s.\n\n{newer}\n\nProse.\n"
    assert "intent-router" in (tmp_path / "images" / "bench" / "turns.svg").read_text()


def test_a_page_without_the_table_is_left_as_it_is(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("# B\n")
    with pytest.raises(SystemExit, match="has no table of turns"):
        plots.replace(page, "turns", "## T\n\n`python bench/turns.py`: 2 s.\n\n")
    assert page.read_text() == "# B\n"


def test_a_benchmark_that_isnt_there_is_named() -> None:
    run = subprocess.run(
        [sys.executable, str(ROOT / "bench"), "flight"], capture_output=True, text=True, check=False
    )
    assert run.returncode == 2
    assert "no benchmark flight: there are" in run.stderr


@each_row(
    ("imports", "around"),
    [
        ({"a": {"b"}, "b": {"c"}, "c": set()}, set()),
        ({"a": {"b"}, "b": {"c"}, "c": {"a"}}, {"a", "b", "c"}),
        ({"a": {"a"}}, {"a"}),
        ({}, set()),
    ],
)
def test_a_cycle_of_imports_is_found(imports: dict[str, set[str]], around: set[str]) -> None:
    assert set(find_cycle(imports)) == around


@each_row(
    ("source", "lines"),
    [
        ('FLOW = "leave request"\n', [1]),
        ('def file() -> None:\n    """Open a leave request."""\n', []),
        ("flow = name  # a leave request\n", []),
        ("flow = name\n", []),
        ('AMOUNT = "报销"\nOTHER = "金额"\n', [1]),
    ],
)
def test_a_word_of_the_sample_company_is_found_in_code_alone(source: str, lines: list[int]) -> None:
    assert [number for number, _ in lines_with(SAMPLE_WORDS, source)] == lines
