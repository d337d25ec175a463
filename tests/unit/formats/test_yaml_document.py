import pytest

from router.formats.yaml_document import Unreadable, read_yaml
from tests.table import each_row


def test_scalars_are_those_of_yaml_1_2_and_an_alias_stands_for_what_it_names() -> None:
    text = "{a: yes, b: true, c: 3, d: 1.5, e: ~, f: 2026-01-01, g: 1:30, h: '5'}"
    read = {"a": "yes", "b": True, "c": 3, "d": 1.5, "e": None}
    assert read_yaml(text).data == {**read, "f": "2026-01-01", "g": "1:30", "h": "5"}
    assert read_yaml("a: &x {b: 1}\nc: *x").data == {"a": {"b": 1}, "c": {"b": 1}}


def test_every_place_knows_its_line_and_an_unknown_one_the_nearest_around_it() -> None:
    document = read_yaml("a:\n  - b: 1\n    c: 2\n  - d\n")
    places = [("a", 0, "c"), ("a", 1), ("a", 0, "nope", 3), ("nope",)]
    assert [document.line(place) for place in places] == [3, 4, 2, 1]


@each_row(
    ("text", "line", "what"),
    [
        ("a: 1\nb: 2\na: 3", 3, "a comes twice"),
        ("a: !!python/object:os.system ls", 1, "isn't allowed"),
        ("a: !env HOME", 1, "isn't allowed"),
        ("\n5: x", 2, "the key 5 isn't text"),
        ("true: x", 1, "the key true isn't text"),
        ("? [a]\n: b", 1, "a key must be a plain word"),
        ("a: &x {b: 1}\nc:\n  <<: *x", 3, "a key must be a plain word"),
    ],
)
def test_what_can_be_read_around_is_noted_with_its_line(text: str, line: int, what: str) -> None:
    ((found, fault),) = read_yaml(text).faults
    assert found == line
    assert what in fault.what


BOMB = "a: &a [x, x, x, x, x, x, x, x, x, x]\n" + "\n".join(
    f"{new}: &{new} [{', '.join([f'*{old}'] * 10)}]"
    for old, new in zip("abcdefgh", "bcdefghi", strict=True)
)


@pytest.mark.slow
@each_row(
    ("text", "line", "what"),
    [
        ("a:\n\tb: 1", 2, "a tab"),
        ("a: b: c", 1, "a colon"),
        ("a: [1", 1, "isn't YAML"),
        ("a: 'x", 1, "isn't YAML"),
        ("a: 1\n---\nb: 2", 2, "another document"),
        ("a: *nobody", 1, "undefined alias"),
        ("a: &a [*a]", 1, "contains itself"),
        ("ok: 1\na: \x07", 2, "U+0007"),
        ("[" * 5000, 1, "deep"),
        ("a: " + "[" * 60 + "]" * 60, 1, "deep"),
        (BOMB, 1, "more than 20,000 things"),
        ("a:\n" * 25_000, 20_000, "more than 20,000 things"),
        ("a:\n" * 25_000 + "\tb: [", 20_000, "more than 20,000 things"),
    ],
)
def test_what_is_no_document_is_refused_with_the_line(text: str, line: int, what: str) -> None:
    with pytest.raises(Unreadable) as caught:
        read_yaml(text)
    assert what in caught.value.fault.what
    assert caught.value.line >= line


def test_two_halves_of_a_character_escaped_one_after_the_other_are_it() -> None:
    found = read_yaml('{"\\ud83d\\ude00": "a\\ud83d\\ude00\\ude00"}')
    assert found.data == {"😀": "a😀\ufffd"}
    assert [str(fault) for _, fault in found.faults] == [
        "there is half of a character, \\ude00; write the character itself"
    ]
