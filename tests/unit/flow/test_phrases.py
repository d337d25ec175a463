"""What checks say, in Chinese: whatever they say of a file has a translation."""

import re

import pytest

from router.flow.validation import phrases
from router.flow.validation.phrases import said_in
from router.formats.yaml_document import read_yaml
from tests.table import each_row
from tests.unit.flow import test_validation as checks

WRITTEN: dict[str, str] = read_yaml(phrases.FILE.read_text()).data
HOLE = re.compile(r"\{[a-z][!=]?\}")
TABLES = (
    *(checks.SHAPES, checks.REFERENCES, checks.SLOTS, checks.EXITS, checks.GRAPH),
    *(checks.EXPRESSIONS, checks.TEXTS, checks.PATTERNS, checks.WORDS, checks.PAPERS),
)
CHINESE = re.compile("[\u4e00-\u9fff]")


@pytest.mark.slow
@each_row("table", TABLES)
def test_whatever_is_said_against_a_file_is_said_in_chinese(table: list[tuple[str, ...]]) -> None:
    rows = [row[:2] for row in table if row[0] in checks.SOUND]
    found = {fault for old, new in rows for fault in checks.faults(checks.changed(old, new))}

    assert found or not rows
    english = [text for fault in found for text in fault if not CHINESE.search(said_in("zh", text))]
    assert [text for text in english if not text.startswith("write {")] == []


def test_whatever_is_remarked_is_said_in_chinese() -> None:
    found = [fault for row in checks.REMARKS for fault in checks.remarked(checks.changed(*row[:2]))]
    for fault in found:
        for text in fault:
            assert CHINESE.search(said_in("zh", text)), text


@pytest.mark.slow
@each_row(("english", "chinese"), WRITTEN.items(), ids=WRITTEN)
def test_a_phrase_has_the_same_holes_in_both_languages(english: str, chinese: str) -> None:
    names = sorted(HOLE.findall(chinese))
    assert set(names) <= set(HOLE.findall(english))
    assert CHINESE.search(chinese) or english.startswith("write {")


@each_row(
    ("english", "chinese"),
    [
        ("there is no state {a}", "没有状态 {a}"),
        (
            "the word X isn't RE2: at character 1 it refers back to a group, which RE2 can't",
            "词 X 不是 RE2：第 1 个字符处，引用了前面的分组，RE2 不支持",
        ),
        ("start should be a list, and is a list", "start 应该是列表，现在是 a list"),
        ("no way leads to a\nb", "没有路通到状态 a\nb"),
        ("type: there is no 'dtae'", "type：没有 'dtae'"),
        ("type: there is no 5", "type：没有 5"),
        ("type: there is no None", "type：没有 None"),
        *[
            (text, text)
            for text in (
                "the draft says what holds already: there is no difference",
                "it stays so: there is no way",
            )
        ],
        ("what nobody has translated", "what nobody has translated"),
        ("", ""),
    ],
)
def test_names_and_values_stay_as_they_are(english: str, chinese: str) -> None:
    assert said_in("zh", english) == chinese
    assert said_in("en", english) == english
