"""How often and how long a workflow has a tool called."""

from datetime import timedelta
from typing import Any

import pytest

from activities.capabilities import Capabilities
from router.contracts.flow import CallLimits
from router.flow.catalog import Catalog
from router.skill.skill import SkillCatalog
from router.tool.registry import Registry
from router.tool.tool import tool


def limits(**options: Any) -> CallLimits:
    async def send() -> None:
        """Send."""

    registry = Registry()
    registry.add(tool(permission="write", **options)(send))
    return Capabilities(Catalog([]), SkillCatalog([]), registry).limits("send")


@pytest.mark.parametrize(
    ("timeout", "silent"), [("100ms", 1.5), ("1500ms", 1.5), ("3s", 3), ("10s", 5), ("10m", 5)]
)
def test_a_dead_worker_is_noticed_within_the_tools_own_time_or_a_few_seconds(
    timeout: str, silent: float
) -> None:
    assert limits(timeout=timeout).heartbeat == timedelta(seconds=silent)


def test_a_workflow_waits_longer_than_the_worker_which_keeps_the_time_itself() -> None:
    assert limits(timeout="2s").timeout > timedelta(seconds=2)


@pytest.mark.parametrize(("retries", "attempts"), [(0, 1), (3, 4), (None, 0)])
@pytest.mark.parametrize("idempotent", [True, False])
def test_what_became_of_a_write_is_asked_again_even_where_it_is_never_sent_again(
    idempotent: bool, retries: int | None, attempts: int
) -> None:
    assert limits(idempotent=idempotent, retries=retries).attempts == attempts


def test_a_tool_that_is_gone_is_called_once() -> None:
    gone = Capabilities(Catalog([]), SkillCatalog([]), Registry()).limits("gone")
    assert gone.attempts == 1
