"""The engine without the sample company: deleted, nothing that is left misses it."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[3]
PRODUCT = ("router", "workflows", "activities", "company", "flows", "skills")
SAMPLE = ("company", "flows/*.yaml", "flows/tests", "skills/*/")
"""What a company deletes that has its own."""

ENGINE = (
    *("api", "channels", "contracts", "directory", "documents", "domain", "evaluation", "flow"),
    *("llm", "retrieval", "routing", "runtime", "secrecy", "settings", "skill", "story"),
    *("telemetry", "tool", "workflows"),
)
"""The folders of `tests/unit` that are the engine's: their tests pass without the sample."""
OF_THE_SAMPLE = re.compile(
    r"(leave_request|reimbursement|business_trip|equipment_request)\.yaml|\bFLOWS\b|\bSHIPPED\b"
    r"|unit\.(understanding\.flows|flow\.world)\b|import (flows|skills)\b|test_replays|/ .flows\b"
    r"|convert_currency|load_capabilities|tests\.integration\.api"
    r"|\bcompany\."
)
"""What a module of tests there names that is about the sample's own flows, tools or skills."""

STARTED = """
import asyncio, sys
from pathlib import Path
import router.runtime.server, router.runtime.worker
from router.runtime.composition import assembled
from router.runtime.upkeep import opened
from router.settings import Settings

async def start():
    settings = Settings(data=Path(sys.argv[1]), _env_file=None)
    async with assembled(settings) as parts:
        await opened(parts)
        print(*parts.offered.registry.names, len(parts.offered.catalog))

asyncio.run(start())
"""


def copied(folders: tuple[str, ...], to: Path) -> Path:
    """What git tracks of these, or would, without the sample."""
    listing = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "--", *folders]
    listed = subprocess.run(listing, cwd=ROOT, check=True, capture_output=True, text=True)
    for name in listed.stdout.splitlines():
        if (ROOT / name).is_file():
            (to / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, to / name)
    for pattern in SAMPLE:
        for found in to.glob(pattern):
            shutil.rmtree(found) if found.is_dir() else found.unlink()
    return to


def of_the_engine(root: Path) -> list[str]:
    """The modules of the engine's tests, which name nothing of the sample."""
    found = (file for name in ENGINE for file in (root / "tests/unit" / name).rglob("test_*.py"))
    return [str(f) for f in sorted(found) if not OF_THE_SAMPLE.search(f.read_text("utf-8"))]


def ran(folder: Path, *words: str) -> str:
    """What a program says there, which has to end well."""
    environment = {name: v for name, v in os.environ.items() if not name.startswith("ROUTER_")}
    done = subprocess.run(
        [sys.executable, *words],
        cwd=folder,
        env={**environment, "PYTHONPATH": str(folder)},
        check=False,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, f"{done.stdout[-6000:]}\n{done.stderr[-3000:]}"
    return done.stdout


def test_the_engine_starts_without_the_sample(tmp_path: Path) -> None:
    there = copied(PRODUCT, tmp_path / "copy")
    *tools, flows = ran(there, "-c", STARTED, str(tmp_path)).split()
    assert {"get_my_requests", "read_more"} <= set(tools)
    assert not {"get_leave_balance", "convert_currency"} & set(tools)
    assert flows == "0"


def test_what_is_left_without_the_sample_passes_its_checks_and_tests(tmp_path: Path) -> None:
    there = copied((".",), tmp_path / "copy")
    ran(there, "-m", "ruff", "check", *(name for name in PRODUCT if name != "company"))
    ran(there, "-m", "mypy", "-p", "router", "-p", "workflows", "-p", "activities")
    ran(there, "-c", "from importlinter.cli import lint_imports; raise SystemExit(lint_imports())")
    ran(there, "-m", "pytest", "-q", "-n", "2", *of_the_engine(there))
