"""What a start doesn't wait for."""

import subprocess
import sys

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
