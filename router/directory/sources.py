"""Where people come from, a file or an address, and people as they are there by now."""

import asyncio
import logging
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Protocol, Self

import httpx2

from router.directory.file import SAMPLE, DirectoryError, FileDirectory
from router.directory.tenants import Tenants
from router.domain.errors import MisconfiguredError, Problem, RouterError, Unavailable
from router.domain.loopback import may_be_proxied
from router.domain.principals import DEFAULT_TENANT, Principal
from router.formats.watcher import SECONDS, Stamp, stamp_of
from router.isolation.upkeep_threads import run_upkeep
from router.settings import Settings
from router.telemetry.metrics import DIRECTORY_AGE, DIRECTORY_PROBLEMS

TIMEOUT = 10.0
"""Seconds, for the connection and between two parts of an answer."""
MOST_BYTES = 32 * 1024 * 1024
"""Some hundred thousand people."""


class DirectorySource(Protocol):
    """What gives the people, all of them at once."""

    seconds: float
    """How long to wait until it is worth asking again."""
    stale_seconds: float
    """For how long what it gave is good while it doesn't answer."""

    def read(self) -> FileDirectory | None:
        """The people; None where they are as they were. Blocks; raises `RouterError`."""


def source_of(settings: Settings) -> DirectorySource:
    """Where these settings say that people are."""
    place = settings.directory
    if isinstance(place, str):
        token = settings.directory_token.get_secret_value() if settings.directory_token else None
        return DirectoryAddress(
            place, token, settings.directory_seconds, settings.directory_stale_seconds
        )
    return DirectoryFile(place or SAMPLE)


def people_of(settings: Settings) -> FileDirectory:
    """The people as they are right now: for a command that ends soon."""
    people = source_of(settings).read() or FileDirectory([])
    tenants = Tenants.load(settings.tenants, settings.persona)
    return people.each(lambda person: person.having(tenants.entitlement(person.tenant)))


class DirectoryFile:
    """A YAML file. Whoever deletes it deletes nobody: the people stay until it is there again."""

    seconds = SECONDS
    stale_seconds = float("inf")

    def __init__(self, path: Path) -> None:
        self._path = path
        self._seen: Stamp | None = None

    def read(self) -> FileDirectory | None:
        """The people, where the file is another one than it was."""
        seen, self._seen = self._seen, stamp_of([self._path])
        return None if seen == self._seen else FileDirectory.load(self._path)


class DirectoryAddress:
    """A URL that serves the file's content, as JSON or YAML; an `ETag` saves the transfer."""

    def __init__(
        self, url: str, token: str | None, seconds: float = 60.0, stale_seconds: float = 86_400.0
    ) -> None:
        self.seconds, self.stale_seconds = seconds, stale_seconds
        self._url, self._token, self._etag = url, token, ""

    def read(self) -> FileDirectory | None:
        """The people, unless the address says that they are as they were."""
        try:
            # No redirects: the token is for this host, and nobody else.
            with httpx2.Client(timeout=TIMEOUT, trust_env=may_be_proxied(self._url)) as client:
                return self._asked(client)
        except httpx2.HTTPError as error:
            raise Unavailable(
                f"ROUTER_DIRECTORY={self._url} can't be reached ({type(error).__name__}): "
                "see that it is up"
            ) from error

    def _asked(self, client: httpx2.Client) -> FileDirectory | None:
        headers = {"Accept": "application/json, application/yaml;q=0.9"}
        headers |= {"Authorization": f"Bearer {self._token}"} if self._token else {}
        headers |= {"If-None-Match": self._etag} if self._etag else {}
        here = f"ROUTER_DIRECTORY={self._url}"
        with client.stream("GET", self._url, headers=headers) as answer:
            if answer.status_code == httpx2.codes.NOT_MODIFIED and self._etag:
                return None
            if answer.status_code in (httpx2.codes.UNAUTHORIZED, httpx2.codes.FORBIDDEN):
                remedy = "set ROUTER_DIRECTORY_TOKEN to a token that it takes"
                raise MisconfiguredError(f"{here} answers {answer.status_code}: {remedy}")
            if answer.status_code != httpx2.codes.OK:
                remedy = "it should answer 200 with the people, without a redirect"
                raise Unavailable(f"{here} answers {answer.status_code}: {remedy}")
            body = self._body(answer)
        try:
            people = FileDirectory.read(body, self._url)
        except RecursionError:
            raise Unavailable(f"{here} is nested without end") from None
        # Only now: what can't be used is to be fetched again, and complained of again.
        self._etag = answer.headers.get("etag", "")
        return people

    def _body(self, answer: httpx2.Response) -> str:
        body = bytearray()
        for part in answer.iter_bytes():
            body += part
            if len(body) > MOST_BYTES:
                raise Unavailable(f"ROUTER_DIRECTORY={self._url} gives over {MOST_BYTES} bytes")
        try:
            return body.decode("utf-8")
        except UnicodeDecodeError:
            raise Unavailable(f"ROUTER_DIRECTORY={self._url} gives no UTF-8 text") from None


_log = logging.getLogger("router.directory")


class LiveDirectory:
    """A directory that is asked in memory and follows its source.

    What can't be used or fetched is logged, and people stay as they were, but for whoever isn't
    listed any more and for what was taken from them. Where nothing can be read they stay no longer
    than the source's `stale_seconds`: then each method is `Unavailable`.
    """

    def __init__(
        self,
        people: FileDirectory,
        source: DirectorySource,
        now: Callable[[], float] = time.monotonic,
        entitled: Callable[[Principal], Principal] = lambda person: person,
    ) -> None:
        """`people` are what the source gave just now; `entitled` adds what their tenants have."""
        self._entitled = entitled
        self._people, self._source, self._now = people, source, now
        self._confirmed = now()
        DIRECTORY_AGE.set_function(lambda: self._now() - self._confirmed)
        self._note(people.warnings)

    @classmethod
    def load(
        cls,
        source: DirectorySource,
        now: Callable[[], float] = time.monotonic,
        entitled: Callable[[Principal], Principal] = lambda person: person,
    ) -> Self:
        """The directory as the source has it; raises what `Source.read` raises."""
        return cls(source.read() or FileDirectory([]), source, now, entitled)

    def refresh(self) -> bool:
        """Ask the source; True where the people are others now. Blocks: call it in a thread."""
        began = self._now()
        try:
            people = self._source.read()
        except DirectoryError as error:
            DIRECTORY_PROBLEMS.set(len(error.problems))
            _log.error("the people stay as they were, but for who is gone: %s", error)
            left = self._people.reduced(error.remnant)
            if left is self._people:
                return False
            self._people, self._confirmed = left, began
            return True
        except RouterError as error:
            _log.error("the people stay as they were: %s", error)
            return False
        if people is not None:
            self._note(people.warnings)
        self._people, self._confirmed = people or self._people, began
        return people is not None

    def _note(self, warnings: Sequence[Problem]) -> None:
        DIRECTORY_PROBLEMS.set(len(warnings))
        for each in warnings:
            _log.warning("%s", each)

    async def kept_up(self) -> None:
        """Follow the source until cancelled."""
        while True:
            await asyncio.sleep(self._source.seconds)
            try:
                if await run_upkeep(self.refresh):
                    _log.info("the people have changed")
            except Exception:  # noqa: BLE001 - to stop following would be a silence
                _log.exception("the people stay as they were")

    async def find(self, tenant: str, user: str) -> Principal | None:
        """The person with this id, or None."""
        found = await self._now_known().find(tenant, user)
        return self._entitled(found) if found else None

    async def holding(self, tenant: str, role: str) -> list[Principal]:
        """Everyone with this role, ordered by id."""
        return [*map(self._entitled, await self._now_known().holding(tenant, role))]

    def everyone(self, tenant: str = DEFAULT_TENANT) -> list[Principal]:
        """All people of a tenant, ordered by id."""
        return [*map(self._entitled, self._now_known().everyone(tenant))]

    def by_account(self, platform: str, account: str) -> Principal | None:
        """Whose account it is on a chat platform (`slack`, `feishu`…); None: nobody's."""
        found = self._now_known().by_account(platform, account)
        return self._entitled(found) if found else None

    def accounts(self, platform: str) -> Sequence[tuple[Principal, str]]:
        """Everyone who has an account there, with it."""
        found = self._now_known().accounts(platform)
        return [(self._entitled(person), account) for person, account in found]

    def accounts_of(self, tenant: str, user: str) -> Mapping[str, str]:
        """Who the person is on each platform on which they are somebody."""
        return self._now_known().accounts_of(tenant, user)

    def _now_known(self) -> FileDirectory:
        if self._now() - self._confirmed > self._source.stale_seconds:
            raise Unavailable("Who works here can't be told right now: the directory is too old.")
        return self._people
