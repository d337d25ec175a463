"""The bill of materials: valid, whole, the same each time, and of nothing that doesn't ship."""

import json
import os
import re
import subprocess
import sys
from dataclasses import replace
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft7Validator
from packaging.requirements import Requirement
from referencing import Registry
from referencing.jsonschema import DRAFT7

from supply.environment import Package, installed
from supply.locks import held
from supply.policy import kept
from supply.sbom import bill, component, debian

ROOT = Path(__file__).parents[3]
STATUS = """Package: libc6
Status: install ok installed
Architecture: amd64
Version: 1:2.36-9
Description: C library
 Status: of a line that goes on

Package: gone
Status: deinstall ok config-files
Architecture: all
Version: 1
"""
NEEDS = tuple(f'{each}; extra == "{each}"' for each in kept().locks["image"])
OWN = Package(
    "intent-router",
    "0.1.0",
    expression="Apache-2.0",
    requires=tuple(Requirement(line) for line in ("some[more]>=1", *NEEDS)),
)
SOME = Package("some", "1.5", native=("some.so",), requires=(Requirement('x; extra == "more"'),))
OTHERS = [Package(name, "2+cpu") for name in ("x", "pytest", *kept().locks["image"])]
PACKAGES = [OWN, SOME, *OTHERS]


@pytest.fixture(scope="module")
def validator() -> Draft7Validator:
    folder = files("cyclonedx.schema._res")
    schemas = {
        name.replace(".SNAPSHOT", ""): json.loads((folder / name).read_text("utf-8"))
        for name in (
            "bom-1.6.SNAPSHOT.schema.json",
            "spdx.SNAPSHOT.schema.json",
            "jsf-0.82.SNAPSHOT.schema.json",
        )
    }
    known = [(schema["$id"], DRAFT7.create_resource(schema)) for schema in schemas.values()]
    registry: Registry[Any] = Registry().with_resources(known)
    return Draft7Validator(schemas["bom-1.6.schema.json"], registry=registry)


@pytest.fixture(scope="module")
def printed() -> dict[str, Any]:
    words = [sys.executable, "-m", "supply.sbom"]
    environment = {name: v for name, v in os.environ.items() if name != "SOURCE_DATE_EPOCH"}
    told: dict[str, Any] = json.loads(subprocess.check_output(words, cwd=ROOT, env=environment))
    return told


@pytest.mark.slow
def test_the_repositorys_own_is_valid(validator: Draft7Validator, printed: dict[str, Any]) -> None:
    assert [error.message for error in validator.iter_errors(printed)] == []


def test_the_schema_refuses_what_is_none(validator: Draft7Validator) -> None:
    assert not validator.is_valid({"bomFormat": "CycloneDX", "specVersion": "1.6", "version": 0})


@pytest.mark.slow
def test_it_has_what_the_image_locks_and_nothing_else(printed: dict[str, Any]) -> None:
    named = {(one["name"], one["version"]) for one in printed["components"]}
    assert named == {(pin.name, pin.version) for pin in held()["image"] if pin.here}


def test_everything_in_it_tells_its_licence_and_its_hashes(printed: dict[str, Any]) -> None:
    parts = printed["components"]
    assert [one["name"] for one in parts if not one.get("licenses")] == []
    assert [one["name"] for one in parts if not one.get("externalReferences")] == []


def test_debians_packages_are_in_it_where_they_are_asked_for(validator: Draft7Validator) -> None:
    (libc,) = debian(STATUS)
    assert libc["purl"] == "pkg:deb/debian/libc6@1%3A2.36-9?arch=amd64"
    made = bill(PACKAGES, kept(), {}, [libc])
    assert libc in made["components"]
    assert [error.message for error in validator.iter_errors(made)] == []


def test_what_only_tests_need_is_not_in_it_and_what_an_extra_needs_is() -> None:
    made = bill(PACKAGES, kept(), {})
    assert {one["name"] for one in made["components"]} == {"some", "x", *kept().locks["image"]}
    edges = {one["ref"]: one["dependsOn"] for one in made["dependencies"]}
    assert edges["pkg:pypi/some@1.5"] == ["pkg:pypi/x@2%2Bcpu"]


def test_of_the_same_packages_it_is_the_same_and_of_others_it_has_another_number() -> None:
    one, again = (json.dumps(bill(PACKAGES, kept(), {})) for _ in range(2))
    other = bill([*PACKAGES[:1], replace(SOME, version="1.6"), *OTHERS], kept(), {})
    assert one == again
    assert json.loads(one)["serialNumber"] != other["serialNumber"]


def test_machine_code_is_named_and_hashes_are_in_one_order() -> None:
    told = component(SOME, kept(), ["b" * 64, "a" * 64])
    assert told["properties"] == [{"name": "intent-router:native", "value": "some.so"}]
    (files_of,) = told["externalReferences"]
    assert [one["content"] for one in files_of["hashes"]] == ["a" * 64, "b" * 64]


def test_what_is_needed_and_is_not_installed_makes_no_bill() -> None:
    with pytest.raises(LookupError, match="some is needed and isn't installed: make setup"):
        bill([OWN, *OTHERS], kept(), {})


NATIVE = (ROOT / "docs" / "supply-chain.md").read_text().split("\n## Native code\n")[1]
"""The table of what has machine code."""


@pytest.mark.slow
def test_whatever_ships_with_machine_code_is_named_with_what_reaches_it_and_what_bounds_it() -> (
    None
):
    rows = [line.strip("|").split("|") for line in NATIVE.splitlines() if line.startswith("| `")]
    named = {name for row in rows for name in re.findall(r"`([^`]+)`", row[0])}
    shipped = {pin.name for pin in held()["image"] if pin.here}
    assert named == {one.name for one in installed() if one.native and one.name in shipped}
    assert [row for row in rows if len(row) != 4 or not all(cell.strip() for cell in row)] == []
