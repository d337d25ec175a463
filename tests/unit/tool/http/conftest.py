from pathlib import Path

import pytest

from tests.unit.tool.http.declaring import Folder


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    """An empty folder for files of declared tools."""
    path = tmp_path / "declared"
    path.mkdir()
    return Folder(path)
