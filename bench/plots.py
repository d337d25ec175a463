"""Pictures of the tables that `docs/benchmarks.md` holds: horizontal bars, as SVG.

    python bench/plots.py [docs/benchmarks.md]

A table is a fenced block whose info string is ``text`` and the benchmark's name. The page is the
only source: a test draws every picture again and compares. `PLOTS` says which rows and columns
are shown; there is no library behind it, since bars with words beside them are forty lines.
"""

import math
import re
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from html import escape
from pathlib import Path

PAGE = Path(__file__).parents[1] / "docs" / "benchmarks.md"
IMAGES = "images/bench"

WIDTH, LEFT, RIGHT, BAR, GAP, TOP = 760, 250, 90, 16, 10, 44
COLOURS = ("#3567b5", "#b9742c", "#5b8f4e", "#8a5aa8")


@dataclass(frozen=True)
class Bars:
    """Rows of a picture: what each is called, and a value for every series."""

    series: tuple[str, ...]
    rows: tuple[tuple[str, tuple[float, ...]], ...]


@dataclass(frozen=True)
class Plot:
    """Which picture is made of which benchmark's table.

    `log`: bars grow with the logarithm, for values of several orders of magnitude.
    """

    table: str
    title: str
    read: Callable[[str], Bars]
    log: bool = False


def columns(*series: str, first: int = 0, rows: str = ".", step: int = 1) -> Callable[[str], Bars]:
    """A reader of rows `label  number  number …`, of those whose label matches `rows`.

    Args:
        series: What the columns are called, in the legend.
        first: The first number of a row that is taken, counted from 0.
        rows: A regular expression, searched in the label.
        step: 2 takes every second number, where each has a p95 beside it.
    """

    def read(table: str) -> Bars:
        found = []
        for label, numbers in _rows(table):
            values = numbers[first::step][: len(series)]
            if len(values) == len(series) and re.search(rows, label):
                found.append((label, tuple(values)))
        return Bars(series, tuple(found))

    return read


def first_part(read: Callable[[str], Bars]) -> Callable[[str], Bars]:
    """The same reader, of a table's lines before its first empty one."""
    return lambda table: read(table.partition("\n\n")[0])


_NUMBER = re.compile(r"(?<![\w.@])\d[\d,]*(?:\.\d+)?(?![\w.@])")


def _rows(table: str) -> Iterable[tuple[str, list[float]]]:
    """Lines with a label and numbers. A label ends at two spaces; a number alone is one too."""
    for line in table.splitlines():
        cells = [cell for cell in re.split(r"\s{2,}", line.strip()) if cell]
        named = next((at for at, cell in enumerate(cells) if _NUMBER.match(cell) and at), None)
        if named is None:
            continue
        numbers = [float(n.replace(",", "")) for n in _NUMBER.findall("  ".join(cells[named:]))]
        yield " · ".join(cells[:named]), numbers


TURNS = columns("p50", "p95", rows="intent-router|bare")

PLOTS = (
    Plot("turns", "A flow turn, ms", TURNS),
    Plot("routed_turns", "A turn that a model decides, and one with a tool, ms", TURNS),
    Plot(
        "flow_length",
        "By how long the run already is (µs for a step, ms for turns)",
        columns("first", "middle", "last"),
    ),
    Plot(
        "load",
        "A turn by open conversations, ms, at one rate (bars by logarithm)",
        columns("p50", "p90", "p99", "p99.9", rows=r"^[\d,]+ [a-z]"),
        log=True,
    ),
    Plot(
        "understanding",
        "Understanding a message, 1,000 patterns, µs, p50 (bars by logarithm)",
        columns("ours", "re2.Set", "re loop", step=2, rows=r"^1,000 · "),
        log=True,
    ),
    Plot(
        "asking",
        "A request, or talk about one: %, where a likelihood of 0.8 counts",
        columns("precision", "recall", first=5, rows=r"^(zh|en)$"),
    ),
    Plot("tokens", "Tokens of a decision (bars by logarithm)", columns("mean"), log=True),
    Plot("context", "Tokens of a run of a skill", columns("ours", "plain", rows=r"^\d+$")),
    Plot("routing", "ToolE: recall at the first place, %", first_part(columns("@1"))),
    Plot("readers", "The last reader has it after, ms", columns("p50", "p95", rows=r"^\d+$")),
)


def svg(title: str, bars: Bars, *, log: bool = False) -> str:
    """The picture: readable on light and dark, its text as text."""
    most = max((value for _, values in bars.rows for value in values), default=1.0) or 1.0
    group = BAR * len(bars.series) + GAP
    height = TOP + group * len(bars.rows) + 8
    parts = [
        (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" '
            f'font-family="system-ui, sans-serif" font-size="12" role="img">'
        ),
        f"<title>{escape(title)}</title>",
        f'<rect width="{WIDTH}" height="{height}" fill="#ffffff"/>',
        f'<text x="8" y="18" font-size="14" font-weight="600">{escape(title)}</text>',
        *_legend(bars.series),
    ]
    for at, (label, values) in enumerate(bars.rows):
        top = TOP + at * group
        middle = top + BAR * len(values) / 2 + 4
        parts.append(
            f'<text x="{LEFT - 8}" y="{middle:.0f}" text-anchor="end">{escape(label)}</text>'
        )
        for n, value in enumerate(values):
            long = (WIDTH - LEFT - RIGHT) * _share(value, most, log=log)
            y = top + n * BAR
            parts.append(
                f'<rect x="{LEFT}" y="{y}" width="{long:.1f}" height="{BAR - 2}" '
                f'fill="{COLOURS[n]}"/>'
            )
            parts.append(f'<text x="{LEFT + long + 5:.1f}" y="{y + 11}">{value:,g}</text>')
    return "\n".join([*parts, "</svg>", ""])


def _share(value: float, most: float, *, log: bool) -> float:
    """How much of the width a bar takes."""
    return math.log1p(value) / math.log1p(most) if log else value / most


def _legend(series: tuple[str, ...]) -> Iterable[str]:
    for n, name in enumerate(series):
        x = LEFT + n * 110
        yield f'<rect x="{x}" y="26" width="10" height="10" fill="{COLOURS[n]}"/>'
        yield f'<text x="{x + 15}" y="35">{escape(name)}</text>'


def fenced(name: str, table: str) -> str:
    """A table as the page has it."""
    return f"```text {name}\n{table}\n```"


def tables(page: str) -> dict[str, str]:
    """The tables of a page, by the benchmark that made them."""
    return dict(re.findall(r"^```text (\w+)\n(.*?)\n```$", page, flags=re.MULTILINE | re.DOTALL))


def pictures(page: str) -> dict[str, str]:
    """Every picture that can be made of a page's tables: SVG by file name."""
    held = tables(page)
    drawn = {}
    for plot in PLOTS:
        bars = plot.read(held.get(plot.table, ""))
        if bars.rows:
            drawn[f"{plot.table}.svg"] = svg(plot.title, bars, log=plot.log)
    return drawn


def replace(path: Path, name: str, section: str) -> None:
    """Put a benchmark's newer table, with when and where it was taken, into a page that has one.

    Raises:
        SystemExit: the page has no section of this benchmark.
    """
    page = path.read_text(encoding="utf-8")
    taken, _, table = section.partition("\n\n")[2].partition("\n\n")
    older = re.compile(
        rf"^`python bench/{name}\.py`: .*?^```text {name}\n.*?^```$", re.MULTILINE | re.DOTALL
    )
    if not older.search(page):
        raise SystemExit(f"{path} has no table of {name}: write its section there first")
    path.write_text(older.sub(lambda _: f"{taken}\n\n{table}", page), encoding="utf-8")
    draw(path)


def draw(path: Path = PAGE) -> None:
    """Write the pictures of a page beside it."""
    folder = path.parent / IMAGES
    folder.mkdir(parents=True, exist_ok=True)
    for name, picture in pictures(path.read_text(encoding="utf-8")).items():
        (folder / name).write_text(picture, encoding="utf-8")


if __name__ == "__main__":
    draw(Path(sys.argv[1]) if len(sys.argv) > 1 else PAGE)
