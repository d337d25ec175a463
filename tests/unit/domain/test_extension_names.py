"""How extensions, and what they add by name, may be called."""

from router.domain.extension_names import is_extension_name
from tests.table import each_row


@each_row(
    ("name", "is_one"),
    [
        ("a", True),
        ("acme_badges2", True),
        ("a" * 40, True),
        ("a" * 41, False),
        ("", False),
        ("2badges", False),
        ("_badges", False),
        ("acme-badges", False),
        ("Badges", False),
        ("badges\n", False),
        ("工牌", False),
        (None, False),
    ],
)
def test_a_name_is_short_and_of_plain_lower_case_characters(name: object, is_one: bool) -> None:
    assert is_extension_name(name) is is_one
