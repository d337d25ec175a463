"""Tools of a trip: one that waits until a test lets it go, and one that writes."""

import asyncio

from router.tool.tool import tool

entered, leave = asyncio.Event(), asyncio.Event()
"""Set where `wait_long` has begun; set by whoever lets it go. A test clears them first."""


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
