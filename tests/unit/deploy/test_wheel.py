"""What `pip install` gives: all that the product needs to run, from whatever folder."""

import json
import os
import re
import subprocess
import sys
import tomllib
import zipfile
from importlib.machinery import PathFinder
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
PROJECT = PYPROJECT["project"]
ROOMS = PYPROJECT["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"]
BY_DATE = {"tzdata", "types-psutil", "types-jsonschema"}
"""Versions of these are dates, or follow what they describe: a next major says nothing."""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of the tree as it is."""
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "hatchling", "build", "--target", "wheel"]
    subprocess.run([*command, "--directory", str(folder)], check=True, cwd=ROOT)
    (built,) = folder.glob("*.whl")
    return built


def tracked() -> set[str]:
    """What git keeps of the rooms that are packaged."""
    listed = subprocess.run(
        ["git", "-c", f"safe.directory={ROOT}", "ls-files", "-z", "--", *ROOMS],
        check=True,
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    return {path for path in listed.stdout.split("\0") if path and (ROOT / path).is_file()}


def test_the_wheel_holds_every_tracked_file_of_its_rooms(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        held = {name for name in archive.namelist() if ".dist-info/" not in name}
    assert tracked() - held == set()
    stray = {name for name in held if "__pycache__" in name or name.partition("/")[0] not in ROOMS}
    assert stray == set()


@pytest.mark.parametrize(
    "path",
    [
        "flows/leave_request.yaml",
        "skills/trip-planner/SKILL.md",
        "router/web/index.html",
        "router/store/migrations/env.py",
        "activities/people/migrations/env.py",
        "router/routing/prompts/router-1.zh.md",
        "router/directory/sample.yaml",
        "activities/tools/http/weather.json",
        "activities/policies/limits.yaml",
        "router/py.typed",
    ],
)
def test_what_isnt_code_travels_with_it(wheel: Path, path: str) -> None:
    with zipfile.ZipFile(wheel) as archive:
        assert archive.getinfo(path).file_size > 0 or path.endswith("py.typed")


def test_the_licence_travels_with_it(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = [name.partition(".dist-info/")[2] for name in archive.namelist()]
    assert "licenses/LICENSE" in names


def test_it_routes_from_an_empty_folder(wheel: Path, tmp_path: Path) -> None:
    unpacked, empty = tmp_path / "site", tmp_path / "empty"
    empty.mkdir()
    zipfile.ZipFile(wheel).extractall(unpacked)
    routed = subprocess.run(
        [sys.executable, "-m", "router", "route", "我要请年假", "--json"],
        check=True,
        cwd=empty,
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(unpacked)},
    )
    assert json.loads(routed.stdout)["decision"]["target"] == "leave_request"


@pytest.mark.parametrize("room", ROOMS)
def test_a_folder_of_the_same_name_where_it_is_called_does_not_stand_in_for_a_room(
    room: str, tmp_path: Path
) -> None:
    (tmp_path / room).mkdir()
    found = PathFinder.find_spec(room, [str(tmp_path), str(ROOT)])
    assert found is not None
    assert found.origin == str(ROOT / room / "__init__.py")


@pytest.mark.parametrize("requirement", PROJECT["dependencies"])
def test_every_dependency_has_a_lowest_version_and_a_next_one_too_new(requirement: str) -> None:
    name = re.split(r"[\[<>=]", requirement)[0]
    assert ">=" in requirement
    assert "," in requirement or name in BY_DATE


def test_the_oldest_and_the_newest_python_are_said_everywhere_alike() -> None:
    lowest, highest = re.findall(r"3\.(\d+)", PROJECT["requires-python"])
    said = f"Python 3.{lowest} to 3.{int(highest) - 1}"
    assert said in (ROOT / "README.md").read_text(encoding="utf-8")
    assert said in (ROOT / "Makefile").read_text(encoding="utf-8")
    versions = {c.rpartition(" ")[2] for c in PROJECT["classifiers"] if "Python :: 3." in c}
    assert versions == {f"3.{minor}" for minor in range(int(lowest), int(highest))}
