"""Tools of a trip: one that waits until a test lets it go, and one that writes."""

import asyncio

from router.tool.tool import tool

entered, leave = asyncio.Event(), asyncio.Event()
"""Set where `wait_long` has begun; set by whoever lets it go."""
made: list[str] = []
"""Where trains and hotels were looked for."""


def clear() -> None:
    """Leave nothing of the test before, whichever that was: tests run in any order."""
    entered.clear()
    leave.clear()
    made.clear()


@tool(permission="read", title={"zh": "车次", "en": "Trains"})
async def find_train(to: str) -> str:
    """A train to a city."""
    made.append(to)
    return f"G1 to {to}"


@tool(permission="read", timeout="30s", title={"zh": "等", "en": "Wait"})
async def wait_long(number: int) -> int:
    """Waits until it is let go."""
    entered.set()
    await leave.wait()
    return number


@tool(permission="write", title={"zh": "订座", "en": "Book a seat"})
async def book_seat(train: str) -> str:
    """Books a seat."""
    return f"seat 12A on {train}"
