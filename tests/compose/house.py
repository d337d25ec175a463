"""The house of docker-compose.yml: a copy of the tree, what the docs type there, and its people."""

import asyncio
import shutil
import subprocess
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

import httpx

from router.api.auth import mint
from router.domain.principals import DEFAULT_TENANT
from router.settings import Settings
from tests.compose.engine import ROOT, Engine
from tests.docs.snippets import COMPOSED, snippets_of
from tests.drills.desk import PATIENCE, PEOPLE, Person, until

PAGE = ROOT / "docs" / "operations.md"
TYPED = ("override", "up", "scale", "backup", "restore", "upgrade", "replace")
"""The blocks of the page that are typed here; the first is a file."""
PORTS = range(8000, 8004)
STATE = "{{.State.Status}} {{if .State.Health}}{{.State.Health.Status}}{{end}}"
WELL = {"running healthy", "running ", "exited "}
"""A container that stays, that nobody asks, and that has done its work."""
AWAY = {502, 503}
WAITED = 120.0
"""Seconds for an answer: then it is asked for again."""


def blocks() -> dict[str, str]:
    """What is to be typed, by the name in its marker."""
    marked = [each for each in snippets_of(PAGE) if each.marker.startswith(COMPOSED)]
    return {each.marker.removeprefix(COMPOSED): each.text for each in marked}


@dataclass
class House:
    """A copy of what git has of this tree, which nobody edits meanwhile."""

    engine: Engine
    folder: Path

    def copied(self) -> None:
        """Have the tree there, as it is, and what a house has of its own as the page says."""
        words = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
        listed = subprocess.check_output(words, cwd=ROOT, text=True).split("\0")
        for path in (each for each in listed if (ROOT / each).is_file()):
            (self.folder / path).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / path, self.folder / path)
        (self.folder / "docker-compose.override.yml").write_text(blocks()["override"], "utf-8")
        shutil.copytree(ROOT / "flows", self.folder / "house" / "flows")
        (self.folder / "house" / "people.yaml").write_text(PEOPLE, "utf-8")

    async def types(self, name: str) -> str:
        """What is said to this block of the page, at a terminal and word for word."""
        return await self.shell(blocks()[name])

    async def shell(self, text: str) -> str:
        """What these commands say at a terminal; `AssertionError` where one fails."""
        script = self.folder.parent / "typed.sh"
        script.write_text(f"set -e\n{text}", "utf-8")
        words = ["script", "--quiet", "--return", "--command", f"sh {script}", "/dev/null"]
        ended = await asyncio.to_thread(
            subprocess.run,
            words,
            cwd=self.folder,
            env=self.engine.environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
        )
        said = ended.stdout.decode("utf-8", "replace")
        assert ended.returncode == 0, f"{text}\nends with {ended.returncode}: {said[-4000:]}"
        return said

    async def compose(self, *words: str) -> str:
        """What docker-compose says to these words, without a terminal."""
        ended = await asyncio.to_thread(
            subprocess.run,
            ["docker-compose", *words],
            cwd=self.folder,
            env=self.engine.environment,
            capture_output=True,
            check=False,
        )
        assert ended.returncode == 0, (ended.stdout + ended.stderr).decode()[-4000:]
        return ended.stdout.decode().strip()

    async def containers(self, service: str = "") -> dict[str, str]:
        """How each is, by its name."""
        ids = (await self.compose("ps", "--quiet", "--all", *filter(None, [service]))).split()
        states = self.engine.docker("inspect", "--format", "{{.Name}} " + STATE, *ids)
        parts = (line.removeprefix("/").partition(" ") for line in states.splitlines())
        return {name: state for name, _, state in parts}

    async def well(self) -> bool:
        """True once every container is; `AssertionError` names those that aren't."""
        ill = {name: how for name, how in (await self.containers()).items() if how not in WELL}
        assert not ill, f"not well: {ill}"
        return True

    def person(self, user: str) -> Person:
        """Somebody with a token by the house's own secret, who asks whichever API takes it."""
        secret = (self.folder / "deploy" / "secrets" / "jwt_secret").read_text("utf-8").strip()
        token = mint(Settings.load(auth="jwt", jwt_secret=secret), user, 86_400, DEFAULT_TENANT)
        return Person(
            httpx.AsyncClient(
                base_url="http://api/v1",
                headers={"Authorization": f"Bearer {token}"},
                timeout=WAITED,
                transport=Proxy(),
            )
        )

    async def down(self) -> None:
        """Everything goes, what was kept too."""
        await self.compose("down", "--volumes", "--remove-orphans", "--timeout", "40")


@dataclass
class Proxy(httpx.AsyncBaseTransport):
    """What stands before the APIs: asks one after the other until one takes it, and measures.

    A request may be sent again, as all of the test's have a key by which they are done once.
    """

    longest: float = 0.0
    """Seconds from a first refusal to when another attempt was taken."""
    refused: int = 0
    _to: httpx.AsyncHTTPTransport = field(default_factory=httpx.AsyncHTTPTransport)
    _turn: Any = field(default_factory=count)

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """The answer of the first that takes it; `ConnectError` after ten minutes of refusals."""
        first = time.monotonic()
        for attempt in count():
            began = time.monotonic()
            port = PORTS[next(self._turn) % len(PORTS)]
            there = request.url.copy_with(host="127.0.0.1", port=port)
            one = httpx.Request(
                request.method, there, headers=request.headers, content=request.content
            )
            one.extensions = request.extensions
            with suppress(httpx.TransportError):
                answer = await self._to.handle_async_request(one)
                if answer.status_code not in AWAY:
                    self.longest = max(self.longest, began - first if attempt >= len(PORTS) else 0)
                    return answer
                await answer.aclose()
            # One round of all ports refuses nobody: a proxy asks the next at once.
            self.refused += attempt == len(PORTS)
            await asyncio.sleep(0 if attempt < len(PORTS) else 0.05)
            if began - first > PATIENCE:
                break
        raise httpx.ConnectError(f"no API takes {request.url.path}", request=request)

    async def aclose(self) -> None:
        """Drop its connections."""
        await self._to.aclose()


@dataclass
class Traffic:
    """Messages of somebody, one after the other, each answered once."""

    person: Person
    answered: int = 0

    @asynccontextmanager
    async def going(self) -> AsyncIterator["Traffic"]:
        """Goes on until the block ends; raises what it met."""
        made = await self.person.http.post("/conversations", json={})
        task = asyncio.create_task(self._talk(str(made.raise_for_status().json()["id"])))
        try:
            yield self
            assert not task.done(), task.exception()
        finally:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task

    async def _talk(self, conversation: str) -> None:
        for number in count():
            await until(f"m{number} is answered", partial(self._answered, conversation, number))
            self.answered += 1

    async def _answered(self, conversation: str, number: int) -> bool:
        """True with replies: what takes longer is asked for again, by the same key."""
        answer = await self.person.sends(conversation, "你好", message_id=f"m{number}")
        return bool(answer.raise_for_status().json().get("replies"))

    async def heard(self, more: int = 3) -> None:
        """Return once so many further messages were answered."""
        wanted = self.answered + more

        async def enough() -> bool:
            return self.answered >= wanted

        await until(f"{more} further answers", enough)
