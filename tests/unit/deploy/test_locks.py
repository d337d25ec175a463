"""What is installed comes from locks, and no lock is behind what pyproject.toml asks."""

import subprocess
import sys
import venv
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.version import Version

from supply.locks import Pin, asked, command, held, inputs, moved, pins, problems, project
from supply.policy import kept
from tests.table import each_row

ROOT = Path(__file__).parents[3]
HELD = held()
PROJECT: dict[str, Any] = {
    "project": {
        "name": "Front_Desk",
        "dependencies": ["anyio>=4"],
        "optional-dependencies": {
            "all": ["front-desk[some]", "ruff>=1,<2"],
            "some": ["front-desk[all]", "pillow"],
        },
    },
    "build-system": {"requires": ["hatchling>=1"]},
}


def test_a_lock_is_read_with_its_hashes_and_the_environments_it_is_for() -> None:
    text = (
        "# made by make lock\n"
        "Some_Thing==1.0 ; sys_platform == 'emscripten' \\\n"
        "    --hash=sha256:aa \\\n    --hash=sha256:bb\n"
        "other==2 \\\n    --hash=sha256:cc\n"
    )
    some, other = pins(text)
    assert some == Pin("some-thing", "1.0", ("aa", "bb"), 'sys_platform == "emscripten"')
    assert other == Pin("other", "2", ("cc",))
    assert [some.here, other.here] == [False, True]


@each_row("line", ["some", "some>=1", "some==1,<2", "some==1,==2"])
def test_a_lock_names_one_version_of_each(line: str) -> None:
    with pytest.raises(ValueError, match="names no one version: run make lock"):
        pins(line)


def test_an_extra_brings_those_of_the_project_that_it_names_also_in_a_circle() -> None:
    assert [str(one) for one in asked(PROJECT, ["all"])] == ["anyio>=4", "ruff<2,>=1", "pillow"]


ANY = (Pin("some", "1.5", ("aa",)),)


@each_row(
    ("locks", "installed", "said"),
    [
        ({"test": ANY}, {"some": "1.5", "mine": "3"}, []),
        ({"test": ANY}, {}, []),
        ({}, {}, ["locks/test.txt has no version that some<2,>=1.2 allows: make lock"]),
        (
            {"test": (Pin("some", "1.1", ("aa",)),)},
            {},
            ["locks/test.txt has no version that some<2,>=1.2 allows: make lock"],
        ),
        (
            {"test": (Pin("some", "1.5"),)},
            {},
            ["locks/test.txt has no hash for some==1.5: make lock"],
        ),
        (
            {"test": ANY},
            {"some": "1.6"},
            ["some 1.6 is installed, and no lock has that version: make setup"],
        ),
    ],
    ids=["fine", "not installed", "none", "too old", "no hash", "installed by other means"],
)
def test_what_is_wrong_with_a_lock_is_said(
    locks: dict[str, tuple[Pin, ...]], installed: dict[str, str], said: list[str]
) -> None:
    wanted = {"test": [Requirement("some>=1.2,<2")]}
    assert [*problems(wanted, locks, installed)] == said


def test_two_locks_have_one_version_of_a_package() -> None:
    locks = {"test": ANY, "image": (Pin("some", "1.4", ("bb",)),)}
    (said,) = problems({"test": [], "image": []}, locks, {})
    assert said == "locks/image.txt has some 1.4, locks/test.txt has 1.5: make lock"


def test_the_locks_are_what_pyproject_asks_and_nothing_in_them_is_without_a_hash() -> None:
    assert [*problems(inputs(project(), kept()), HELD, {})] == []


def test_what_is_shipped_is_of_the_versions_that_are_tested() -> None:
    tested = {(pin.name, pin.version, pin.hashes) for pin in HELD["test"]}
    shipped = {pin for lock in ("runtime", "image") for pin in HELD[lock]}
    assert {(pin.name, pin.version, pin.hashes) for pin in shipped} <= tested


def test_versions_stay_unless_newer_ones_are_asked_for() -> None:
    assert not [word for word in command("test") if word.startswith("--upgrade")]
    assert command("test", None)[-1] == "--upgrade"
    assert command("test", ["ruff"])[-2:] == ["--upgrade-package", "ruff"]


def test_what_has_moved_is_told_by_name() -> None:
    before = {"a": [Pin("went", "1"), Pin("same", "1"), Pin("raised", "1")]}
    came = Pin("came", "3", marker='python_version > "3.12"')
    after = {"a": [Pin("same", "1"), Pin("raised", "2")], "b": [came]}
    assert moved(before, after) == [
        'came (none) -> 3 where python_version > "3.12"',
        "raised 1 -> 2",
        "went 1 -> (none)",
    ]


def test_what_installs_is_replaced_before_it_installs_anything() -> None:
    """Python brings a pip and a setuptools with known vulnerabilities."""
    made = subprocess.check_output(
        ["make", "--dry-run", "--always-make", "setup", f"PYTHON={sys.executable}"],
        cwd=ROOT,
        text=True,
    )
    installs = [line for line in made.splitlines() if "pip install " in line]
    assert "--require-hashes --requirement locks/pip.txt" in installs[0]
    least = {"pip": (25, 3), "setuptools": (78, 1, 1)}
    held = {pin.name: Version(pin.version).release for pin in HELD["pip"]}
    assert {name for name in least if held[name] >= least[name]} == {*least} == {*held}


def test_a_pip_that_python_brought_is_told() -> None:
    old = {"pip": "23.2.1", "setuptools": "65.5.0"}
    said = list(problems({}, HELD, old))
    assert said == [
        "pip 23.2.1 is installed, and no lock has that version: make setup",
        "setuptools 65.5.0 is installed, and no lock has that version: make setup",
    ]


@pytest.mark.slow
def test_a_file_with_another_hash_than_the_locks_is_not_installed(tmp_path: Path) -> None:
    """Pip's own word: what the Makefile and the image hand it is what refuses."""
    wheels, lock = tmp_path / "wheels", tmp_path / "lock.txt"
    words = [sys.executable, "-m", "hatchling", "build", "--target", "wheel"]
    source = tmp_path / "source"
    (source / "some").mkdir(parents=True)
    (source / "some" / "__init__.py").touch()
    (source / "pyproject.toml").write_text(
        '[build-system]\nrequires = ["hatchling"]\nbuild-backend = "hatchling.build"\n'
        '[project]\nname = "some"\nversion = "1"\n'
    )
    subprocess.run([*words, "--directory", wheels], cwd=source, check=True, capture_output=True)
    lock.write_text(f"some==1 --hash=sha256:{'0' * 64}\n")
    venv.create(tmp_path / "venv", with_pip=False)
    pip = [sys.executable, "-m", "pip", "--python", str(tmp_path / "venv" / "bin" / "python")]
    run = subprocess.run(
        [
            *(*pip, "install", "--no-index", "--find-links", str(wheels)),
            *("--require-hashes", "--requirement", str(lock)),
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 1
    assert "DO NOT MATCH THE HASHES" in run.stderr


def test_a_clone_is_installed_with_nothing_but_what_the_locks_have(tmp_path: Path) -> None:
    """Editable wheels ask for `editables`, unless the folder that is on the path is named."""
    built = (
        "import sys; sys.modules['editables'] = None; import hatchling.build;"
        f"print(hatchling.build.build_editable({str(tmp_path)!r}))"
    )
    told = subprocess.check_output([sys.executable, "-c", built], cwd=ROOT, text=True)
    assert (tmp_path / told.strip()).is_file()
