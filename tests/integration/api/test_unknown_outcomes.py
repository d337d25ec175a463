"""Each entrance that tells a run something, where it isn't known whether the run has it."""

from collections.abc import Callable
from typing import Any

import pytest
from httpx import AsyncClient

from router.domain.errors import Unconfirmed
from router.domain.records import RunRecord
from router.gateway import run_updates
from router.gateway.retries import UNCONFIRMED
from router.store.store import Store
from tests.integration.api.test_runs import ARRIVED, PASSED_ON, act, live
from tests.table import each_row

__all__ = ["live"]

As = Callable[[str], AsyncClient]

ENTRANCES: tuple[tuple[str, str, dict[str, Any] | None], ...] = (
    ("bob", "decide", {"decision": "approve"}),
    ("alice", "withdraw", None),
    ("alice", "nudge", None),
    ("alice", "amendments", {"slots": {}}),
    ("olga", "retry", None),
    ("olga", "terminate", None),
    ("olga", "reassign", PASSED_ON),
    ("dave", ARRIVED, {"boxes": 3}),
)
"""Who says what to a run. Chat cards, links in mails, MCP and AG-UI decide as `decide` does."""


@each_row(("who", "verb", "body"), ENTRANCES)
async def test_it_is_told_as_unknown_and_may_be_sent_again(
    caller: As,
    live: RunRecord,
    store: Store,
    monkeypatch: pytest.MonkeyPatch,
    who: str,
    verb: str,
    body: dict[str, Any] | None,
) -> None:
    async def unanswered(*_: object, **__: object) -> None:
        raise Unconfirmed(UNCONFIRMED)

    monkeypatch.setattr(run_updates, "in_time", unanswered)
    answer = await act(caller(who), live, verb, body)
    assert answer.status_code == 503, answer.text
    assert answer.json()["outcome"] == "unknown"
    assert "retry-after" in answer.headers
