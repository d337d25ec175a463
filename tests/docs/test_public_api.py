"""The page of the public API: its examples run, and they import public names alone."""

import ast
import importlib
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from docs.generate.public_api import MODULES, public_names
from router.cli.project import new_project
from router.documents.document_type import DOCUMENT_TYPES
from router.flow.language.functions import LOOKUPS
from router.sdk.lookups import DECLARED_LOOKUPS
from tests.docs.snippets import ROOT, Snippet, snippets_of

PAGE = snippets_of(ROOT / "docs" / "public-api.md")
SNIPPETS = [each for each in PAGE if "def test_" not in each.text]
TESTS = [each for each in PAGE if "def test_" in each.text]


@pytest.fixture(autouse=True)
def _undeclared() -> Iterator[None]:
    """Forget what the examples declare."""
    tables: list[dict[str, Any]] = [DOCUMENT_TYPES, LOOKUPS, DECLARED_LOOKUPS]
    before = [{**table} for table in tables]
    yield
    for table, held in zip(tables, before, strict=True):
        table.clear()
        table.update(held)


@pytest.mark.parametrize("snippet", SNIPPETS, ids=str)
def test_each_example_runs(snippet: Snippet) -> None:
    exec(compile(snippet.text, str(snippet), "exec"), {"__name__": "example"})


@pytest.mark.parametrize("snippet", [*SNIPPETS, *TESTS], ids=str)
def test_examples_import_public_names_alone(snippet: Snippet) -> None:
    for node in ast.walk(ast.parse(snippet.text)):
        if isinstance(node, ast.ImportFrom) and str(node.module).startswith("router"):
            assert node.module in MODULES
            names = public_names(importlib.import_module(node.module))
            assert {each.name for each in node.names} <= {*names}


@pytest.mark.slow
def test_the_tests_that_it_shows_pass_in_a_new_project(tmp_path: Path) -> None:
    for file in new_project("acme", "en", tmp_path).files:
        file.path.parent.mkdir(parents=True, exist_ok=True)
        file.path.write_text(file.text, encoding="utf-8")
    (tmp_path / "tests" / "test_page.py").write_text(TESTS[0].text, encoding="utf-8")
    ran = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "tests/test_page.py"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert "2 passed" in ran.stdout, ran.stdout
