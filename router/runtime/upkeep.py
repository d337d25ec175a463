"""A process that stays: it keeps what it offers as its files and MCP servers have it by now."""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Protocol, runtime_checkable

from router.directory.sources import LiveDirectory
from router.domain.errors import (
    Conflict,
    DefinitionError,
    MisconfiguredError,
    Problem,
    RouterError,
)
from router.flow.loader import examine_all
from router.formats.watcher import SECONDS
from router.isolation.upkeep_threads import run_upkeep
from router.retrieval.vector_cache import VectorFile, VectorMemory
from router.runtime.composition import VECTORS, Parts, assembled
from router.runtime.definitions import check_versions, flow_folder, taken_up, vocabulary
from router.secrecy.codec import opens, sealed_with
from router.settings import Settings
from router.store.identity import KeySeals
from router.telemetry.metrics import EXPIRY_REFUSED
from router.tool.kinds import ToolSource

_log = logging.getLogger("router.tools")
_skill_log = logging.getLogger("router.skills")
_store_log = logging.getLogger("router.store")
_prompt_log = logging.getLogger("router.prompts")
_flow_log = logging.getLogger("router.flows")

SKILL_FILES_KEPT = timedelta(days=30)
"""Beyond the last day on which they were a loaded skill's: for runs that began with them."""
TIDIED_EVERY = timedelta(days=1)
TRIED_AGAIN = timedelta(minutes=1)
"""After the database was away: a process that has just started finds it so, and a day is long."""


@runtime_checkable
class Learning(Protocol):
    """Something that tools need, which searches by meaning and has to encode what it has."""

    async def learn(self, memory: VectorMemory) -> None:
        """Encode it, once; what `memory` holds already isn't encoded again."""


@asynccontextmanager
async def at_work(settings: Settings, *, editing: bool = False) -> AsyncIterator[Parts]:
    """The parts of a process that stays; until its index has learnt, words alone are searched.

    A flow that changed under its version is refused, or warned of where its author is `editing`.
    """
    async with assembled(settings) as parts, parts.tools.running():
        await check_keys(settings, parts.store.key_seals)
        catalog, versions = parts.offered.catalog, parts.store.flow_versions
        await check_versions(settings, catalog, versions, editing=editing)
        await opened(parts)
        await _prompts_taken_up(parts)
        misfits = Misfits(parts)
        work = [
            learn(parts),
            *(_tools_kept_up(parts, each, misfits, editing=editing) for each in parts.tools.each),
            _skills_kept_up(parts),
            _flows_kept_up(parts, editing=editing),
            _prompts_kept_up(parts),
            parts.configuration.kept_up(),
            _skill_files_tidied(parts),
            _deleted_daily(parts.settings.memory_days, parts.store.retention.forget, "memories"),
            _deleted_daily(
                parts.settings.retention_days, partial(_expired, parts), "conversations"
            ),
        ]
        work.append(parts.tenants.kept_up(parts.chains.forget))
        if isinstance(parts.directory, LiveDirectory):
            work.append(parts.directory.kept_up())
        tasks = [asyncio.create_task(each) for each in work]
        try:
            yield parts
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)


async def check_keys(settings: Settings, kept: KeySeals) -> None:
    """Return where each payload key is the one that this house has by that id.

    Raises:
        MisconfiguredError: another key has that id here. What it wrote nobody else could read,
            and what others wrote it couldn't.
    """
    keys = settings.payload_keys
    for id_ in keys.keys:
        if not opens(keys, id_, await kept.keep(id_, sealed_with(keys, id_))):
            raise MisconfiguredError(
                f"the key {id_!r} in ROUTER_PAYLOAD_KEYS isn't the one that this house has by that "
                "id: take the key from where the other processes have it, or give a new one an id "
                "of its own"
            )


async def learn(parts: Parts) -> None:
    """Have vectors of everything that is searched by meaning."""
    await parts.index.update(parts.offered.everything())
    memory = VectorFile(parts.settings.data / VECTORS)
    for found in await opened(parts):
        if isinstance(found, Learning):
            await found.learn(memory)


async def opened(parts: Parts) -> list[object]:
    """What tools need of what can be had here, each thing once, made if it wasn't yet."""
    registry, dependencies = parts.offered.registry, parts.dependencies
    needed = registry.providers() - registry.lacking(parts.settings).keys()
    shared = [provider for provider in needed if not provider.is_per_call]
    ordered = sorted(shared, key=lambda each: each.name)
    return [await dependencies.resolve(each) for each in ordered]


async def _tools_kept_up(
    parts: Parts, source: ToolSource, misfits: "Misfits", *, editing: bool
) -> None:
    try:
        async for _ in source.changes(editing=editing):
            await run_upkeep(misfits.warn)
            parts.flow_files.retry()
            await _relearnt(parts)
    except Exception:  # noqa: BLE001 - it may be anybody's code
        _log.exception("changes of %s aren't followed any more: restart this process", source.group)


class Misfits:
    """Flows that call a tool which isn't there any more, or not with those names."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._known: list[Problem] = []

    def warn(self) -> None:
        """Say in the log which there are that weren't at the last look.

        What is wrong with a file whatever tools there are, its reader has said.
        """
        folder = [flow_folder(self._parts.settings)]
        _, otherwise = examine_all(folder)
        _, found = examine_all(folder, vocabulary(self._parts.offered.registry))
        found = [problem for problem in found if problem not in otherwise]
        told = self._parts.flow_files.unfit
        for problem in found:
            if problem not in self._known and Path(problem.file) not in told:
                _log.warning("a flow no longer fits the tools that there are: %s", problem)
        self._known = found


async def _skills_kept_up(parts: Parts) -> None:
    async for loaded in parts.folders.changes():
        try:
            # Files first: whoever is given a skill may read in it at once.
            await parts.store.skill_files.keep(loaded.contents)
            parts.offered.skills = loaded.catalog
            await _relearnt(parts)
        except RouterError as error:
            _skill_log.error("the skills stay as they were for now: %s", error)
            parts.folders.forget()


async def _flows_kept_up(parts: Parts, *, editing: bool) -> None:
    versions = parts.store.flow_versions
    async for files in parts.flow_files.changes():
        offered = parts.offered
        try:
            offered.catalog = await taken_up(
                parts.settings, offered.catalog, files, versions, editing=editing
            )
        except DefinitionError as error:
            _flow_log.error("the flows stay as they were: %s", error)
        except RouterError as error:
            _flow_log.error("the flows stay as they were for now: %s", error)
            parts.flow_files.forget()
        else:
            _flow_log.info("there are %s flows now", len(offered.catalog))
            await _relearnt(parts)


async def _prompts_kept_up(parts: Parts) -> None:
    away = False
    while True:
        await asyncio.sleep(SECONDS)
        await run_upkeep(parts.prompt_files.reload)
        try:
            await _prompts_taken_up(parts)
        except RouterError as error:
            if not away:
                _prompt_log.warning("the shares of prompts stay as they were for now: %s", error)
            away = True
        else:
            away = False


async def _prompts_taken_up(parts: Parts) -> None:
    """Have questions asked with the texts that there are by now, in the shares that hold by now."""
    held = await parts.store.prompt_shares.holding()
    jobs = parts.prompts.jobs
    own = {(each.tenant, each.job): each.shares for each in held if each.job in jobs}
    texts = parts.prompt_files.texts
    if parts.prompts.replace(texts, own):
        told = ", ".join(f"{v}={n}" for shares in own.values() for v, n in shares.items())
        _prompt_log.info(
            "prompts or their shares have changed; set by operators: %s", told or "none"
        )


async def _skill_files_tidied(parts: Parts) -> None:
    while True:
        in_use = {file.digest for skill in parts.offered.skills for file in skill.files}
        try:
            await parts.store.skill_files.tidy(in_use, SKILL_FILES_KEPT)
        except RouterError as error:
            _skill_log.warning("old files of skills aren't forgotten yet: %s", error)
        await asyncio.sleep(TIDIED_EVERY.total_seconds())


async def _deleted_daily(
    days: int | None, delete: Callable[[int], Awaitable[int]], what: str
) -> None:
    """Delete once a day what is older than that; where `days` is None, nothing ever."""
    while days is not None:
        wait = TIDIED_EVERY
        try:
            _store_log.info("%s %s have expired", await delete(days), what)
        except Conflict as error:
            _store_log.error("nothing expires: %s", error)
        except RouterError as error:
            _store_log.warning("no %s expire yet: %s", what, error)
            wait = TRIED_AGAIN
        await asyncio.sleep(wait.total_seconds())


async def _expired(parts: Parts, days: int) -> int:
    """As `Retention.expire`; the metric says whether it refused."""
    try:
        gone = await parts.store.retention.expire(days)
    except Conflict:
        EXPIRY_REFUSED.set(1)
        raise
    EXPIRY_REFUSED.set(0)
    return gone


async def _relearnt(parts: Parts) -> None:
    offered = parts.offered
    listed = offered.listed(skills=parts.chains.usual is not None)
    parts.reader.replace(offered.flows(), offered.phrases(), listed)
    await parts.index.update(offered.everything())
    await parts.configuration.renew()
