import pytest

from router.entities.normalisation import normalise


@pytest.mark.parametrize(
    ("typed", "text"),
    [
        ("我要请假", "我要请假"),
        ("我 要 请 假", "我要请假"),
        ("我要請假，報銷兩張發票", "我要请假,报销两张发票"),
        ("ＬＥＡＶＥ　request", "leave request"),
        ("  Leave \t\n Request  ", "leave request"),
        ("请\u200b假", "请假"),
        ("请\x07假", "请假"),
        ("打车 36 块", "打车 36 块"),
        ("１２月２４日", "12月24日"),
        ("￥58", "¥58"),
        ("cafe\u0301", "café"),
        ("Straße", "strasse"),
        ("", ""),
        (" \u3000 ", ""),
        ("请½天", "请½天"),
        ("请 3 天 假", "请 3 天假"),
        ("下周 一 到 周 三", "下周一到周三"),
        ("2026 年 12 月 24 日", "2026年 12月 24日"),
        ("你好 ， 请假 ！ 谢谢", "你好,请假!谢谢"),
        ("原因 ： 家里有事", "原因:家里有事"),
        ("leave , please", "leave , please"),
        ("请\ufe0f假\U000e0100", "请假"),
        ("\u202e请\u2066假\u2069", "请假"),
        ("请\ufeff\u2060\u034f\u3164假", "请假"),
        ("1\ufe0f\u20e3", "1"),
        ("请🏖️假", "请假"),
        ("apply 🙏🏽 for leave 👍", "apply for leave"),
        ("👍🏽", "👍🏽"),
        ("❤️ 🙏", "❤ 🙏"),
    ],
)
def test_there_is_one_spelling(typed: str, text: str) -> None:
    assert normalise(typed).text == text


def test_a_span_refers_to_the_text_as_typed() -> None:
    found = normalise("你好， 我 要 請\u200b 假 ！")
    start = found.text.index("请假")
    assert found.as_typed(start, start + 2) == "請\u200b 假"


def test_every_character_of_an_unfolded_one_comes_from_it() -> None:
    found = normalise("a㍿b")
    assert found.text == "a株式会社b"
    assert found.span(1, 5) == (1, 2)


def test_an_empty_span_has_a_place() -> None:
    found = normalise("请 假")
    assert found.span(1, 1) == (2, 2)
    assert found.span(2, 2) == (3, 3)


def test_a_lone_surrogate_does_not_break_encoding() -> None:
    assert normalise("请\ud800假").text.encode() == "请\ufffd假".encode()


def test_a_ligature_of_a_whole_sentence_stays_folded() -> None:
    assert normalise("\ufdfa" * 10).text == "\ufdfa" * 10
