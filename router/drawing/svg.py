"""A flow as SVG: one file that is legible by day and by night, and says what it shows."""

import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from itertools import pairwise
from types import MappingProxyType
from typing import Literal

from router.domain.locale import Localised
from router.drawing import flowchart
from router.drawing.flowchart import Edge, FlowchartNode, Graph, Journey, said
from router.drawing.layout import Box, Ends, Layout, label_of, laid_out
from router.flow.definition import Outline, find_kind

PORTS = 0.6
"""The part of a state's width that lines begin and end in: the rest may be slanted."""
MOST_APART = 26.0
CORNER = 7.0
NOTHING = 0.05
"""Pixels that are lost where coordinates are written."""

Point = tuple[float, float]


def lines(layout: Layout, edges: Sequence[Ends]) -> list[str]:
    """For every edge its path, as SVG writes one."""
    begins, ends = _ports(layout, edges)
    found = []
    for number, (source, target) in enumerate(edges):
        start = (begins[number], layout.boxes[source].bottom)
        end = (ends[number], layout.boxes[target].top)
        if number in layout.skeleton.back:
            found.append(_back(layout, number, target, start, end))
        else:
            found.append(_forward(layout, layout.skeleton.chains[number], start, end))
    return found


def _ports(layout: Layout, edges: Sequence[Ends]) -> tuple[dict[int, float], dict[int, float]]:
    """Where on its states each edge begins and ends: side by side, in the order they come from."""
    leaving: dict[str, list[tuple[float, int]]] = {}
    coming: dict[str, list[tuple[float, int]]] = {}
    for number, (source, target) in enumerate(edges):
        chain = layout.skeleton.chains[number]
        leaving.setdefault(source, []).append((layout.boxes[chain[1]].x, number))
        is_back = number in layout.skeleton.back
        last = layout.lanes[target] if is_back else layout.boxes[chain[-2]].x
        coming.setdefault(target, []).append((last, number))
    return _spread(layout, leaving), _spread(layout, coming)


def _spread(layout: Layout, ports: dict[str, list[tuple[float, int]]]) -> dict[int, float]:
    found = {}
    for name, wanted in ports.items():
        box = layout.boxes[name]
        # Those from a lane share a port, as they share the lane.
        places = sorted({x for x, _ in wanted})
        apart = min(MOST_APART, box.width * PORTS / len(places))
        for x, number in wanted:
            found[number] = box.x + (places.index(x) - (len(places) - 1) / 2) * apart
    return found


def _forward(layout: Layout, chain: Sequence[str], start: Point, end: Point) -> str:
    """Straight through each rank, in an S from one to the next."""
    through: list[Point] = [start, (start[0], layout.band_of(chain[0]).bottom)]
    for point in chain[1:-1]:
        band, x = layout.band_of(point), layout.boxes[point].x
        through += [(x, band.top), (x, band.bottom)]
    through += [(end[0], layout.band_of(chain[-1]).top), end]
    return " ".join(_bends(through))


def _bends(through: Sequence[Point]) -> Iterator[str]:
    yield f"M{_at(through[0])}"
    for (x1, y1), (x2, y2) in pairwise(through):
        # A line of no length would leave its arrow without a direction.
        if abs(x2 - x1) + abs(y2 - y1) < NOTHING:
            continue
        if abs(x2 - x1) < NOTHING:
            yield f"L{_at((x2, y2))}"
        else:
            middle = (y1 + y2) / 2
            yield f"C{_at((x1, middle))} {_at((x2, middle))} {_at((x2, y2))}"


def _back(layout: Layout, number: int, target: str, start: Point, end: Point) -> str:
    """Down to the label, out to the lane, up, and in from above: right angles, rounded."""
    source, point = layout.skeleton.chains[number][:2]
    x, top = layout.boxes[point].x, layout.band_of(point).top
    down = [start, (start[0], layout.band_of(source).bottom), (x, top)]
    out, up = layout.tracks["out", number], layout.tracks["in", target]
    lane = layout.lanes[target]
    around = [(x, top), (x, out), (lane, out), (lane, up), (end[0], up), end]
    return " ".join([*_bends(down), *_corners(around)])


def _corners(points: Sequence[Point]) -> Iterator[str]:
    for before, corner, after in zip(points, points[1:], points[2:], strict=False):
        yield f"L{_at(_towards(corner, before))}"
        yield f"Q{_at(corner)} {_at(_towards(corner, after))}"
    yield f"L{_at(points[-1])}"


def _towards(corner: Point, other: Point) -> Point:
    """A little way from the corner, or half of the way where that is less."""
    (x1, y1), (x2, y2) = corner, other
    far = max(abs(x2 - x1), abs(y2 - y1))
    share = min(CORNER, far / 2) / far if far else 0.0
    return (x1 + (x2 - x1) * share, y1 + (y2 - y1) * share)


def _at(point: Point) -> str:
    return f"{number(point[0])},{number(point[1])}"


def number(value: float) -> str:
    """A coordinate, written in one way only.

    >>> number(12.04), number(-0.01)
    ('12', '0')
    """
    rounded = round(value, 1) + 0.0
    return f"{rounded:.1f}".removesuffix(".0")


CUT = 14.0
"""Pixels by which slanted sides are slanted."""

END = Outline(radius=14)
"""Of a state in which the flow ends, whatever it does."""


def outline(kind: str, box: Box) -> str:
    """The outline of a state of this kind; `end` for one that ends the flow."""
    drawn = END if kind == "end" else find_kind(kind).outline
    if drawn.corners:
        wide, high = box.width / 2, box.height / 2
        corners = [(box.x + x * wide + cut * CUT, box.y + y * high) for x, cut, y in drawn.corners]
        return f'<polygon class="box" points="{" ".join(map(_at, corners))}"/>'
    left, top = box.x - box.width / 2, box.top
    radius = min(drawn.radius, box.height / 2)
    rectangle = (
        f'<rect class="box" x="{number(left)}" y="{number(top)}" width="{number(box.width)}" '
        f'height="{number(box.height)}" rx="{number(radius)}"/>'
    )
    if not drawn.bars:
        return rectangle
    # The second lines at the sides, by which flowcharts know what is done elsewhere.
    inner = (left + 7, left + box.width - 7)
    bars = " ".join(f"M{number(x)},{number(box.top)}V{number(box.bottom)}" for x in inner)
    return f'{rectangle}<path class="bars" d="{bars}"/>'


_WIDE = 1.0
_USUAL = 0.58
_WIDTHS = {
    **dict.fromkeys("iljI.,:;'|!` ", 0.32),
    **dict.fromkeys('frt()[]{}/\\"-', 0.42),
    **dict.fromkeys("ABCDEFGHKNOPQRSTUVXYZ&_<>=+~0123456789", 0.7),
    **dict.fromkeys("mwMW%@", 0.95),
}
"""In em. What isn't here is wide where East Asia has it so, else as most letters are."""
_CLINGING = frozenset("…，。、：；！？）》”")
"""Never begin a line."""


def width(text: str, size: float) -> float:
    """Pixels that the text takes in a font of `size` pixels.

    >>> width("请假", 13.0)
    26.0
    """
    return sum(_WIDTHS.get(each) or _em(each) for each in text) * size


def _em(character: str) -> float:
    if unicodedata.combining(character):
        return 0.0
    return _WIDE if unicodedata.east_asian_width(character) in "WFA" else _USUAL


def wrapped(text: str, size: float, room: float, most: int) -> list[str]:
    """The text in lines no wider than `room`, the last of at most `most` cut where it has to be.

    >>> wrapped("one two three", 10.0, 45.0, 2)
    ['one two', 'three']
    """
    lines = list(_wrapped_lines(text, size, room))
    if len(lines) <= most:
        return lines
    last = lines[most - 1]
    while last and width(f"{last}…", size) > room:
        last = last[:-1]
    return [*lines[: most - 1], f"{last.rstrip()}…"]


def _wrapped_lines(text: str, size: float, room: float) -> Iterator[str]:
    line = ""
    for piece in _pieces(text):
        if line and width((line + piece).rstrip(), size) > room:
            yield line.rstrip()
            line = ""
        line += piece if line else piece.lstrip()
        while width(line.rstrip(), size) > room and len(line) > 1:
            # How many characters of a word that is too long go on one line: one at least.
            lengths = range(len(line), 1, -1)
            fitting = next((n for n in lengths if width(line[:n], size) <= room), 1)
            yield line[:fitting]
            line = line[fitting:]
    if line.strip():
        yield line.rstrip()


def _pieces(text: str) -> Iterator[str]:
    """What a line may be broken between: words with the blanks after them, wide characters."""
    piece = ""
    for character in text:
        wide = _em(character) == _WIDE and character not in _CLINGING
        if piece and (wide or (piece.endswith(" ") and character != " ")):
            yield piece
            piece = ""
        piece += character
        if wide:
            yield piece
            piece = ""
    if piece:
        yield piece


SIZE = 13.0
SMALL = 11.5
LEADING = 1.4
"""Of a font's size, from line to line."""
NODE_ROOM, LABEL_ROOM = 230.0, 170.0
"""Pixels after which a line is broken."""
MOST_LINES = 3
SLANT = 22.0
"""Pixels left and right of a state's text, which slanted sides take."""
START = "\0start"
DOT = 14.0

STYLE = """\
.flow{--ink:#1c2430;--soft:#5d6878;--line:#8a94a3;--box:#f4f6f9;--edge:#b8c0cc;--paper:#ffffff;\
--been:#2f7d5b;--been-box:#e3f3ea;font-family:system-ui,-apple-system,"Segoe UI","PingFang SC",\
"Microsoft YaHei","Noto Sans CJK SC",sans-serif}
@media (prefers-color-scheme:dark){.flow{--ink:#e8ecf2;--soft:#a3adbb;--line:#76818f;\
--box:#232a34;--edge:#4a5462;--paper:#161b22;--been:#5cc795;--been-box:#1c3a2d}}
.paper{fill:var(--paper)}.box{fill:var(--box);stroke:var(--edge);stroke-width:1.5}
.bars{fill:none;stroke:var(--edge);stroke-width:1.5}.ended .box{stroke:var(--soft);stroke-width:3}
.name{fill:var(--ink);font-size:13px;font-weight:600}.line{fill:var(--soft);font-size:11.5px}
.way{fill:none;stroke:var(--line);stroke-width:1.5}.tip{fill:var(--line)}.dot{fill:var(--ink)}
.label{fill:var(--ink);font-size:11.5px}.taken .way{stroke:var(--been);stroke-width:3}
.taken .tip{fill:var(--been)}.taken .label{fill:var(--been);font-weight:600}
.been .box{fill:var(--been-box);stroke:var(--been)}.here .box{stroke:var(--been);stroke-width:4}
.added .box{stroke:var(--been);stroke-width:4}.changed .box{stroke-width:3;stroke-dasharray:10 4}
.removed .box{stroke-width:2;stroke-dasharray:2 4}.broad1 .way{stroke-width:2}
.broad2 .way{stroke-width:4}.broad3 .way{stroke-width:6}.broad4 .way{stroke-width:8}"""


@dataclass(frozen=True)
class WrappedText:
    """A text broken into lines, with the room that it takes; `full` where something was cut."""

    lines: tuple[str, ...]
    width: float
    height: float
    full: str


Mark = Literal["added", "changed", "removed"]
MARKS: Mapping[Mark, Localised] = MappingProxyType(
    {
        "added": Localised(zh="＋ 新增", en="+ new"),
        "changed": Localised(zh="△ 有改动", en="△ changed"),
        "removed": Localised(zh="－ 删去", en="- gone"),
    }
)
"""What states are marked with that are others in another version; lines tell them apart besides."""
Marks = Mapping[str, Mark]
NO_MARKS: Marks = MappingProxyType({})
LEGEND = 44.0
"""Pixels below the picture that the marks are explained in."""


MOST_STATES = 150
"""Of a flow that is drawn while somebody waits: more can't be looked at, nor drawn soon."""
MOST_WAYS = 300
"""Ways between them: each is led past the states that it skips, which takes seconds with more."""


def can_be_drawn(graph: Graph) -> bool:
    """Whether a picture of it is drawn while somebody waits: it begins, and isn't too large."""
    names = {node.name for node in graph.nodes}
    is_small = 0 < len(names) <= MOST_STATES and len(graph.edges) <= MOST_WAYS
    return is_small and graph.start in names


def svg_of(graph: Graph, journey: Journey | None = None, marks: Marks = NO_MARKS) -> str:
    """The picture, the same bytes for the same flow, path and marks."""
    went = journey or Journey()
    texts = {node.name: _node_text(graph, node, went, marks) for node in graph.nodes}
    said_ones = [f"{edge.label} {went.often(edge)}".strip() for edge in graph.edges]
    labels = [_written([label], LABEL_ROOM) for label in said_ones]
    sizes = {START: (DOT, DOT)}
    # The start first: what is drawn on top is what the walk through the graph begins with.
    for name in sorted(texts, key=lambda name: name != graph.start):
        sizes[name] = (texts[name].width + 2 * SLANT, texts[name].height + 16)
    ends = [(START, graph.start), *((edge.source, edge.target) for edge in graph.edges)]
    layout = laid_out(sizes, ends, [(0.0, 0.0), *((w.width, w.height) for w in labels)])
    ways, dot = lines(layout, ends), layout.boxes[START]
    return "\n".join(
        [
            *_head(graph, layout, went, marks),
            f'<g class="edge">{_way(ways[0])}</g>',
            *_edges(graph, ways[1:], labels, layout, went),
            f'<circle class="dot" cx="{number(dot.x)}" cy="{number(dot.y)}" r="{DOT / 2:g}"/>',
            *(
                _node(node, texts[node.name], layout.boxes[node.name], went, marks)
                for node in graph.nodes
            ),
            *_legend(graph, layout, marks),
            "</svg>",
            "",
        ]
    )


def _head(graph: Graph, layout: Layout, journey: Journey, marks: Marks) -> Iterator[str]:
    explained = _explained(graph, marks)
    room = max(layout.width, explained[-1].right if explained else 0.0)
    wide, high = number(room), number(layout.height + (LEGEND if explained else 0.0))
    yield (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="flow" role="img" '
        f'aria-labelledby="title desc" lang="{graph.locale}" '
        f'viewBox="0 0 {wide} {high}" width="{wide}" height="{high}">'
    )
    yield f'<title id="title">{_text(graph.title)}</title>'
    yield f'<desc id="desc">{_text(_described(graph, journey))}</desc>'
    yield f"<style>{STYLE}</style>"
    yield (
        '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="9" '
        'markerHeight="9" markerUnits="userSpaceOnUse" orient="auto">'
        '<path class="tip" d="M0,0 L8,4 L0,8 Z"/></marker>'
        '<marker id="tip-taken" viewBox="0 0 8 8" refX="6" refY="4" markerWidth="12" '
        'markerHeight="12" markerUnits="userSpaceOnUse" orient="auto">'
        '<path style="fill:var(--been)" d="M0,0 L8,4 L0,8 Z"/></marker></defs>'
    )
    yield f'<rect class="paper" width="{wide}" height="{high}"/>'


def _described(graph: Graph, journey: Journey) -> str:
    if not journey.visits:
        return graph.summary
    entered = sorted((at, name) for name, times in journey.visits.items() for at in times)
    names = " ▸ ".join(graph.headings[name] for _, name in entered if name in graph.headings)
    return f"{graph.summary} {said(flowchart.WENT, graph.locale, names)}"


@dataclass(frozen=True)
class _LegendEntry:
    mark: Mark
    text: str
    left: float
    right: float


def _explained(graph: Graph, marks: Marks) -> list[_LegendEntry]:
    """The marks that there are, each with its place in the line below the picture."""
    found, left = list[_LegendEntry](), SLANT
    for mark, words in MARKS.items():
        if mark in marks.values():
            text = words.within(graph.locale)
            right = left + width(text, SMALL) + 3 * SLANT
            found.append(_LegendEntry(mark, text, left, right))
            left = right
    return found


def _legend(graph: Graph, layout: Layout, marks: Marks) -> Iterator[str]:
    top = layout.height + 8
    for each in _explained(graph, marks):
        wide = each.right - each.left - SLANT
        text = "".join(_lines((each.text,), each.left + wide / 2, top + 6, "line"))
        yield (
            f'<g class="legend {each.mark}"><rect class="box" x="{number(each.left)}" '
            f'y="{number(top)}" width="{number(wide)}" height="28" rx="2"/>{text}</g>'
        )


def _node_text(graph: Graph, node: FlowchartNode, journey: Journey, marks: Marks) -> WrappedText:
    more = [*node.lines, *node.timers]
    if node.name in marks:
        more.append(MARKS[marks[node.name]].within(graph.locale))
    more += journey.notes(node.name, graph.locale)
    below = _written(more, NODE_ROOM)
    wide = max(width(node.heading, SIZE) * 1.08, below.width)
    full = "\n".join([node.heading, *more])
    return WrappedText((node.heading, *below.lines), wide, below.height + SIZE * LEADING, full)


def _written(texts: list[str], room: float) -> WrappedText:
    found = tuple(line for text in texts for line in wrapped(text, SMALL, room, MOST_LINES))
    wide = max((width(line, SMALL) for line in found), default=0.0)
    return WrappedText(found, wide, len(found) * SMALL * LEADING, "\n".join(texts))


def _edges(
    graph: Graph, ways: list[str], texts: list[WrappedText], layout: Layout, journey: Journey
) -> list[str]:
    """Those that were taken last, so that they aren't covered where lines share a lane."""
    boxes = [layout.boxes[label_of(n)] for n in range(1, len(ways) + 1)]
    drawn = zip(graph.edges, ways, texts, boxes, strict=True)
    last = sorted(drawn, key=lambda each: each[0].key in journey.taken)
    return [_edge(*each, journey, graph.headings) for each in last]


def _edge(
    edge: Edge, way: str, text: WrappedText, box: Box, journey: Journey, headings: dict[str, str]
) -> str:
    taken = edge.key in journey.taken
    ends = f"{headings[edge.source]} ▸ {headings[edge.target]}"
    said_whole = f"{ends}: {text.full}" if text.full else ends
    below = f"<title>{_text(said_whole)}</title>{_way(way, taken)}"
    if text.lines:
        below += (
            f'<rect class="paper" x="{number(box.x - box.width / 2)}" y="{number(box.top)}" '
            f'width="{number(box.width)}" height="{number(box.height)}"/>'
        )
        below += "".join(_lines(text.lines, box.x, box.top, "label"))
    key = _attribute(edge_id(edge))
    broad = f" broad{journey.breadth(edge)}" if journey.breadth(edge) else ""
    return f'<g class="edge{" taken" if taken else ""}{broad}" data-edge="{key}">{below}</g>'


def _way(way: str, taken: bool = False) -> str:
    return f'<path class="way" d="{way}" marker-end="url(#{"tip-taken" if taken else "tip"})"/>'


def _node(node: FlowchartNode, text: WrappedText, box: Box, journey: Journey, marks: Marks) -> str:
    been, here = node.name in journey.visits, node.name == journey.here
    holding = {"ended": node.end, "been": been, "here": here}
    holding |= {mark: marks.get(node.name) == mark for mark in MARKS}
    classes = " ".join(["state", *(name for name, holds in holding.items() if holds)])
    top = box.y - text.height / 2
    named = "".join(_lines(text.lines[:1], box.x, top, "name", SIZE))
    rest = "".join(_lines(text.lines[1:], box.x, top + SIZE * LEADING, "line"))
    shape = outline("end" if node.end else node.kind, box)
    told = f"<title>{_text(text.full)}</title>"
    return (
        f'<g class="{classes}" data-state="{_attribute(node.name)}">{told}{shape}{named}{rest}</g>'
    )


def edge_id(edge: Edge) -> str:
    """What a page finds an edge of the picture by, as `data-edge`.

    >>> edge_id(Edge("review", "approved", "done", "approved"))
    'review approved done'
    """
    return " ".join(edge.key)


def _attribute(text: str) -> str:
    return escape("".join(c for c in text if c.isprintable()), quote=True)


def _lines(
    texts: tuple[str, ...], x: float, top: float, class_: str, size: float = SMALL
) -> Iterator[str]:
    for place, line in enumerate(texts):
        at = f'x="{number(x)}" y="{number(top + (place + 0.78) * size * LEADING)}"'
        yield f'<text class="{class_}" {at} text-anchor="middle">{_text(line)}</text>'


def _text(text: str) -> str:
    """Text as XML has it: escaped, and without the control characters that XML can't hold."""
    return escape("".join(c for c in text if c.isprintable() or c in "\n\t"), quote=False)
