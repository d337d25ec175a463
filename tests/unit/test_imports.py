"""What a start doesn't wait for."""

import subprocess
import sys

import pytest


@pytest.mark.parametrize("library", ["openai", "mcp", "torch", "sentence_transformers"])
def test_a_library_that_only_some_settings_need_is_not_imported_without_them(library: str) -> None:
    started = (
        f"import sys, router.app, router.worker, router.dev; print({library!r} in sys.modules)"
    )
    ran = subprocess.run(
        [sys.executable, "-c", started], check=True, capture_output=True, text=True
    )
    assert ran.stdout.strip() == "False"
