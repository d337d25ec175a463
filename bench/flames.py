"""Flame graphs of what `stages.py --flames FOLDER` has kept: a picture a kind of turn.

The wider a frame, the more of the samples it was in; whoever called it stands above it. Frames of
less than a hundredth are left out, and so are the lines that all samples of a thread share before
its work begins.

    python bench/flames.py FOLDER [--into docs/images/flames]
"""

import argparse
import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from html import escape
from pathlib import Path

KINDS = ("small-talk", "status", "flow's-answer", "model's-answer")
WIDTH, ROW, LETTER = 1200.0, 16, 6.2
LEAST = 0.01
"""The share of all samples below which a frame isn't drawn."""
BEGINS = ("BaseEventLoop._run_once", "Handle._run", "_worker", "Thread.run")
"""The innermost of these in a stack is where its thread's work begins."""
COLOURS = {"router": "#8a5aa8", "workflows": "#8a5aa8", "activities": "#8a5aa8"}
OTHERS = {"temporalio": "#d99a3d", "sqlalchemy": "#4a8a6a", "pydantic": "#5a82b8"}
PLAIN = "#c9c2d0"
_FRAME = re.compile(r"(?P<name>.+) \((?P<file>[^()]*):\d+\)$")


@dataclass
class Frame:
    """A function in the stacks that led to it, and in how many samples it was."""

    samples: int = 0
    callees: dict[tuple[str, str], "Frame"] = field(default_factory=lambda: defaultdict(Frame))


def read(files: Iterator[Path]) -> Frame:
    """The samples of these files, as one tree."""
    root = Frame()
    for file in files:
        for line in file.read_text(encoding="utf-8").splitlines():
            stack, _, count = line.rpartition(" ")
            frames = [_named(each) for each in stack.split(";")]
            begins = [n for n, (name, _) in enumerate(frames) if name.endswith(BEGINS)]
            here = root
            here.samples += int(count)
            for each in frames[begins[-1] + 1 if begins else 0 :]:
                here = here.callees[each]
                here.samples += int(count)
    return root


def _named(written: str) -> tuple[str, str]:
    found = _FRAME.match(written)
    if not found:
        return written, ""
    path = found["file"]
    for mark in ("/site-packages/", "/lib/python3.11/", "/router/", "/workflows/", "/activities/"):
        head, _, tail = path.rpartition(mark)
        if head:
            return found["name"], tail if mark.startswith(("/site", "/lib")) else mark[1:] + tail
    return found["name"], path


def drawn(root: Frame, title: str) -> str:
    """The tree as an SVG, callers above those that they call."""
    boxes = [*_boxes(root, 0.0, 0, WIDTH / max(root.samples, 1), root.samples)]
    height = ROW * (2 + max((row for *_, row in boxes), default=0)) + ROW
    size = f'viewBox="0 0 {WIDTH:.0f} {height}" font-family="system-ui, sans-serif" font-size="10"'
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {size}>',
        f"<title>{escape(title)}</title>",
        f'<text x="4" y="12">{escape(title)}: {root.samples} samples</text>',
    ]
    for (name, file), samples, left, width, row in boxes:
        top = ROW * (row + 1)
        share = f"{100 * samples / root.samples:.1f} %"
        label = name[: max(0, int(width / LETTER) - 1)]
        lines.append(
            f'<g><title>{escape(f"{name} ({file}) {share}")}</title><rect x="{left:.1f}" y="{top}" '
            f'width="{max(width - 0.5, 0.5):.1f}" height="{ROW - 1}" fill="{_colour(file)}"/>'
            f'<text x="{left + 2:.1f}" y="{top + 11}">{escape(label)}</text></g>'
        )
    return "\n".join([*lines, "</svg>", ""])


Box = tuple[tuple[str, str], int, float, float, int]


def _boxes(frame: Frame, left: float, row: int, unit: float, every: int) -> Iterator[Box]:
    for named, callee in sorted(frame.callees.items()):
        if callee.samples < LEAST * every:
            continue
        width = unit * callee.samples
        yield named, callee.samples, left, width, row
        yield from _boxes(callee, left, row + 1, unit, every)
        left += width


def _colour(file: str) -> str:
    top = file.partition("/")[0]
    return (COLOURS | OTHERS).get(top, PLAIN)


def main() -> None:
    options = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    options.add_argument("folder", type=Path, help="what `stages.py --flames` has kept")
    options.add_argument("--into", type=Path, default=Path("docs/images/flames"))
    given = options.parse_args()
    given.into.mkdir(parents=True, exist_ok=True)
    for kind in KINDS:
        picture = drawn(read(given.folder.glob(f"{kind}-*.txt")), kind.replace("-", " "))
        name = kind.replace("'s", "")
        (given.into / f"{name}.svg").write_text(picture, encoding="utf-8")


if __name__ == "__main__":
    main()
