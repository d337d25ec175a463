"""What a start waits for, what workflows reach, what unit tests start, and what is declared."""

import ast
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ROOMS = ("router", "workflows", "activities")
TEMPLATES = ROOT / "router" / "cli" / "templates"
"""Files that people begin with: what they import is theirs to have."""
PLUGIN = ROOT / "router" / "testing"
"""The pytest plugin: who loads it has pytest."""

ONLY_FOR_SOME = {
    *("openai", "torch", "asyncpg", "sentence_transformers", "websockets"),
    *("PIL", "cv2", "pypdfium2", "rapidocr", "onnxruntime", "zxingcpp", "pi_heif"),
}


@pytest.mark.slow
def test_libraries_that_only_some_settings_need_are_not_imported_without_them() -> None:
    started = (
        "import sys, router.runtime.server, router.runtime.worker, router.runtime;"
        f"print(*sorted(sys.modules.keys() & {ONLY_FOR_SOME!r}))"
    )
    ran = subprocess.run(
        [sys.executable, "-c", started], check=True, capture_output=True, text=True
    )
    assert ran.stdout == "\n"


ROOT = Path(__file__).parents[2]
FIRST_PARTY = ("router", "workflows", "activities")
REACHED_BY_WORKFLOWS = ("workflows", "router/contracts", "router/flow/engine", "router/domain")


def imported_by(file: Path) -> Iterator[str]:
    """The dotted names that a module imports as it runs, and may import from packages."""
    ahead: list[ast.AST] = [ast.parse(file.read_text())]
    while ahead:
        node = ahead.pop()
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            ahead += node.orelse
            continue
        ahead += ast.iter_child_nodes(node)
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{name.name}" for name in node.names)


def file_of(module: str) -> Path | None:
    path = ROOT / module.replace(".", "/")
    found = (path.with_suffix(".py"), path / "__init__.py")
    return next((file for file in found if file.is_file()), None)


@pytest.mark.slow
def test_nothing_that_workflows_reach_knows_temporals_client() -> None:
    """import-linter can't name a module of an outside package."""
    ahead = [f for room in REACHED_BY_WORKFLOWS for f in (ROOT / room).rglob("*.py")]
    seen, guilty = set(ahead), set()
    while ahead:
        file = ahead.pop()
        for name in imported_by(file):
            if name.startswith("temporalio.client"):
                guilty.add(str(file.relative_to(ROOT)))
            known = file_of(name) if name.startswith(FIRST_PARTY) else None
            if known is not None and known not in seen:
                seen.add(known)
                ahead.append(known)
    assert not guilty
    assert ROOT / "router/skill/loop.py" in seen


def test_no_unit_test_starts_temporal_or_a_database_server() -> None:
    starting = ("from tests.temporal", "from tests.postgres", "import uvicorn")
    lines = {p: p.read_text().splitlines() for p in Path(__file__).parent.rglob("*.py")}
    assert [str(p) for p, text in lines.items() if any(x.startswith(starting) for x in text)] == []


def imported() -> Iterator[tuple[str, Path]]:
    """Each name that a file of the product imports from, with the file."""
    for room in ROOMS:
        for file in sorted((ROOT / room).rglob("*.py")):
            if TEMPLATES in file.parents or PLUGIN in file.parents:
                continue
            for node in ast.walk(ast.parse(file.read_text("utf-8"))):
                if isinstance(node, ast.Import):
                    yield from ((alias.name.partition(".")[0], file) for alias in node.names)
                elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                    yield node.module.partition(".")[0], file


def declared() -> set[str]:
    """The names of all distributions that the project, or an extra for users, asks for."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    extras = project["optional-dependencies"]
    optional = ("adapters", "documents", "sentence-transformers")
    wanted = project["dependencies"] + [each for name in optional for each in extras[name]]
    return {normal(re.split(r"[\[<>=!~; ]", each, maxsplit=1)[0]) for each in wanted}


def normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


@pytest.mark.slow
def test_whatever_is_imported_is_declared() -> None:
    ours, known, missing = {*ROOMS, "flows", "skills"}, declared(), {}
    distributions = packages_distributions()
    for name, file in imported():
        if name in sys.stdlib_module_names or name in ours:
            continue
        by = {normal(each) for each in distributions.get(name, [name])}
        if not by & known:
            missing[name] = file.relative_to(ROOT)
    assert missing == {}
