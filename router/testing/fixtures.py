"""The fixtures of the plugin; their servers are started when a test first asks for a desk."""

from collections.abc import Iterator

import pytest

from router.domain.errors import RouterError
from router.testing.desk import Desk, DeskFactory, DeskServer


@pytest.fixture(scope="session")
def desk_server(pytestconfig: pytest.Config) -> Iterator[DeskServer]:
    """The server of all desks, with the project in the folder in which pytest runs."""
    server = DeskServer(pytestconfig.rootpath)
    try:
        server.__enter__()
    except RouterError as error:
        pytest.fail(str(error), pytrace=False)
    try:
        yield server
    finally:
        server.__exit__(None, None, None)


@pytest.fixture
def make_desk(desk_server: DeskServer) -> Iterator[DeskFactory]:
    """Make desks with other people, flows, tools or dependencies, or with a model."""
    with DeskFactory(desk_server) as factory:
        yield factory


@pytest.fixture
def desk(make_desk: DeskFactory) -> Desk:
    """A desk with the project's flows, tools, skills and people, whose first person talks."""
    return make_desk()
