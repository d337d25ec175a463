"""A page that was turned to be read knows where things are on it as it was handed in."""

import math

import pytest

from router.documents.page import Code, Line, Material, Page
from router.domain.documents import DocumentProblem, Place
from router.domain.locale import Localised

AT = Place(left=0.1, top=0.2, right=0.3, bottom=0.4)


@pytest.mark.parametrize(
    ("turned", "edges"),
    [
        (0.0, (0.1, 0.2, 0.3, 0.4)),
        (90.0, (0.2, 0.7, 0.4, 0.9)),
        (180.0, (0.7, 0.6, 0.9, 0.8)),
        (-90.0, (0.6, 0.1, 0.8, 0.3)),
    ],
)
def test_a_place_is_found_again_on_the_page_before_it_was_turned(
    turned: float, edges: tuple[float, ...]
) -> None:
    was = Page(200, 100, turned=turned).as_handed_in(AT)
    assert (was.left, was.top, was.right, was.bottom) == pytest.approx(edges)


def test_a_little_askew_is_turned_back_around_the_middle() -> None:
    page = Page(100, 100, turned=math.degrees(math.atan(0.1)))
    was = page.as_handed_in(Place(left=0.9, top=0.5, right=0.9, bottom=0.5))
    assert was.left == pytest.approx(0.5 + 0.4 * math.cos(math.atan(0.1)))
    assert was.top == pytest.approx(0.5 - 0.4 * math.sin(math.atan(0.1)))


def test_a_material_is_the_same_after_json() -> None:
    problem = DocumentProblem(code="pages", text=Localised(zh="一", en="one"))
    page = Page(1, 2, (Line("金额", AT, "picture", 0.5),), (Code("x", AT),), -90)
    material = Material((page,), {"a/b": "c"}, "0f", (problem,))
    assert Material.of_json(material.as_json()) == material


@pytest.mark.parametrize("raw", [b"", b"[]", b'{"pages": [{"width": 1}]}', b'{"likeness": 5}'])
def test_nonsense_is_no_material(raw: bytes) -> None:
    with pytest.raises(ValueError, match=r".+"):
        Material.of_json(raw)


def test_a_place_is_made_of_numbers() -> None:
    with pytest.raises(ValueError, match="finite"):
        Place(left=math.nan, top=0, right=0, bottom=0)
