"""Addresses in what a tool is called with."""

from pydantic import JsonValue

from router.routing.addresses import addresses, question, ungiven
from tests.table import each_row

WRITTEN = {
    "see https://a.example/x?y=1, please": ["https://a.example/x?y=1"],
    "mail bo@b.example.": ["bo@b.example"],
    "mailto:bo@b.example": ["mailto:bo@b.example"],
    "打开https://a.example/制度。好吗": ["https://a.example/制度"],
    "a.example/path and a.example:8080": ["a.example/path", "a.example:8080"],
    "HTTPS://A.EXAMPLE": ["HTTPS://A.EXAMPLE"],
    "http:a.example/x": ["http:a.example/x"],
    "(https://a.example/x)": ["https://a.example/x"],
    "https:\\\\a.example\\x": ["https://a.example/x"],
    "bo＠b.example": ["bo@b.example"],
    "bo@例子.cn": ["bo@例子.cn"],
    "10.0.0.1/x and 10.0.0.1:80": ["10.0.0.1/x", "10.0.0.1:80"],
    "version 1.2.3.4 of it": [],
    "3.5 of v1.2, e.g. 12:30, report.pdf, and/or": [],
    "policies/travel-1.md": [],
    "": [],
}


@each_row(("text", "found"), WRITTEN.items())
def test_addresses_are_found_as_they_are_written(text: str, found: list[str]) -> None:
    assert addresses(text) == found


def test_what_a_person_gave_may_be_used_however_deep_it_lies() -> None:
    arguments: dict[str, JsonValue] = {"where": [{"url": "https://A.example/x/"}]}
    assert ungiven(arguments, ["go to https://a.example/x"]) == []
    assert ungiven(arguments, ["go to https://a.example/y"]) == ["https://A.example/x/"]
    assert ungiven({"text": "no address"}, []) == []


def test_a_host_that_the_houses_own_words_name_is_known_with_all_that_is_on_it() -> None:
    own = "Look under https://wiki.example/ first."
    assert ungiven({"url": "https://wiki.example/page?q=1"}, [], own) == []
    assert ungiven({"url": "https://wiki.example.evil/page"}, [], own) != []
    for foreign in ("wiki.example@evil.example/", "evil.example/@wiki.example"):
        assert ungiven({"url": f"https://{foreign}"}, [], own) != []
    for hidden in ("?d=1@wiki.example", "#@wiki.example", ":80/@wiki.example", "\\@wiki.example"):
        assert ungiven({"url": f"https://evil.example{hidden}"}, [], own) != []


def test_whoever_presses_the_button_has_given_it() -> None:
    asked = question(["https://a.example/x"], "en")
    assert [option.value for option in asked.options] == ["https://a.example/x"]
