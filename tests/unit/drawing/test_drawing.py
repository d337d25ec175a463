"""Flows as pictures: what is on them, that nothing covers anything, and a run's way."""

import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, timezone
from itertools import combinations, pairwise
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from router.domain.locale import LOCALES, Locale
from router.domain.run_history import HistoryEntry
from router.drawing import Graph, flowchart, graph_of, journey_of, mermaid_of, svg_of
from router.drawing.layout import Box, Layout, laid_out
from router.drawing.svg import lines, width, wrapped
from router.flow.definition import KINDS, FlowDefinition
from router.flow.loader import load_flow

FLOWS = Path(__file__).parents[3] / "flows"
SHIPPED = sorted(FLOWS.glob("*.yaml"))
SVG = "{http://www.w3.org/2000/svg}"
LEAVE = load_flow(FLOWS / "leave_request.yaml")
BEGAN = datetime(2026, 11, 18, 2, 0, tzinfo=UTC)


def test_every_kind_of_state_and_every_exit_has_words_in_both_languages() -> None:
    ways = {way for kind in KINDS.values() for way in (*kind.needs, *kind.may)}
    assert ways <= flowchart.EXITS.keys()


WORDS = {"zh": "好", "en": "well"}


def flow_of(states: dict[str, Any], **more: Any) -> FlowDefinition:
    whole = {"flow": "trip", "title": WORDS, "description": WORDS, "start": "a", "states": states}
    return FlowDefinition.model_validate(whole | more)


def history(*steps: tuple[str, str]) -> list[HistoryEntry]:
    return [
        HistoryEntry(at=BEGAN + timedelta(minutes=n), state=state, event=event)
        for n, (state, event) in enumerate(steps)
    ]


class TestGraph:
    def test_edges_carry_event_and_condition(self) -> None:
        labels = {edge.key: edge.label for edge in graph_of(LEAVE, "en").edges}
        assert labels["manager", "rejected", "tell_no"] == "rejected"
        assert labels["manager", "approved", "director"].startswith("approved: slots.days > 3.0")
        assert labels["manager", "approved", "record"] == "approved: otherwise"
        assert labels["record", "next", "tell_yes"] == ""

    @pytest.mark.parametrize("file", SHIPPED, ids=lambda file: file.stem)
    @pytest.mark.parametrize("locale", LOCALES)
    def test_people_see_no_expression_and_no_name_of_the_files(
        self, file: Path, locale: Locale
    ) -> None:
        flow = load_flow(file)
        drawn = svg_of(graph_of(flow, locale, plain=True))
        conditions = [
            b.condition for s in flow.states.values() for w in s.exits().values() for b in w
        ]
        assert any(conditions)
        hidden = [*filter(None, conditions), "slots.", "results.", "manager(", "_"]
        texts = [
            each.text or "" for each in ET.fromstring(drawn).iter() if each.tag != f"{SVG}style"
        ]
        shown = "\n".join(texts)
        assert [each for each in hidden if each in shown] == []
        assert flowchart.DEPENDING.within(locale) not in shown

    def test_a_state_without_a_name_is_called_by_what_it_does(self) -> None:
        states = {
            "a": {"wait": {"for": "PT1H"}, "next": [{"if": "true", "to": "b"}, {"to": "c"}]},
            "b": {"say": WORDS, "end": "completed"},
            "c": {"name": {"zh": "完", "en": "over"}, "say": WORDS, "end": "completed"},
        }
        graph = graph_of(flow_of(states), "en", plain=True)
        assert graph.headings == {"a": "waits", "b": "says", "c": "over"}
        assert [edge.label for edge in graph.edges] == ["depending", "otherwise"]

    def test_an_approval_tells_its_timers_in_the_readers_language(self) -> None:
        en, zh = (
            next(n.timers for n in graph_of(LEAVE, locale).nodes if n.name == "manager")
            for locale in LOCALES[::-1]
        )
        goes = "after 3 d goes to manager(approver)"
        assert en == ("reminds every 1 d", goes, "expires after 14 d")
        assert zh == ("每 1 天提醒一次", "3 天后升级给 manager(approver)", "14 天后过期")

    def test_branches_to_the_same_state_are_one_edge(self) -> None:
        ways = [{"if": "1 < 2", "to": "b"}, {"if": "2 < 3", "to": "b"}, {"to": "c"}]
        flow = flow_of(
            {"a": {"collect": ["x"], "next": ways}, "b": {"end": "failed"}, "c": {"end": "failed"}}
        )
        labels = [edge.label for edge in graph_of(flow, "en").edges]
        assert labels == ["1 < 2 or 2 < 3", "otherwise"]

    def test_the_branches_of_a_parallel_state_hang_on_it(self) -> None:
        states = {
            "a": {"parallel": ["b", "c"], "join": "d"},
            "b": {"say": WORDS, "next": "d"},
            "c": {"say": WORDS, "next": "d"},
            "d": {"end": "completed"},
        }
        keys = {edge.key: edge.label for edge in graph_of(flow_of(states), "en").edges}
        assert keys["a", "parallel", "b"] == keys["a", "parallel", "c"] == "branch"
        assert keys["a", "join", "d"] == "joined"

    @pytest.mark.parametrize(
        ("wait", "zh", "en"),
        [
            ({"event": "arrived"}, "等待：事件 arrived", "waits: for arrived to happen"),
            ({"event": "x", "for": "P7D"}, "等待：事件 x，7 天", "waits: for x to happen, for 7 d"),
            ({"until": "slots.start"}, "等待：直到 slots.start", "waits: until slots.start"),
        ],
    )
    def test_a_wait_says_what_it_waits_for(self, wait: dict[str, str], zh: str, en: str) -> None:
        flow = flow_of({"a": {"wait": wait, "next": "b"}, "b": {"end": "completed"}})
        for locale, said in (("zh", zh), ("en", en)):
            assert graph_of(flow, locale).nodes[0].lines == (said,)  # type: ignore[arg-type]


class TestJourney:
    def test_states_and_exits_are_counted_and_what_only_tells_moves_nothing(self) -> None:
        steps = (
            *(("details", "began"), ("balance", "next"), ("review", "next")),
            *(("manager", "confirmed"), ("manager", "reminded"), ("manager", "return")),
            *(("details", "returned"), ("balance", "next")),
        )
        journey = journey_of(LEAVE, history(*steps), timezone(timedelta(hours=8)))
        visits = {name: len(at) for name, at in journey.visits.items()}
        assert visits == {"details": 2, "balance": 2, "review": 1, "manager": 1}
        assert journey.taken["details", "next", "balance"] == 2
        assert journey.taken["manager", "returned", "details"] == 1
        assert journey.here == "balance"
        assert journey.visits["details"][0].hour == 10

    def test_a_correction_is_a_visit_and_no_edge(self) -> None:
        steps = (("details", "began"), ("balance", "next"), ("details", "changed"))
        journey = journey_of(LEAVE, history(*steps))
        assert len(journey.visits["details"]) == 2
        assert list(journey.taken) == [("details", "next", "balance")]

    def test_what_the_definition_does_not_have_is_survived(self) -> None:
        journey = journey_of(LEAVE, history(("gone", "began"), ("elsewhere", "next")))
        assert journey.here == "elsewhere"
        assert "<svg" in svg_of(graph_of(LEAVE, "zh"), journey)


class TestMermaid:
    def test_a_line_for_every_state_and_edge(self) -> None:
        graph = graph_of(LEAVE, "en")
        text = mermaid_of(graph)
        assert "flowchart TD" in text
        assert sum(line.startswith("    s") and "-->" in line for line in text.splitlines()) == (
            len(graph.edges) + 1
        )
        for node in graph.nodes:
            assert f"<b>{node.name}</b>" in text

    def test_the_way_of_a_run_is_marked(self) -> None:
        graph = graph_of(LEAVE, "zh")
        text = mermaid_of(
            graph, journey_of(LEAVE, history(("details", "began"), ("balance", "next")))
        )
        assert "s0 ==>" in text
        assert "class s0,s2 been" in text
        assert "class s2 here" in text

    @pytest.mark.parametrize(
        "hostile", ['"] --> x[', "a;b%%c", "<script>", "`x`", "end\n%%{init}%%"]
    )
    def test_no_text_gets_out_of_its_quotes(self, hostile: str) -> None:
        said = {"say": {"zh": hostile, "en": hostile}, "end": "completed"}
        flow = flow_of({"a": said}, title={"zh": hostile, "en": hostile})
        body = mermaid_of(graph_of(flow, "en")).splitlines()
        assert [line.count('"') for line in body if "<b>" in line] == [2]
        assert "<script>" not in "\n".join(body[3:])
        assert len(body) == 9


class TestSvg:
    @pytest.mark.parametrize("file", SHIPPED, ids=lambda file: file.stem)
    @pytest.mark.parametrize("locale", ["zh", "en"])
    def test_the_picture_is_xml_that_says_what_it_shows(self, file: Path, locale: Locale) -> None:
        graph = graph_of(load_flow(file), locale)
        root = ET.fromstring(svg_of(graph))
        assert root.get("role") == "img"
        assert root.findtext(f"{SVG}title") == graph.title
        assert graph.start in str(root.findtext(f"{SVG}desc"))
        assert "prefers-color-scheme:dark" in str(root.findtext(f"{SVG}style"))
        shown = {text.text for text in root.iter(f"{SVG}text")}
        assert {node.name for node in graph.nodes} <= shown

    def test_the_same_flow_gives_the_same_bytes(self) -> None:
        assert svg_of(graph_of(LEAVE, "zh")) == svg_of(graph_of(LEAVE, "zh"))

    def test_visits_and_where_it_stands_are_said_in_words_too(self) -> None:
        journey = journey_of(LEAVE, history(("details", "began"), ("balance", "next")))
        root = ET.fromstring(svg_of(graph_of(LEAVE, "en"), journey))
        shown = [str(text.text) for text in root.iter(f"{SVG}text")]
        assert "✓ 1×, last 11-18 02:00" in shown
        assert "● it is here now" in shown
        assert "details ▸ balance" in str(root.findtext(f"{SVG}desc"))
        assert len(root.findall(f"{SVG}g[@class='edge taken']")) == 1

    @pytest.mark.parametrize("hostile", ["</text><script>", "&amp;", "a\x00b\x1b", "\ud800", '"><'])
    def test_no_text_gets_out_of_its_element(self, hostile: str) -> None:
        said = {"say": {"zh": hostile, "en": hostile}, "end": "completed"}
        flow = flow_of({"a": said}, title={"zh": "好", "en": "x"})
        root = ET.fromstring(svg_of(graph_of(flow, "en")))
        assert not list(root.iter(f"{SVG}script"))

    def test_a_kind_nobody_has_drawn_yet_gets_a_rectangle(self) -> None:
        graph = graph_of(LEAVE, "en")
        node = graph.nodes[0]
        odd = type(node)(node.name, "parallel", node.heading, node.lines)
        new = Graph(**{**vars(graph), "nodes": (odd, *graph.nodes[1:])})
        assert "details" in svg_of(new)
        assert 's0["<b>details</b>' in mermaid_of(new)


names = st.integers(0, 19).map(lambda n: f"s{n}")
graphs = st.lists(st.tuples(names, names), max_size=45)


class TestLayout:
    @pytest.mark.slow
    @settings(max_examples=60, deadline=None)
    @given(edges=graphs)
    def test_no_box_covers_another_and_no_line_a_state(self, edges: list[tuple[str, str]]) -> None:
        sizes = {f"s{n}": (60.0 + 17 * (n % 5), 30.0 + 11 * (n % 3)) for n in range(20)}
        layout = laid_out(sizes, edges, [(40.0, 15.0)] * len(edges))
        for one, other in combinations(_visible(layout), 2):
            assert not _overlap(one, other)
        for (source, target), line in zip(edges, lines(layout, edges), strict=True):
            for name, box in layout.boxes.items():
                if name in sizes and name not in (source, target):
                    assert not any(_within(box, point) for point in _points(line))

    @pytest.mark.slow
    @settings(max_examples=60, deadline=None)
    @given(edges=graphs)
    def test_everything_is_on_the_picture(self, edges: list[tuple[str, str]]) -> None:
        layout = laid_out(
            {f"s{n}": (80.0, 40.0) for n in range(20)}, edges, [(9.0, 9.0)] * len(edges)
        )
        for line in lines(layout, edges):
            for x, y in _points(line):
                assert 0 <= x <= layout.width
                assert 0 <= y <= layout.height

    @pytest.mark.slow
    def test_a_chain_of_a_thousand_states_is_laid_out(self) -> None:
        edges = [(f"s{n}", f"s{n + 1}") for n in range(999)]
        layout = laid_out({f"s{n}": (80.0, 40.0) for n in range(1000)}, edges, [(0.0, 0.0)] * 999)
        assert layout.boxes["s999"].y > layout.boxes["s0"].y


class TestMeasure:
    def test_wide_characters_take_an_em_and_narrow_ones_less(self) -> None:
        assert width("请假", 10) == 20
        assert width("il", 10) < width("mm", 10) < 20

    @given(text=st.text(max_size=80), room=st.floats(20, 200))
    def test_no_line_is_wider_than_there_is_room(self, text: str, room: float) -> None:
        found = wrapped(text, 10.0, room, 3)
        assert len(found) <= 3
        assert all(width(line, 10.0) <= room + 1e-9 or len(line) <= 1 for line in found)


def _visible(layout: Layout) -> list[Box]:
    return [box for box in layout.boxes.values() if box.width and box.height]


def _overlap(one: Box, other: Box) -> bool:
    across = abs(one.x - other.x) < (one.width + other.width) / 2 - 0.01
    return across and abs(one.y - other.y) < (one.height + other.height) / 2 - 0.01


def _within(box: Box, point: tuple[float, float]) -> bool:
    x, y = point
    return abs(x - box.x) < box.width / 2 - 0.2 and abs(y - box.y) < box.height / 2 - 0.2


def _points(line: str) -> Iterator[tuple[float, float]]:
    """The corners of a path and points along it: its curves lie within what their corners span."""
    corners = [
        (float(x), float(y)) for x, y in re.findall(r"(-?[\d.]+),(-?[\d.]+)(?=[A-Z ]|$)", line)
    ]
    for (x1, y1), (x2, y2) in pairwise(corners):
        for n in range(21):
            yield (x1 + (x2 - x1) * n / 20, y1 + (y2 - y1) * n / 20)
