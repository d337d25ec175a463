"""What the tests with real models share: the models, each served by a process of its own.

Run by `make test-llm`, which fetches them first; without them these tests are skipped.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.llm.local_model import LARGER, SMALL, CannotBeHad, LocalModel, fetch

HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        # The others ask nobody, and run with the suite.
        if item.path.is_relative_to(HERE) and "models" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.llm)


@pytest.fixture(scope="session")
def models() -> None:
    """The models, at hand."""
    try:
        fetch()
    except CannotBeHad as reason:
        pytest.skip(f"the models can't be had: {reason}")


@pytest.fixture(scope="session")
def small(models: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalModel]:
    """A model to see the plumbing work with; nothing it decides is expected to be wise."""
    with LocalModel(SMALL, tmp_path_factory.mktemp("small") / "server.log") as model:
        yield model


@pytest.fixture(scope="module")
def larger(models: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalModel]:
    """A model that decides well enough for its decisions to be counted."""
    with LocalModel(LARGER, tmp_path_factory.mktemp("larger") / "server.log") as model:
        yield model
