"""Which conversation and turn the current task works for: what each line of the log is about."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_now: ContextVar[dict[str, str]] = ContextVar("about", default={})  # noqa: B039 - never changed


@contextmanager
def about(conversation: str | None, turn: str | None = None) -> Iterator[None]:
    """Whatever is logged within, by this task and those that it starts, says what it is about."""
    given = {"conversation": conversation, "turn": turn}
    token = _now.set({**_now.get(), **{name: id_ for name, id_ in given.items() if id_}})
    try:
        yield
    finally:
        _now.reset(token)


def current() -> dict[str, str]:
    """`conversation` and `turn`, as far as they are known here."""
    return _now.get()
