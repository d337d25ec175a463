"""A large result is cut between its elements: it stays JSON, and says what isn't there."""

import json
from typing import Any

from router.routing.excerpt import Excerpt, ExcerptPart, excerpt
from tests.table import each_row

LONGEST = 2000
ROW: dict[str, Any] = {"name": "Bob Example", "department": "sales", "days": 12.5}
MANY: list[Any] = [{"number": n, **ROW} for n in range(120)]
TEXT = "年假每年十五天，“未休完的”可以结转。\n" * 400


def test_what_fits_is_whole() -> None:
    assert excerpt(ROW, LONGEST) == Excerpt(json.dumps(ROW, ensure_ascii=False))


def test_a_list_ends_with_how_many_more_there_are() -> None:
    shown = excerpt(MANY, LONGEST)
    *kept, note = json.loads(shown.text)
    assert kept == MANY[: len(kept)]
    assert note == f"… {120 - len(kept)} more of 120"
    assert shown.parts == [ExcerptPart(list, len(kept), 120)]
    assert len(kept) > 20


def test_what_is_small_beside_a_long_list_stays_whole() -> None:
    shown = json.loads(excerpt({"rows": MANY, "total": 120, "note": "all of them"}, LONGEST).text)
    assert (shown["total"], shown["note"]) == (120, "all of them")
    assert shown["rows"][-1].endswith("more of 120")


def test_a_long_text_says_how_long_it_is() -> None:
    shown = excerpt({"text": TEXT, "page": 1}, LONGEST)
    (part,) = shown.parts
    said = json.loads(shown.text)["text"]
    assert said == f"{TEXT[: part.shown]}… {len(TEXT) - part.shown} more characters of {len(TEXT)}"
    assert part.whole == len(TEXT)
    assert part.shown > LONGEST / 2


@each_row(
    "result",
    [
        MANY,
        {"a": MANY, "b": MANY, "c": TEXT},
        [TEXT, TEXT],
        [[MANY, MANY], MANY],
        {f"key {n}": TEXT for n in range(300)},
        {"deep": {"deeper": {"deepest": MANY}}},
        TEXT,
        "\x01" * 5000,
        '"' * 5000,
    ],
)
@each_row("longest", [400, 2000, 6000])
def test_it_is_never_longer_and_always_json(result: Any, longest: int) -> None:
    shown = excerpt(result, longest)
    assert len(shown.text) <= longest
    assert json.loads(shown.text)
    assert shown.parts


def test_a_person_is_told_in_their_language() -> None:
    part = ExcerptPart(list, 20, 120)
    assert (part.told("en"), part.told("zh")) == (
        "Shown: the first 20 of 120.",
        "只看了前 20 条，共 120 条。",
    )
