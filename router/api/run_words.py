"""The words that requests tell runs are known by, so that a repeat is the same word."""

from typing import Literal

from router.api.identifiers import derived_id, fresh_id
from router.domain.principals import Principal


def word_of(
    verb: Literal["withdraw", "nudge", "decide", "event", "retry", "terminate", "reassign"],
    caller: Principal,
    key: str | None,
) -> str:
    """The update's id: the same for the same caller and key, else a new one."""
    unique = derived_id(caller.tenant, caller.id, key) if key else fresh_id()
    return f"{verb}:{unique}"
