"""What rules say against sentences, and which language they count as."""

from router.extensions.evaluation.examples.objection import (
    LONGEST,
    ExampleRefusal,
    objection_to_form,
    spoken_in,
)
from tests.table import each_row


@each_row(
    ("sentence", "locale"),
    [
        ("我要请假", "zh"),
        ("帮我 review 一下这段代码", "zh"),
        ("Frank 今年还剩几天年假", "zh"),
        ("who is 张伟?", "en"),
        ("20 GiB in GB", "en"),
    ],
)
def test_a_sentence_counts_as_one_language_and_is_taken_in_it(sentence: str, locale: str) -> None:
    assert spoken_in(sentence) == locale
    assert objection_to_form(sentence, spoken_in(sentence)) is None


@each_row(
    "sentence",
    ["I forgot to clock in above", "忘了打卡怎么办", "what is the rule for a < b", "灯" * LONGEST],
)
def test_what_only_resembles_an_instruction_is_taken(sentence: str) -> None:
    assert objection_to_form(sentence) is None


def test_what_is_refused_is_shown_short_and_on_one_line() -> None:
    shown = ExampleRefusal("灯\n\u202e" * 10_000, "why").shown
    assert len(shown) <= 60
    assert "\n" not in shown
    assert "\u202e" not in shown
