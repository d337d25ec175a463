"""Each extension can be deleted, and so can all of them: the tests of the core pass without it."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from importlib.metadata import distribution
from pathlib import Path

import pytest

from router.runtime.extensions import load_extensions

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
FOLDERS = ("router", "workflows", "activities", "company", "flows", "skills", "tests")
FAST_TESTS = (
    "tests/unit/api",
    "tests/unit/runtime",
    "tests/integration/api/test_messages.py",
    "tests/integration/api/test_capabilities.py",
)
"""What would notice that the core imports an extension, or has a list that names it."""
CORE_TESTS = (
    *FAST_TESTS,
    "tests/integration/api/test_runs.py",
    "tests/workflow/test_conversation.py",
    "tests/workflow/test_approvals.py",
    "tests/workflow/test_skills.py",
    "tests/workflow/test_deciding.py",
)
"""Messages and runs over REST; a leave request with its approval; skills; a model's decisions."""
EXTENSIONS = {extension.name: extension for extension in load_extensions()}
NAMES = sorted(EXTENSIONS)


def with_dependents(name: str) -> list[str]:
    """Return the extension and those that require it."""
    found = {name}
    for other in EXTENSIONS.values():  # in the order in which they start
        if found & {*other.requires}:
            found.add(other.name)
    return sorted(found)


def copy_without(names: Sequence[str], to: Path) -> None:
    """Copy the product and its tests, less these extensions and the tests that import them."""
    for folder in FOLDERS:
        shutil.copytree(ROOT / folder, to / folder, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", to)
    _write_distribution(to, without=names)
    for name in names:
        shutil.rmtree(to / "router" / "extensions" / name)
        for tests in (to / "tests").glob(f"**/extensions/{name}"):
            shutil.rmtree(tests)
    gone = {f"router.extensions.{name}" for name in names}
    while gone:
        imports = re.compile(
            rf"^\s*(?:from|import) (?:{'|'.join(map(re.escape, gone))})\b", re.MULTILINE
        )
        modules = [*(to / "tests").rglob("*.py")]
        found = [module for module in modules if imports.search(module.read_text("utf-8"))]
        gone = {".".join(each.relative_to(to).with_suffix("").parts) for each in found}
        for module in found:
            module.unlink()


def _write_distribution(to: Path, without: Sequence[str]) -> None:
    """Write what an installation knows of the copy: its version, and the entry points it keeps."""
    installed = distribution("intent-router")
    info = to / f"intent_router-{installed.version}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Name: intent-router\nVersion: {installed.version}\n")
    kept = [point for point in installed.entry_points if point.name not in without]
    lines = [f"[{point.group}]\n{point.name} = {point.value}\n" for point in kept]
    (info / "entry_points.txt").write_text("".join(lines))


@pytest.mark.parametrize("name", NAMES)
def test_the_core_s_tests_pass_without_an_extension(name: str, tmp_path: Path) -> None:
    copy_without(with_dependents(name), tmp_path)

    run_tests(FAST_TESTS, tmp_path)


def test_the_core_s_tests_pass_without_any_extension(tmp_path: Path) -> None:
    copy_without(NAMES, tmp_path)

    run_tests(CORE_TESTS, tmp_path)


def run_tests(tests: Sequence[str], folder: Path) -> None:
    """Run these tests of the copy; all of them are there, and pass."""
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-x", "-m", "not slow and not llm", *tests],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(folder)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert all((folder / each).exists() for each in tests)
    assert done.returncode == 0, done.stdout[-4000:]
