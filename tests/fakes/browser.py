"""A real Chromium, driven through its own pipe: no driver to install and no port to agree on."""

import asyncio
import json
import os
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import count
from pathlib import Path
from typing import Any

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "chrome"))), None)
"""Where it is, or None where this machine has none."""
WITHIN = 20.0
"""Seconds for whatever is waited for."""
OPTIONS = (
    *("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"),
    *("--no-first-run", "--no-proxy-server", "--window-size=1000,800", "--remote-debugging-pipe"),
)


class Page:
    """One page of the browser, as a person at it sees and uses it."""

    def __init__(self, to_browser: int, answers: asyncio.StreamReader) -> None:
        self._to_browser = to_browser
        self._answers = answers
        self._numbers = count(1)
        self._session: dict[str, str] = {}

    async def attach(self) -> None:
        """Take the first page that there is."""
        targets = await self._ask("Target.getTargets")
        page = next(t["targetId"] for t in targets["targetInfos"] if t["type"] == "page")
        attached = await self._ask("Target.attachToTarget", targetId=page, flatten=True)
        self._session = {"sessionId": attached["sessionId"]}

    async def open(self, address: str) -> None:
        """Go there."""
        await self._ask("Page.navigate", url=address)

    async def run(self, script: str) -> Any:
        """What a JavaScript expression comes to in the page, promises awaited."""
        answer = await self._ask(
            "Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True
        )
        if "exceptionDetails" in answer:
            raise AssertionError(answer["exceptionDetails"]["exception"]["description"])
        return answer["result"].get("value")

    async def until(self, script: str) -> Any:
        """What the expression comes to once that is something."""
        async with asyncio.timeout(WITHIN):
            while not (value := await self.run(script)):  # noqa: ASYNC110 - the page's doing
                await asyncio.sleep(0.02)
        return value

    async def click(self, text: str) -> None:
        """Press the first button with this text on it, once there is one."""
        of_text = f"b => b.textContent.includes({json.dumps(text)})"
        button = f"[...document.querySelectorAll('button')].find({of_text})"
        await self.until(f"(b => b && (b.click(), true))({button})")

    async def type(self, text: str) -> None:
        """Write into the message box and send it."""
        box = "document.querySelector('.composer textarea')"
        await self.until(f"!!{box}")
        await self.run(
            f"{box}.value = {json.dumps(text)}, document.querySelector('.composer').requestSubmit()"
        )

    async def close(self) -> None:
        """Have the browser end."""
        self._session = {}
        await self._ask("Browser.close")

    async def _ask(self, method: str, **params: Any) -> dict[str, Any]:
        number = next(self._numbers)
        said = {"id": number, "method": method, "params": params, **self._session}
        os.write(self._to_browser, json.dumps(said).encode() + b"\0")
        async with asyncio.timeout(WITHIN):
            while True:
                answer = json.loads((await self._answers.readuntil(b"\0"))[:-1])
                if answer.get("id") == number:
                    assert "error" not in answer, answer["error"]
                    result: dict[str, Any] = answer["result"]
                    return result


@asynccontextmanager
async def browser(profile: Path) -> AsyncIterator[Page]:
    """A browser with an empty profile, until one leaves."""
    assert CHROMIUM is not None
    from_us, to_browser = os.pipe()
    from_browser, to_us = os.pipe()
    arguments = [*OPTIONS, f"--user-data-dir={profile}", "about:blank"]
    # The protocol is spoken over descriptors 3 and 4. Not every `sh` knows numbers above nine.
    process = await asyncio.create_subprocess_exec(
        *("bash", "-c", f'exec "$0" "$@" 3<&{from_us} 4>&{to_us}', CHROMIUM, *arguments),
        pass_fds=(from_us, to_us),
        stderr=asyncio.subprocess.DEVNULL,
    )
    os.close(from_us)
    os.close(to_us)
    answers = asyncio.StreamReader(limit=2**24)
    loop = asyncio.get_running_loop()
    reading, _ = await loop.connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(answers), os.fdopen(from_browser, "rb")
    )
    page = Page(to_browser, answers)
    try:
        await page.attach()
        yield page
        await page.close()
    finally:
        reading.close()
        os.close(to_browser)
        await process.wait()
