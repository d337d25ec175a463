"""What a project's tests use: calls of its tools and hooks, and a desk with a clock that skips.

It is a plugin of pytest. A project that `intent-router new project` wrote has it in its
`pyproject.toml`:

    [tool.pytest.ini_options]
    addopts = ["-p", "router.testing"]

The tests then have the fixtures `desk` and `make_desk`, and import the functions from here. It
stands in `router` since the distribution has no other import names of its own for this.
"""

from router.story.expectations import ObservedCall, Standing
from router.testing.calls import (
    NOW,
    call_hook,
    call_lookup,
    call_tool,
    make_caller,
    make_context,
)
from router.testing.desk import Desk, DeskFactory
from router.testing.fixtures import desk, make_desk
from router.testing.fixtures import desk_server as desk_server

__all__ = [
    "NOW",
    "Desk",
    "DeskFactory",
    "ObservedCall",
    "Standing",
    "call_hook",
    "call_lookup",
    "call_tool",
    "desk",
    "make_caller",
    "make_context",
    "make_desk",
]
