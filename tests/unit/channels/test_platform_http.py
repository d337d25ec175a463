"""The token that a platform gives: fetched once for all who need it, and anew once it is refused."""

import asyncio

from router.channels.platform_http import AccessToken, Grant


class Platform:
    """Gives a token of another number each time."""

    def __init__(self, seconds: float = 7200) -> None:
        self.seconds = seconds
        self.given = 0

    async def __call__(self) -> Grant:
        self.given += 1
        number = self.given
        await asyncio.sleep(0)
        return Grant(f"t{number}", self.seconds)


async def test_whoever_asks_at_once_waits_for_the_same_token() -> None:
    platform = Platform()
    token = AccessToken(platform, early=300)
    assert await asyncio.gather(*(token.current() for _ in range(3))) == ["t1", "t1", "t1"]
    assert platform.given == 1


async def test_a_token_that_ends_soon_is_not_used_again() -> None:
    token = AccessToken(Platform(seconds=300), early=300)
    assert [await token.current(), await token.current()] == ["t1", "t2"]


async def test_a_token_that_is_refused_twice_is_replaced_once() -> None:
    platform = Platform()
    token = AccessToken(platform, early=300)
    old = await token.current()
    token.refuse(old)
    assert await token.current() == "t2"
    token.refuse(old)
    assert await token.current() == "t2"
