"""What `make check` counts of the tree, and when it objects."""

import ast

import pytest

from tests.figures import Figure, Function, Named, count, cycle, functions, longest, undescribed

SHORT = '''
def add(one, other):
    """The sum.

    Of two.
    """
    total = one + other
    return total
'''


def only(source: str) -> Function:
    node = ast.parse(source).body[0]
    assert isinstance(node, Function)
    return node


def test_neither_a_signature_nor_a_docstring_makes_a_function_long() -> None:
    assert [one.value for one in functions(SHORT, "add.py")] == [2]


def test_a_function_of_a_docstring_alone_has_no_lines() -> None:
    assert [one.value for one in functions('def nothing():\n    """No."""\n', "no.py")] == [0]


def test_nested_functions_count_for_themselves_and_for_what_they_are_in() -> None:
    source = "def outer():\n    def inner():\n        return 1\n    return inner\n"
    assert [one.value for one in functions(source, "nested.py")] == [3, 1]


@pytest.mark.parametrize(
    ("source", "names"),
    [
        ('"""A module."""\ndef open(): ...\n', ["m.py:2 open"]),
        ('"""A module."""\ndef _closed(): ...\n', []),
        (
            '"""A module."""\nclass Open:\n    """One."""\n    def shut(self): ...\n',
            ["m.py:4 shut"],
        ),
        ('"""A module."""\nclass _Closed:\n    def shut(self): ...\n', []),
        (
            '"""A module."""\nclass A(B):\n    """One."""\n    @override\n    def go(self): ...\n',
            [],
        ),
        ("", ["m.py"]),
    ],
)
def test_public_names_want_a_docstring(source: str, names: list[str]) -> None:
    assert [one.where for one in undescribed(source, "m.py")] == names


@pytest.mark.parametrize(
    ("imports", "around"),
    [
        ({"a": {"b"}, "b": {"c"}, "c": set()}, set()),
        ({"a": {"b"}, "b": {"c"}, "c": {"a"}}, {"a", "b", "c"}),
        ({"a": {"a"}}, {"a"}),
        ({}, set()),
    ],
)
def test_a_cycle_of_imports_is_found(imports: dict[str, set[str]], around: set[str]) -> None:
    assert set(cycle(imports)) == around


def test_what_is_over_its_bound_is_marked_and_named() -> None:
    figure = count("missing", 1, [Named(1, "a.py"), Named(1, "b.py")])
    assert figure.over
    assert "OVER" in str(figure)
    assert "a.py" in str(figure)


def test_what_is_at_its_bound_is_fine() -> None:
    figure = longest("longest", 7, [Named(3, "a.py"), Named(7, "b.py")])
    assert (figure.value, figure.over) == (7, False)
    assert figure == Figure("longest", 7, 7, (Named(7, "b.py"), Named(3, "a.py")))
