"""The documentation as a site: every link leads somewhere, and nothing is fetched elsewhere."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs.snippets import ROOT

_LOADED = re.compile(
    r"<(?:script|img|iframe)[^>]*\ssrc=\"(?P<src>[^\"]+)\""
    r"|<link[^>]*\srel=\"(?:stylesheet|preconnect|icon)\"[^>]*\shref=\"(?P<href>[^\"]+)\""
    r"|url\((?P<url>https?:[^)]+)\)|@import \"(?P<import>[^\"]+)\""
)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built strictly: a link or an anchor that leads nowhere ends it."""
    folder = tmp_path_factory.mktemp("docs") / "site"
    built = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(folder)],
        cwd=ROOT,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "true"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert built.returncode == 0, built.stderr
    return folder


def test_every_page_is_there(site: Path) -> None:
    pages = {page.relative_to(ROOT / "docs") for page in (ROOT / "docs").rglob("*.md")}
    assert {p for p in pages if not (site / p.with_suffix(".html")).exists()} == set()


def test_nothing_is_loaded_from_another_host(site: Path) -> None:
    loaded = {
        next(filter(None, found.groups()))
        for file in site.rglob("*")
        if file.suffix in {".html", ".css"}
        for found in _LOADED.finditer(file.read_text(encoding="utf-8"))
    }
    assert loaded
    assert {where for where in loaded if re.match(r"(https?:)?//", where)} == set()


def test_no_page_asks_for_a_diagram_that_the_theme_would_fetch_a_script_for(site: Path) -> None:
    drawn = [page for page in site.rglob("*.html") if 'class="mermaid"' in page.read_text()]
    assert drawn == []
