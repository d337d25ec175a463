"""A company's title, logo and colour: what is taken, and what is refused and why."""

from pathlib import Path

import pytest

from router.api.brand import DARK_PAPER, LIGHT_PAPER, MIN_CONTRAST, accent_sheet, contrast
from router.domain.errors import MisconfiguredError
from router.domain.locale import Localised
from router.formats.regex import compiled
from router.settings import Settings
from router.settings.brand import MAX_LOGO_BYTES
from tests.table import each_row

PNG = b"\x89PNG\r\n\x1a\n"


def test_a_title_is_one_text_or_one_for_each_language(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ROUTER_PAGE_TITLE", "Acme")
    assert Settings.load().page_title == Localised(zh="Acme", en="Acme")
    monkeypatch.setenv("ROUTER_PAGE_TITLE", '{"zh": "安可", "en": "Acme"}')
    assert Settings.load().page_title == Localised(zh="安可", en="Acme")


@each_row(
    ("name", "content"),
    [("a.png", PNG), ("a.svg", b"<svg/>"), ("a.svg", b'\xef\xbb\xbf<?xml version="1.0"?>\n<svg >')],
)
def test_a_logo_is_known_by_its_content(tmp_path: Path, name: str, content: bytes) -> None:
    (file := tmp_path / name).write_bytes(content)
    assert Settings.load(page_logo=file).page_logo == file


@each_row(
    ("setting", "value", "reason"),
    [
        ("page_title", "", "ROUTER_PAGE_TITLE"),
        ("page_title", "a\nb", "write one line of up to 60 characters"),
        ("page_title", "x" * 61, "write one line of up to 60 characters"),
        ("page_title", '{"zh": "x"}', "Field required"),
        ("page_title", "{", "write it as JSON"),
        ("page_accent", "red", "as in #0b6353"),
        ("page_accent", "#0b6353; }", "as in #0b6353"),
        ("page_logo", "nowhere.svg", "can't be read (No such file or directory)"),
        ("page_logo", "large.svg", "is over 256 KiB"),
        ("page_logo", "page.svg", "is neither an SVG nor a PNG file"),
    ],
)
def test_what_cannot_be_shown_is_refused_with_a_remedy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, setting: str, value: str, reason: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("page.svg").write_text("<html><svg></svg></html>")
    Path("large.svg").write_bytes(b"<svg/>" + b" " * MAX_LOGO_BYTES)
    with pytest.raises(MisconfiguredError) as refused:
        Settings.load(**{setting: value})
    assert reason in str(refused.value)


@each_row("accent", ["#000000", "#ffffff", "#ffcc00", "#0b6353", "#ff0000", "#7f7f7f", "#0000ff"])
def test_text_in_the_accent_colour_can_be_read_by_day_and_by_night(accent: str) -> None:
    sheet = accent_sheet(accent)
    light, dark, on_light, on_dark, *_ = compiled("#[0-9a-f]{6}").findall(sheet)
    pairs = ((light, LIGHT_PAPER), (dark, DARK_PAPER), (light, on_light), (dark, on_dark))
    assert min(contrast(*pair) for pair in pairs) >= MIN_CONTRAST
