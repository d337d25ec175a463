"""The word lists of a language, and what is said of a file of them that can't be used."""

import pytest

from router.lexicon import BOTH, EN, ZH, LexiconError, Words, read_lexicon
from tests.table import each_row


def test_a_list_stands_in_an_expression_as_the_group_of_its_words() -> None:
    assert f"^{Words(('skip', 'pass'))}$" == "^(?:skip|pass)$"


def test_the_shipped_lists_are_there_in_both_languages() -> None:
    assert "跳过" in str(ZH.skip)
    assert "skip" in str(EN.skip)
    assert BOTH.skip == ZH.skip + EN.skip


def test_words_stand_a_line_each_or_two_spaces_apart_and_refer_to_other_lists() -> None:
    read = read_lexicon("thanks: |\n  thanks a lot  ta\ncourtesy: |\n  {thanks}\n  please\n", "x")
    assert read.thanks == ("thanks a lot", "ta")
    assert read.courtesy == ("(?:thanks a lot|ta)", "please")
    assert read.skip == ()


@each_row(
    ("text", "said"),
    [
        ("skip: |\n  pass\nskips: |\n  x\n", "en.yaml:3: there is no list skips; did you mean"),
        ("verb: |\n  x\n", "en.yaml:1: there is no list verb; make it a field of Lexicon"),
        ("help: |\n  help\nskip:\n", "en.yaml:3: the list skip is empty; leave it out"),
        ("skip: |\n  pass\n  n/a  pass\n", "en.yaml:3: pass stands in skip twice; keep one"),
        ("skip: |\n  pass\nskip: |\n  n/a\n", "en.yaml:3: skip comes twice; keep one of the two"),
        ("skip: |\n  {pas}\n", "en.yaml:2: there is no list pas to put in; write the words out"),
        ("skip: |\n  {skip}\n", "en.yaml:2: skip would stand in itself; write the words out"),
        ("skip: |\n  pass\n  (a\n", "en.yaml:3: a phrase of skip isn't RE2"),
    ],
)
def test_a_fault_is_said_with_its_line(text: str, said: str) -> None:
    with pytest.raises(LexiconError) as raised:
        read_lexicon(text, "en.yaml")
    assert str(raised.value).startswith(said)
