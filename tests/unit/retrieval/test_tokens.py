import pytest

from router.retrieval.lexical import tokens


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("查年假", ["查年", "年假"]),
        ("假", ["假"]),
        ("ＶＰＮ 权限", ["vpn", "权限"]),
        ("get_leave_balance", ["get", "leav", "balanc"]),
        ("getLeaveBalance", ["get", "leav", "balanc"]),
        ("订meeting室", ["订", "meet", "室"]),
        ("  ,。!?  ", []),
        ("", []),
    ],
)
def test_text_falls_into_words_and_pairs_of_characters(text: str, expected: list[str]) -> None:
    assert tokens(text) == expected


@pytest.mark.parametrize(
    ("one", "other"), [("flights", "flight"), ("booking", "book"), ("policies", "policy")]
)
def test_forms_of_an_english_word_are_one_token(one: str, other: str) -> None:
    assert tokens(one) == tokens(other)


def test_words_that_only_look_like_forms_stay_apart() -> None:
    assert tokens("class") == ["class"]
    assert tokens("bus") == ["bus"]
