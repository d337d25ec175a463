from pydantic import JsonValue

from router.retrieval.index import LONGEST, card
from tests.unit.retrieval.capabilities import LEAVE, capability


def test_a_passage_is_made_of_each_language() -> None:
    assert card(LEAVE).passages == ("请假申请: 请假申请", "Ask for leave: Ask for leave")


def test_languages_that_say_the_same_make_one_passage() -> None:
    assert len(card(capability("x", "same", "same")).passages) == 1


def test_words_come_from_everything_and_passages_leave_parameters_out() -> None:
    found = card(
        capability(
            "trip",
            "出差",
            "Trip",
            parameters={
                "properties": {
                    "destination": {"description": "目的地"},
                    "seat": {"enum": ["window", "aisle"]},
                    "legs": {"items": {"properties": {"airport": {"type": "string"}}}},
                    "note": {"anyOf": [{"description": "anything else"}, {"type": "null"}]},
                }
            },
        )
    )
    assert {"destination", "目的", "window", "airport", "anyth"} <= set(found.words)
    assert not any("目的地" in passage for passage in found.passages)


def test_a_schema_that_is_nonsense_or_without_bottom_is_survived() -> None:
    deep: dict[str, JsonValue] = {}
    for _ in range(50):
        deep = {"properties": {"inner": deep}}
    nonsense: dict[str, JsonValue] = {"properties": ["no"], "enum": 3, "anyOf": {}}
    for parameters in (deep, nonsense):
        assert card(capability("x", "一", "one", parameters=parameters)).words


def test_a_missing_title_is_read_from_the_name() -> None:
    assert card(capability("get_leaveBalance")).passages == ("get leave Balance: ",)


def test_a_book_of_a_description_is_cut() -> None:
    assert len(card(capability("x", "长" * 9999, "long")).passages[0]) == LONGEST
