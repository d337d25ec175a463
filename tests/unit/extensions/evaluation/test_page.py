import json
import re
from datetime import UTC, datetime
from xml.etree import ElementTree as ET

from router.extensions.evaluation.figures import MOST_WRONG, LineResult, figures_of, printed
from router.extensions.evaluation.report import (
    LONGEST_NAME,
    EvaluationContext,
    page_of,
    report_of,
    svg_of,
)
from tests.unit.extensions.evaluation.test_dataset import result

ABOUT = EvaluationContext("dev.jsonl", datetime(2026, 11, 18, 10, tzinfo=UTC), None, "alice")
EVIL = "</td><script>alert('请假')</script>&\"'"
SVG = "{http://www.w3.org/2000/svg}"


def page(*results: LineResult, about: EvaluationContext = ABOUT) -> str:
    return page_of(about, figures_of(results), results)


def words(page: str, pattern: str) -> list[str]:
    """The words of the first part of the page that has this form."""
    found = re.search(pattern, page, re.DOTALL)
    assert found is not None
    return re.sub(r"<[^>]+>", " ", found[0]).split()


def test_whatever_people_and_models_wrote_is_escaped() -> None:
    wrong = result(EVIL, EVIL, text=EVIL, reason=EVIL, slots={EVIL: EVIL}, values={EVIL: [EVIL]})
    also = result(EVIL, "none", text=EVIL, reason=EVIL)
    made = page(wrong, also, about=EvaluationContext(EVIL, ABOUT.at, EVIL, EVIL))
    assert "<script" not in made
    assert "&lt;script&gt;" in made
    assert "<script" not in svg_of(figures_of([wrong, also]))


def test_the_page_asks_nothing_of_any_server() -> None:
    made = page(result("none", "book_room"))
    assert "default-src 'none'" in made
    addresses = re.findall(r"(?:https?:)?//[^\s\"'<>]+", made)
    assert set(addresses) == {"http://www.w3.org/2000/svg"}
    assert not re.search(r"<(link|img|script|iframe|object)\b|@import|url\(", made)


def test_wrong_lines_are_listed_with_what_was_meant_what_came_and_why() -> None:
    about = {"text": "给我弄个地方", "reason": "没把握", "offered": ("book_room",)}
    made = page(result("none", "none", 1, text="fine"), result("book_room", "clarify", 2, **about))
    cells = words(made, r"<tr><td class=\"n\">2</td>.*?</tr>")
    assert cells[:4] == ["2", "给我弄个地方", "book_room", "clarify"]
    assert 'lang="zh">给我弄个地方' in made
    assert "offered&nbsp;it" in made
    assert "fine" not in made


def test_wrong_values_of_right_lines_are_listed() -> None:
    slip = result("book_room", "book_room", slots={"when": "明天"}, values={"when": "today"})
    made = page(slip)
    assert "None." in made
    assert words(made, r"<code>when</code></td>.*?</tr>") == ["when", '"明天"', '"today"']


def test_the_picture_has_a_cell_for_each_pair_and_reads_alone() -> None:
    right, wrong = result("book_room", "book_room"), result("book_room", "none")
    drawn = ET.fromstring(svg_of(figures_of([*[right] * 3, wrong, result("none", "none")])))
    titles = [title.text for title in drawn.iterfind(f".//{SVG}g/{SVG}title")]
    assert titles == ["book_room ▸ book_room: 3", "book_room ▸ none: 1", "none ▸ none: 1"]
    assert "prefers-color-scheme: dark" in str(drawn.findtext(f"{SVG}style"))


def test_everything_in_the_picture_is_within_it_however_many_and_long_the_labels() -> None:
    names = [f"{'capability_' * 4}{number}" for number in range(80)]
    figures = figures_of([result(name, names[-n]) for n, name in enumerate(names)])
    drawn = ET.fromstring(svg_of(figures))
    _, _, width, height = map(float, drawn.attrib["viewBox"].split())
    for cell in drawn.iterfind(f".//{SVG}g/{SVG}rect"):
        assert float(cell.attrib["x"]) + float(cell.attrib["width"]) <= width
        assert float(cell.attrib["y"]) + float(cell.attrib["height"]) <= height
    texts = [text.text or "" for text in drawn.iterfind(f"{SVG}text[@text-anchor='end']")]
    assert max(map(len, texts)) <= LONGEST_NAME


def test_without_labels_there_is_no_picture_and_the_page_stands() -> None:
    made = page(result(None, "clarify", entities=[]))
    assert "<svg" not in made
    assert ET.fromstring(svg_of(figures_of([result(None, "clarify")]))) is not None


def test_the_numbers_are_json_without_nan() -> None:
    results = [result("none", "book_room", text="你好"), result(None, "clarify", entities=[])]
    report = report_of(ABOUT, figures_of(results), results)
    again = json.loads(json.dumps(report, allow_nan=False))
    assert again["accuracy"] == {"right": 0, "of": 1, "share": 0.0}
    assert again["labels"]["none"]["precision"] is None
    assert again["about"]["at"] == "2026-11-18T10:00:00+00:00"
    assert [one["text"] for one in again["results"]] == ["你好", "我要请假"]


def test_the_terminal_gets_a_table_and_the_first_wrong_lines() -> None:
    results = [result("none", "book_room", n, text=f"text\n{n}") for n in range(MOST_WRONG + 3)]
    lines = printed(figures_of(results), results).splitlines()
    assert lines[0].split() == ["label", "lines", "precision", "recall", "F1"]
    assert "line 0: none, came to book_room: text 0" in lines
    assert "and 3 more; --report lists all of them" in lines
    assert f"accuracy    0.0 % (0 of {MOST_WRONG + 3}; 0 more offered)" in lines
