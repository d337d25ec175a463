"""What holds of an answer, and what is said where it doesn't."""

from pathlib import Path
from typing import Any

import pytest

from router.domain.errors import InvalidInput
from router.extensions.evaluation.assertions import ASSERTIONS, JudgeSilent
from router.routing.prompt_cases import Observed, ObservedTool
from tests.table import each_row

CALLS = (ObservedTool("get_weather", {"city": "上海"}), ObservedTool("calculate"))
SAID = Observed(
    "leave_request",
    "你还有 7 天年假 (annual leave)",
    {"start": "2026-11-23", "days": 3},
    CALLS,
)


async def nobody(question: str, observed: Observed) -> tuple[bool, str]:
    raise JudgeSilent(f"nobody was to be asked {question!r} of {observed.route}")


HOLDS: dict[str, tuple[str, Any]] = {
    "route": ("route", "leave_request"),
    "one-of-routes": ("route", ["reply", "leave_request"]),
    "an-argument": ("arguments", {"days": 3}),
    "an-argument-that-isn-t-there": ("arguments", {"end": None}),
    "words": ("contains", "7 天"),
    "whatever-case": ("contains", ["Annual", "年假"]),
    "words-that-aren-t-there": ("not_contains", ["已提交", "10 天"]),
    "a-pattern": ("matches", r"\d+ 天"),
    "chinese-with-english-in-it": ("language", "zh"),
    "tools": ("calls", ["calculate", "get_weather"]),
    "a-tool-with-arguments": ("calls", [{"get_weather": {"city": "上海"}}]),
    "tools-that-were-not-called": ("not_calls", ["web_search", "translate"]),
    "a-schema": ("schema", {"required": ["start"], "properties": {"days": {"maximum": 5}}}),
}


@each_row(("kind", "wanted"), HOLDS.values(), ids=HOLDS)
async def test_what_is_so_holds(kind: str, wanted: Any) -> None:
    assert await ASSERTIONS[kind].check(wanted, SAID, nobody) is None


FAILS: dict[str, tuple[str, Any, str]] = {
    "route": ("route", "reply", "it is leave_request"),
    "routes": ("route", ["reply", "clarify"], "it is leave_request"),
    "an-argument": ("arguments", {"days": 4, "start": "2026-11-23"}, "days is 3"),
    "kinds-of-values": ("arguments", {"days": "3"}, "days is 3"),
    "words": ("contains", ["7", "10 天"], "it lacks 10 天"),
    "words-that-are-there": ("not_contains", "年假", "it has 年假"),
    "a-pattern": ("matches", r"\d{3}", "nothing in it matches"),
    "language": ("language", "en", "it is in zh"),
    "tools": ("calls", ["translate"], "it never called translate; it called get_weather, calc"),
    "arguments-of-tools": ("calls", [{"get_weather": {"city": "北京"}}], "it never called"),
    "a-tool-too-many": ("not_calls", "calculate", "it called calculate"),
    "a-schema": ("schema", {"properties": {"days": {"type": "string"}}}, "['days']: 3 is not"),
}


@each_row(("kind", "wanted", "said"), FAILS.values(), ids=FAILS)
async def test_what_isn_t_so_says_what_there_is_instead(kind: str, wanted: Any, said: str) -> None:
    assert said in str(await ASSERTIONS[kind].check(wanted, SAID, nobody))


async def test_of_an_answer_without_words_the_values_are_looked_at() -> None:
    wordless = Observed("get_weather", "", {"city": "上海"})
    assert await ASSERTIONS["contains"].check("上海", wordless, nobody) is None


@each_row(("yes", "said"), [(True, None), (False, "no: it names none")])
async def test_a_judge_s_word_is_what_counts(yes: bool, said: str | None) -> None:
    async def judge(_: str, __: Observed) -> tuple[bool, str]:
        return yes, "it names none"

    assert await ASSERTIONS["judge"].check("Does it name a file?", SAID, judge) == said


async def test_a_judge_who_says_nothing_is_no_pass() -> None:
    with pytest.raises(JudgeSilent):
        await ASSERTIONS["judge"].check("Is it kind?", SAID, nobody)


@each_row(
    ("text", "wrong"),
    [
        ("# A\n\nx\n  ## B \ny", None),
        ("## B\n# A", "it lacks the line ## B, there or so late"),
        ("# A and more\n## B", "it lacks the line # A, there or so late"),
        ("", "it lacks the line # A, there or so late"),
    ],
)
async def test_the_lines_of_a_file_stand_in_the_answer_in_their_order(
    tmp_path: Path, text: str, wrong: str | None
) -> None:
    (tmp_path / "frame.md").write_text("# A\n\n## B\n", encoding="utf-8")
    seen = Observed("answer", text, "", folder=tmp_path)
    assert await ASSERTIONS["file"].check("frame.md", seen, nobody) == wrong


async def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=r"none\.md"):
        await ASSERTIONS["file"].check("none.md", Observed("x", folder=tmp_path), nobody)
