"""What a start doesn't wait for, and what unit tests don't start."""

import subprocess
import sys
from pathlib import Path

ONLY_FOR_SOME = {"openai", "mcp", "torch", "sentence_transformers", "slack_sdk"}


def test_libraries_that_only_some_settings_need_are_not_imported_without_them() -> None:
    started = (
        "import sys, router.runtime.app, router.runtime.worker, router.runtime;"
        f"print(*sorted(sys.modules.keys() & {ONLY_FOR_SOME!r}))"
    )
    ran = subprocess.run(
        [sys.executable, "-c", started], check=True, capture_output=True, text=True
    )
    assert ran.stdout == "\n"


def test_no_unit_test_starts_temporal_or_a_database_server() -> None:
    starting = ("from tests.temporal", "from tests.postgres", "import uvicorn")
    lines = {p: p.read_text().splitlines() for p in Path(__file__).parent.rglob("*.py")}
    assert [str(p) for p, text in lines.items() if any(x.startswith(starting) for x in text)] == []
