"""Which installed extensions are loaded, in which order, and what is said of the others."""

import re
import sys
from collections.abc import Iterator
from importlib.metadata import EntryPoint
from pathlib import Path
from types import ModuleType

import pytest

from router import extensions
from router.domain.errors import MisconfiguredError
from router.extension import ENTRY_POINT_GROUP, Extension
from router.runtime.extensions import (
    Extensions,
    load_configured,
    load_extensions,
    log_omissions,
    omitted_prefixes,
    setting_sections,
)
from router.settings import Settings, slips
from tests.table import each_row

MODULE = "acme_extensions"


def extension(name: str, *requires: str) -> type[Extension]:
    return type(name, (Extension,), {"name": name, "requires": requires})


@pytest.fixture(autouse=True)
def module() -> Iterator[ModuleType]:
    """A module of another company, with extensions."""
    made = ModuleType(MODULE)
    classes = {
        "Badges": extension("badges"),
        "Parking": extension("parking", "badges"),
        "Gates": extension("gates", "parking"),
        "Lockers": extension("lockers", "furniture"),
        "Misnamed": extension("other_name"),
        "Alien": type("Alien", (), {"name": "alien"}),
    }
    vars(made).update(classes)
    sys.modules[MODULE] = made
    yield made
    del sys.modules[MODULE]


def point(name: str, attribute: str) -> EntryPoint:
    return EntryPoint(name, f"{MODULE}:{attribute}", ENTRY_POINT_GROUP)


BADGES, PARKING, GATES = (
    point("badges", "Badges"),
    point("parking", "Parking"),
    point("gates", "Gates"),
)


def names(found: Extensions) -> list[str]:
    return [each.name for each in found]


def test_extensions_start_after_those_that_they_require() -> None:
    found = load_extensions(installed=[GATES, PARKING, BADGES])

    assert names(found) == ["badges", "parking", "gates"]
    assert not found.omitted


@each_row(
    ("installed", "reason"),
    [
        (point("gone", "Gone"), "can't be imported: AttributeError"),
        (EntryPoint("absent", "acme_absent:X", ENTRY_POINT_GROUP), "ModuleNotFoundError"),
        (point("alien", "Alien"), "no subclass of router.extension.Extension"),
        (point("misnamed", "Misnamed"), "give both the same name"),
        (point("lockers", "Lockers"), "requires furniture, which isn't loaded"),
        (point("parking", "Parking"), "requires badges, which isn't loaded"),
    ],
)
def test_an_extension_that_cannot_be_used_is_left_out_and_named(
    installed: EntryPoint, reason: str
) -> None:
    found = load_extensions(installed=[installed])

    assert names(found) == []
    assert [each.name for each in found.failed] == [installed.name]
    assert reason in found.failed[0].reason


def test_what_requires_a_failed_extension_is_left_out_as_well_and_the_rest_is_loaded() -> None:
    found = load_extensions(off={"parking"}, installed=[BADGES, PARKING, GATES])

    assert names(found) == ["badges"]
    assert [(each.name, each.is_chosen) for each in found.omitted] == [
        ("parking", True),
        ("gates", False),
    ]


def test_an_import_that_fails_is_told_with_its_traceback(module: ModuleType) -> None:
    def fail() -> None:
        raise RuntimeError("no badge printer")

    vars(module)["Badges"] = fail

    (omitted,) = load_extensions(installed=[BADGES]).omitted

    assert "RuntimeError: no badge printer" in omitted.reason
    assert "Traceback" in omitted.traceback


@each_row("required", [["badges"], ["nobody_has_it"]])
def test_a_required_extension_that_is_not_loaded_stops_the_process(required: list[str]) -> None:
    with pytest.raises(MisconfiguredError, match=f"ROUTER_REQUIRED_EXTENSIONS={required[0]}"):
        load_extensions(off={"badges"}, required=required, installed=[BADGES])


def test_an_extension_of_this_project_requires_those_that_it_imports() -> None:
    folder = Path(extensions.__path__[0])
    imported = {
        (extension.name, other)
        for extension in load_extensions()
        for module in (folder / extension.name).rglob("*.py")
        for other in re.findall(
            r"(?m)^\s*from router\.extensions\.(\w+)", module.read_text("utf-8")
        )
        if other != extension.name
    }

    assert imported == {(each.name, one) for each in load_extensions() for one in each.requires}


def test_the_extensions_of_this_project_are_all_loaded() -> None:
    folders = {each.parent.name for each in Path(extensions.__path__[0]).glob("*/__init__.py")}

    found = load_extensions()

    assert not found.failed
    assert folders == {*names(found)}


@each_row("required", [[], ["badges"]])
def test_an_extension_whose_routes_raise_is_left_out_unless_it_is_required(
    module: ModuleType, required: list[str]
) -> None:
    def fail(_: Extension) -> None:
        raise RuntimeError("no badge printer")

    vars(module)["Badges"].routes = fail
    found = load_extensions(required=required, installed=[BADGES])

    faults = found.find_faults(lambda each: each.routes())

    assert [each.name for each in faults] == ["badges"]
    assert "no badge printer" in faults[0].reason
    if required:
        with pytest.raises(MisconfiguredError, match="no badge printer"):
            found.collect(lambda each: each.routes())
    else:
        assert found.collect(lambda each: each.routes()) == []


def test_an_extension_that_is_refused_is_used_no_longer_nor_is_what_requires_it() -> None:
    found = load_extensions(installed=[BADGES, PARKING, GATES])

    found.collect(lambda each: 1 / (each.name != "parking"))

    assert found.collect(lambda each: each.name) == ["badges"]
    assert [(each.name, each.reason.partition(":")[0]) for each in found.failed] == [
        ("parking", "it can't be used"),
        ("gates", "it requires parking, which isn't loaded"),
    ]


def test_an_extension_that_is_refused_stops_the_process_if_a_required_one_needs_it() -> None:
    found = load_extensions(required=["gates"], installed=[BADGES, PARKING, GATES])

    with pytest.raises(MisconfiguredError, match="gates: it requires parking"):
        found.collect(lambda each: 1 / (each.name != "parking"))


def test_the_configured_extensions_are_loaded_once_a_process() -> None:
    settings = Settings(_env_file=None)

    assert load_configured(settings) is load_configured(settings)


def test_names_that_no_extension_has_cannot_be_left_out_and_that_is_said() -> None:
    found = load_extensions(["bagdes", "gates", "zzz"], installed=[BADGES, PARKING, GATES])
    assert names(found) == ["badges", "parking"]
    badges, zzz = found.unknown
    assert badges.endswith("=bagdes: no installed extension has this name; did you mean badges?")
    assert zzz.endswith(
        "=zzz: no installed extension has this name; there are: badges, gates, parking"
    )


def test_what_is_left_out_by_a_fault_is_logged_and_what_was_chosen_is_not(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    found = load_extensions(["gates"], installed=[point("lost", "Nowhere"), GATES])
    monkeypatch.setattr("router.runtime.extensions.load_configured", lambda _: found)
    log_omissions(Settings())
    (said,) = caplog.messages
    assert "extension lost isn't in use: acme_extensions:Nowhere can't be imported" in said


def test_variables_of_an_extension_that_is_left_out_are_no_slips(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    found = load_extensions(["gates"], installed=[BADGES, PARKING, GATES])
    monkeypatch.setattr("router.runtime.extensions.load_configured", lambda _: found)
    monkeypatch.setenv("ROUTER_GATES_NAME", "ours")
    monkeypatch.setenv("ROUTER_PARKING_NAME", "ours")
    settings = Settings()
    (said,) = slips(setting_sections(settings), lambda: omitted_prefixes(settings))
    assert said.startswith("ROUTER_PARKING_NAME is no setting")
