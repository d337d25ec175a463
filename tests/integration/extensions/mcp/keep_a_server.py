"""A process that has a deaf server, says so, and waits to be killed."""

import asyncio

from tests.integration.extensions.mcp.conftest import house_of, program


async def main() -> None:
    async with house_of(it=program("--deaf")) as house:
        await house.has("it")
        print("there", flush=True)
        await asyncio.Event().wait()


asyncio.run(main())
