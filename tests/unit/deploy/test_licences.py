"""What is installed is under a licence that is allowed, or there is a reason why it may come in."""

from dataclasses import replace

import pytest

from supply.environment import Package
from supply.licences import allows, expression, problems
from supply.locks import held
from supply.policy import Licence, kept, policy
from tests.table import each_row

MIT = {"MIT"}
SOME = Package("some", "1.0", expression="MIT")
STRICT = Licence("MIT AND GPL-2.0-only", "its wheel has it", ("GPL-2.0-only",), ships=False)


@each_row(
    ("package", "said"),
    [
        (Package("some", "1", expression="apache-2.0 or mit"), "Apache-2.0 OR MIT"),
        (Package("some", "1", licence="MPL-2.0 AND MIT"), "MPL-2.0 AND MIT"),
        (Package("some", "1", licence="Apache 2.0"), "Apache-2.0"),
        (Package("some", "1", licence="UNKNOWN", classifiers=("MIT License",)), "MIT"),
        (Package("some", "1", classifiers=("BSD License",)), "LicenseRef-BSD"),
        (
            Package("some", "1", licence="Dual", classifiers=("MIT License", "ISC License (ISCL)")),
            "MIT AND ISC",
        ),
        (Package("some", "1", licence="See the file", classifiers=("Something else",)), ""),
        (Package("some", "1"), ""),
    ],
)
def test_a_licence_is_told_by_expression_by_words_or_by_classifiers(
    package: Package, said: str
) -> None:
    assert expression(package, {}) == said


def test_what_was_read_in_a_wheel_counts_before_what_its_metadata_say() -> None:
    assert expression(SOME, {"some": STRICT}) == "MIT AND GPL-2.0-only"


@each_row(
    ("told", "outcome"),
    [
        ("MIT", True),
        ("GPL-2.0-only", False),
        ("MIT OR GPL-2.0-only", True),
        ("GPL-2.0-only OR MIT", True),
        ("MIT AND GPL-2.0-only", False),
        ("GPL-2.0-only OR MIT AND ISC", True),
        ("GPL-2.0-only OR MIT AND GPL-2.0-only", False),
        ("(GPL-2.0-only OR MIT) AND ISC", True),
        ("(GPL-2.0-only OR MIT) AND (ISC AND Zlib)", False),
        ("GPL-3.0-or-later WITH GCC-exception-3.1", True),
        ("GPL-3.0-or-later", False),
        ("ISC WITH GCC-exception-3.1", False),
    ],
)
def test_of_either_one_is_enough_and_of_both_it_takes_both(told: str, outcome: bool) -> None:
    allowed = {"MIT", "ISC", "GPL-3.0-or-later WITH GCC-exception-3.1"}
    assert allows(told, allowed) is outcome


@each_row("told", ["", "MIT AND", "(MIT", "MIT)", "MIT ISC", "MIT AND )", "("])
def test_what_is_no_expression_allows_nothing(told: str) -> None:
    with pytest.raises(ValueError, match="expression"):
        allows(told, MIT)


@each_row(
    ("package", "said", "shipped", "known", "begins"),
    [
        (SOME, {}, {"some"}, {"some"}, []),
        (replace(SOME, expression=""), {}, set(), {"some"}, ["some 1.0 doesn't say its licence"]),
        (
            replace(SOME, expression="AGPL-3.0-only"),
            {},
            set(),
            {"some"},
            ["some 1.0 is under AGPL-3.0-only, which supply/policy.toml doesn't allow"],
        ),
        (SOME, {"some": STRICT}, set(), {"some"}, []),
        (
            SOME,
            {"some": replace(STRICT, accepted=())},
            set(),
            {"some"},
            ["some 1.0 is under MIT AND GPL-2.0-only, which"],
        ),
        (SOME, {"some": STRICT}, {"some"}, {"some"}, ["some is for tests alone"]),
        (SOME, {"gone": STRICT}, set(), {"some"}, ["supply/policy.toml has a licence of gone"]),
    ],
    ids=["allowed", "none", "not allowed", "accepted", "not accepted", "shipped", "gone"],
)
def test_what_is_wrong_with_licences_is_said(
    package: Package,
    said: dict[str, Licence],
    shipped: set[str],
    known: set[str],
    begins: list[str],
) -> None:
    found = [*problems([package], MIT, said, shipped, known)]
    assert len(found) == len(begins)
    assert all(line.startswith(start) for line, start in zip(found, begins, strict=True))


def test_no_licence_that_asks_for_the_whole_programs_source_is_in_what_ships() -> None:
    told = kept()
    strict = {
        name
        for name, licence in told.licences.items()
        if any(one.startswith(("GPL", "AGPL")) and " WITH " not in one for one in licence.accepted)
    }
    shipped = {pin.name for lock in ("build", "runtime", "image") for pin in held()[lock]}
    assert strict
    assert strict & shipped == set()
    assert [one for one in told.allowed if "GPL" in one] == []


def test_a_part_of_the_policy_that_there_is_none_of_is_refused() -> None:
    text = '[locks]\n[images]\n[licences]\nallowed = []\n[licences.of.some]\nexpresion = "MIT"\n'
    with pytest.raises(TypeError, match="expresion"):
        policy(text)
