"""The wheel: the same wherever and whenever it is built, and enough without the repository."""

import hashlib
import os
import re
import shutil
import subprocess
import sys
import tomllib
import venv
from collections.abc import Iterator
from importlib.metadata import distribution
from pathlib import Path

import pytest

from supply.environment import package
from supply.locks import held
from tests.ports import free_ports
from tests.waiting import HANGS_AFTER_S

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[3]
WHEEL = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["hatch"]["build"][
    "targets"
]["wheel"]
ROOMS = [*WHEEL["packages"], *WHEEL["force-include"]]


def built(source: Path, into: Path, umask: int = 0o022, **environment: str) -> Path:
    """The wheel of a folder."""
    words = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory"]
    known = {name: v for name, v in os.environ.items() if name != "SOURCE_DATE_EPOCH"}
    subprocess.run(
        [*words, str(into)],
        cwd=source,
        env={**known, **environment},
        umask=umask,
        check=True,
        capture_output=True,
    )
    (wheel,) = into.glob("*.whl")
    return wheel


def copied(into: Path, moment: int, mode: int) -> Path:
    """What the wheel is made of, in another folder, of another time and for other eyes."""
    for room in ROOMS:
        shutil.copytree(ROOT / room, into / room, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, into / name)
    for path in into.rglob("*"):
        if path.is_file():
            path.chmod(path.stat().st_mode & mode)
        os.utime(path, (moment, moment))
    return into


def digest(wheel: Path) -> str:
    return hashlib.sha256(wheel.read_bytes()).hexdigest()


def test_it_is_the_same_in_every_folder_at_every_time_and_for_every_user(tmp_path: Path) -> None:
    here = built(copied(tmp_path / "here", 1_600_000_000, 0o777), tmp_path / "one")
    there = built(
        copied(tmp_path / "further" / "there", 1_700_000_000, 0o700),
        tmp_path / "two",
        umask=0o077,
        TZ="Asia/Shanghai",
        LC_ALL="C",
        PYTHONHASHSEED="7",
    )
    assert here.name == there.name
    assert digest(here) == digest(there)


def test_another_file_in_it_is_another_wheel(tmp_path: Path) -> None:
    source = copied(tmp_path / "source", 1_600_000_000, 0o777)
    before = digest(built(source, tmp_path / "before"))
    (source / "router" / "py.typed").write_text("# changed\n")
    assert digest(built(source, tmp_path / "after")) != before


@pytest.fixture(scope="module")
def bare(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The command in an environment that has the wheel, what its lock has, and nothing else.

    The lock's packages are those of this environment, file by file: no network is needed.
    """
    folder = tmp_path_factory.mktemp("bare")
    venv.create(folder / "venv", with_pip=False)
    (packages,) = (folder / "venv" / "lib").glob("python*/site-packages")
    for pin in (one for one in held()["runtime"] if one.here):
        found = distribution(pin.name)
        programs = set(package(found).native)
        for file in found.files or ():
            # Scripts beside the packages begin with the name of this environment's interpreter.
            if ".." not in file.parts or str(file) in programs:
                (packages / file).parent.mkdir(parents=True, exist_ok=True)
                (packages / file).symlink_to(Path(str(file.locate())).resolve())
    python = folder / "venv" / "bin" / "python"
    wheel = built(ROOT, folder)
    pip = [sys.executable, "-m", "pip", "--python", str(python), "install", "--quiet"]
    subprocess.run([*pip, "--no-index", "--no-deps", str(wheel)], check=True, cwd=folder)
    return folder / "venv" / "bin" / "intent-router"


def run(bare: Path, folder: Path, *words: str) -> "subprocess.CompletedProcess[str]":
    environment = {"PATH": os.environ["PATH"], "HOME": str(folder)}
    return subprocess.run(
        [bare, *words], cwd=folder, env=environment, check=False, capture_output=True, text=True
    )


def test_it_needs_nothing_of_the_repository_and_nothing_that_only_tests_have(
    bare: Path, tmp_path: Path
) -> None:
    asked = (
        "import importlib.util as u, router;"
        "others = [n for n in ('pytest', 'tests', 'supply', 'PIL') if u.find_spec(n)];"
        "print(router.__file__, *others)"
    )
    told = subprocess.check_output([bare.parent / "python", "-c", asked], cwd=tmp_path, text=True)
    assert re.fullmatch(rf"{bare.parents[1]}/lib/\S+/site-packages/router/__init__\.py\n", told)


def test_it_tells_its_commands_and_checks_the_flows_that_it_has(bare: Path, tmp_path: Path) -> None:
    helped = run(bare, tmp_path, "--help")
    assert (helped.returncode, "flows" in helped.stdout) == (0, True)
    checked = run(bare, tmp_path, "flows", "validate")
    assert checked.returncode == 0, checked.stderr


@pytest.fixture
def dev(bare: Path, tmp_path: Path) -> Iterator["subprocess.Popen[str]"]:
    named = ("port", "temporal-port", "ui-port")
    ports = [f"--{name}={port}" for name, port in zip(named, free_ports(3), strict=True)]
    process = subprocess.Popen(
        [bare, "dev", *ports, "--data", str(tmp_path / "data")],
        cwd=tmp_path,
        env={"PATH": os.environ["PATH"], "HOME": str(tmp_path)},
        stdout=subprocess.PIPE,
        text=True,
    )
    yield process
    process.kill()
    process.wait()


def test_dev_comes_up_from_an_empty_folder_and_ends_when_it_is_told(
    dev: "subprocess.Popen[str]",
) -> None:
    assert dev.stdout is not None
    assert "ready\n" in iter(dev.stdout.readline, "")
    dev.terminate()
    assert dev.wait(HANGS_AFTER_S) == 0
