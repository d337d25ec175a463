"""Keeps what tenants have of their own as their documents have it by now.

Each process looks for what was activated every few seconds, and for what begins by itself. Where a
tenant's documents don't fit together, those that don't are left as they were last, and where that
doesn't fit either all of them are; a process that begins with such, or whose house has changed,
takes those of them that fit, and of a version that began by itself what held before it. Which don't
is said. People of a share have an edition besides: their tenant's with those flows in it.
"""

import asyncio
import logging
import time
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from types import MappingProxyType

from activities.capabilities import Capabilities
from router.directory.tenants import LiveTenants, Tenants
from router.domain.circuit import Clock
from router.domain.configuration_documents import (
    WHOLE,
    ConfigurationDocument,
    DocumentKind,
    DocumentVersion,
    Examined,
    path_of,
    standing,
)
from router.domain.errors import DefinitionError, Problem, RouterError
from router.domain.principals import Principal
from router.flow.catalog import behaviour
from router.flow.loader import Vocabulary
from router.formats.watcher import SECONDS
from router.isolation.upkeep_threads import run_configuration
from router.retrieval.index import CapabilityIndex
from router.runtime.configuration_kinds import ConfigurationKinds, ToolsBySystem
from router.runtime.definitions import vocabulary
from router.runtime.editions import DraftEdition, Edition, drafted
from router.runtime.shares import (
    DocumentVersions,
    SharedEditions,
    SharedVersion,
    TenantDocuments,
    Variant,
    choices,
    documents_of,
    every_choice,
    in_place,
    put_back,
)
from router.settings import Settings
from router.store.store import Store
from router.story.entries import StoryNames
from router.story.loader import story_problems
from router.telemetry.metrics import CONFIGURATION_UNFIT
from router.tool.configuration_kind import TenantSystem
from router.understanding.reader import Reader

_log = logging.getLogger("router.configuration")


@dataclass(frozen=True)
class HouseConfiguration:
    """What the house has from its files, and what is to have tenants' own beside that."""

    settings: Settings
    offered: Capabilities
    reader: Reader
    index: CapabilityIndex
    tenants: LiveTenants
    has_model: bool
    kinds: ConfigurationKinds
    people: Callable[[str], Iterable[Principal]] = lambda _: ()
    """Who a tenant's people are, whom its stories name."""

    def draft(
        self,
        tenant: str,
        documents: Iterable[ConfigurationDocument],
        listed: ToolsBySystem = MappingProxyType({}),
    ) -> DraftEdition:
        """The documents laid over the files; in this thread."""
        entry = self.tenants.now.entry(tenant)
        return drafted(self.settings, self.offered, documents, tenant, entry, self.kinds, listed)

    async def edition(self, draft: DraftEdition) -> Edition:
        """What people get of it, in a thread of its own; raises as `DraftEdition.edition`."""
        return await run_configuration(draft.edition, has_model=self.has_model)

    async def searched(self, edition: Edition) -> CapabilityIndex:
        """What its capabilities are found by."""
        index = self.index.beside()
        await index.update(edition.capabilities.everything())
        return index


@dataclass(frozen=True)
class _Made:
    """What a tenant has, and after how many changes of the house it was laid over that."""

    edition: Edition
    index: CapabilityIndex
    house_changes: int
    systems: Mapping[DocumentKind, Sequence[TenantSystem]]
    documents: DocumentVersions
    """What it was made of."""
    shared: SharedEditions | None = None
    """What people have instead who are of shares."""


FIRST_WAIT, LONGEST_WAIT = SECONDS, 120.0


class _Pace:
    """Which tenants are to be looked at again though nobody has written anything for them.

    At once the first time, and then later each time: what fails may go on failing, and a
    system may list other tools without end.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._due: dict[str, float] = {}
        self._last: dict[str, tuple[float, float]] = {}
        """By tenant, when it was asked for, and how long it had to wait."""

    def ask(self, tenant: str) -> None:
        """Have it looked at again."""
        if tenant not in self._due:
            now = self._clock()
            at, waited = self._last.get(tenant, (-LONGEST_WAIT, 0.0))
            calm = now - at > waited + LONGEST_WAIT
            wait = 0.0 if calm else min(max(2 * waited, FIRST_WAIT), LONGEST_WAIT)
            self._due[tenant], self._last[tenant] = now + wait, (now, wait)

    @property
    def due(self) -> set[str]:
        """Those whose time has come."""
        now = self._clock()
        return {tenant for tenant, at in self._due.items() if at <= now}

    def done(self, tenant: str) -> None:
        """It was looked at."""
        self._due.pop(tenant, None)


def _at(path: str, documents: DocumentVersions) -> int | None:
    """The version of the document that stands there."""
    return next((each.version for each in documents if each.path == path), None)


def _utc() -> datetime:
    return datetime.now(UTC)


class Configuration:
    """Keeps what tenants have as their documents have it by now."""

    def __init__(
        self,
        house: HouseConfiguration,
        store: Store,
        clock: Clock = time.monotonic,
        now: Callable[[], datetime] = _utc,
    ) -> None:
        """`clock` tells when to try again, and `now` what has begun to hold."""
        self._house = house
        self._now = now
        self._kept = store.configuration
        self._versions = store.flow_versions
        self._mark: int | None = None
        self._tenants: Tenants | None = None
        self._documents: Mapping[str, TenantDocuments] = {}
        self._editions: dict[str, _Made] = {}
        self._house_changes = 0
        self._again = _Pace(clock)
        self._complaints: dict[str, str] = {}
        self._working = asyncio.Lock()
        self._kinds = house.kinds
        self._kinds.on_change(self._note_tools)
        self._news = asyncio.Event()

    def _note_tools(self, tenant: str) -> None:
        """Look at a tenant again, whose systems list other tools than before."""
        self._again.ask(tenant)
        self._news.set()

    @property
    def offered(self) -> Capabilities:
        """What every tenant has, with its documents."""
        return self._house.offered

    @property
    def tenants(self) -> LiveTenants:
        """What each tenant may have."""
        return self._house.tenants

    def vocabulary(self, tenant: str) -> Vocabulary:
        """What the tenant's flows may name that stands elsewhere."""
        registry, author_tools = self.offered.of(tenant).registry, self.tenants.author_tools(tenant)
        return vocabulary(registry, author_tools)

    @property
    def ever_held(self) -> bool:
        """Whether a document has held here by now, of any tenant, even if it was retired since."""
        return bool(self._mark)

    @property
    def installed_kinds(self) -> frozenset[DocumentKind]:
        """The kinds of documents that installed extensions add, loaded or not."""
        return self._kinds.installed

    @property
    def unfit(self) -> Mapping[str, str]:
        """By tenant, what keeps its documents from being taken up as they are now.

        A system that isn't there is said too, by the process that misses it.
        """
        said = dict(self._complaints)
        for tenant in self._documents:
            if away := self._kinds.find_absent(tenant):
                said[tenant] = "; ".join([*filter(None, [said.get(tenant)]), *away])
        return said

    async def refresh(self) -> bool:
        """Take up what was activated since the last time; True where something was."""
        async with self._working:
            again = self._again.due
            now, tenants = self._now(), self._house.tenants.now
            mark = await self._kept.mark(at=now)
            others = tenants is not self._tenants
            if mark == self._mark and not others and not again:
                return False
            there = documents_of(await self._kept.holding(at=now), now)
            changed = again | {
                t for t in there.keys() | self._documents if there.get(t) != self._documents.get(t)
            }
            self._house_changes += others
            try:
                await self._take_up(there.keys() | changed if others else changed, there)
            except BaseException:
                for tenant in again:
                    self._again.ask(tenant)
                raise
            # Only now: where that was broken off, the next look finds the same again.
            self._documents, self._mark, self._tenants = there, mark, tenants
            return bool(changed)

    async def renew(self) -> None:
        """Lay all documents anew over what the house has, which has changed."""
        async with self._working:
            self._house_changes += 1
            await self._take_up(self._documents.keys(), self._documents)

    async def _take_up(
        self, tenants: Iterable[str], documents: Mapping[str, TenantDocuments]
    ) -> None:
        editions = dict(self._editions)
        for tenant in sorted(tenants):
            told = self._complaints.get(tenant)
            self._again.done(tenant)
            try:
                its = documents.get(tenant, TenantDocuments())
                made = await self._made(tenant, its, editions.get(tenant))
            except Exception as error:  # noqa: BLE001 - one tenant's trouble is no other's
                self._again.ask(tenant)
                self._note_failure(tenant, error, told)
                continue
            if made is not None:
                editions[tenant] = made
            else:
                editions.pop(tenant, None)
        # Nothing waits from here on: whoever comes next finds all of it.
        self._editions = editions
        house, whole = self._house, {t: made.edition for t, made in editions.items()}
        shared = {t: made.shared for t, made in editions.items() if made.shared is not None}
        house.offered.give(
            {t: one.capabilities for t, one in whole.items()},
            {t: one.capabilities for t, one in shared.items()},
        )
        house.offered.registry.give({t: one.capabilities.registry for t, one in whole.items()})
        house.reader.give(
            {t: one.reader for t, one in whole.items()},
            {t: one.readers for t, one in shared.items()},
        )
        house.index.give(
            {t: made.index for t, made in editions.items()},
            {t: one.indexes for t, one in shared.items()},
        )
        house.tenants.give({t: one.persona for t, one in whole.items() if one.persona})
        CONFIGURATION_UNFIT.set(len(self._complaints))
        for tenant in tenants:
            made_now = editions.get(tenant)
            systems = made_now.systems if made_now else {}
            await self._kinds.follow(tenant, house.tenants.now.origins(tenant), systems)

    async def _made(
        self, tenant: str, documents: TenantDocuments, before: _Made | None
    ) -> _Made | None:
        whole, shared = documents.whole, documents.shared
        if not whole and not shared:
            self._complaints.pop(tenant, None)
            return None
        house_changes = self._house_changes
        # What was laid over another house is no choice: it has that house's files in it as well.
        keeps = before is not None and before.house_changes == house_changes
        listed = self._kinds.list_tools(tenant)
        draft = await self._drafted(tenant, whole, listed)
        self._complain(tenant, draft.problems, keeps=keeps)
        while draft.problems and before is not None and keeps:
            paths = {problem.file for problem in draft.problems}
            fitting = put_back(whole, before.documents, paths)
            if fitting == whole:
                return replace(before, shared=await self._shared(tenant, before, shared, listed))
            whole = fitting
            draft = await self._drafted(tenant, whole, listed)
        while draft.problems and whole:
            whole = await self._without(whole, {problem.file for problem in draft.problems})
            draft = await self._drafted(tenant, whole, listed)
        if not whole and not shared:
            return None
        edition = await self._house.edition(draft)
        index = await self._house.searched(edition)
        _log.info("%s has %d documents of its own", tenant, len(whole))
        made = _Made(edition, index, house_changes, draft.systems, whole)
        return replace(made, shared=await self._shared(tenant, made, shared, listed))

    async def _without(self, whole: DocumentVersions, files: Container[str]) -> DocumentVersions:
        """The documents without those in these files, which don't fit; what held before instead."""
        there = [await self._before(each) if each.path in files else each for each in whole]
        fitting = tuple(each for each in there if each is not None)
        # What breaks only files stands in some document: without all of them nothing is broken.
        return fitting if fitting != whole else ()

    async def _before(self, document: DocumentVersion) -> DocumentVersion | None:
        """What held before a version that began by itself; None of any other version.

        Others were held to the house before they held, and have no claim to what was before them.
        """
        named = (document.tenant, document.kind, document.name)
        at = standing(await self._kept.activations(*named), self._now())
        begun = (each for each in (at.whole, *at.before) if each is not None)
        whole = [each for each in begun if each.share == WHOLE]
        its = next((n for n, each in enumerate(whole) if each.version == document.version), None)
        if its is None or whole[its].holds_from is None:
            return None
        earlier = (each.version for each in whole[its:] if each.version != document.version)
        version = next(earlier, None)
        return None if version is None else await self._kept.find(*named, version)

    async def _drafted(
        self, tenant: str, documents: Iterable[ConfigurationDocument], listed: ToolsBySystem
    ) -> DraftEdition:
        return await run_configuration(self._house.draft, tenant, documents, listed)

    async def _shared(
        self, tenant: str, made: _Made, shared: tuple[SharedVersion, ...], listed: ToolsBySystem
    ) -> SharedEditions | None:
        """What people of shares have instead of what was made; without what doesn't fit that."""
        if not shared:
            return None
        variants = dict[frozenset[str], Variant]()
        offered = made.edition.capabilities
        for chosen in choices(shared):
            draft = await self._drafted(tenant, in_place(made.documents, chosen), listed)
            if draft.problems:
                self._complain(tenant, draft.problems, keeps=True)
                continue
            edition = await self._house.edition(draft)
            same = edition.capabilities.everything() == offered.everything()
            index = made.index if same else await self._house.searched(edition)
            flows = frozenset(each.name for each in chosen)
            variants[flows] = Variant(edition.capabilities, edition.reader, index)
        return SharedEditions({each.document.name: each.share for each in shared}, variants)

    def _note_failure(self, tenant: str, error: Exception, told: str | None) -> None:
        """That the tenant's documents couldn't be taken up; logged where it wasn't `told` yet."""
        why = str(error) if isinstance(error, RouterError) else f"{type(error).__name__} (see log)"
        said = f"they can't be taken up, and are tried again: {why}"
        self._complaints[tenant] = said
        if said != told:
            _log.error("the documents of %s stay as they were: %s", tenant, said, exc_info=error)

    def _complain(self, tenant: str, problems: Sequence[Problem], *, keeps: bool) -> None:
        said = str(DefinitionError(list(problems)))
        if problems and self._complaints.get(tenant) != said:
            state = "stay as they were" if keeps else "are used as far as they fit"
            _log.error("the documents of %s %s: %s", tenant, state, said)
        self._complaints.pop(tenant, None)
        if problems:
            self._complaints[tenant] = said

    async def examine(
        self, tenant: str, kind: DocumentKind, name: str, text: str | None
    ) -> Examined:
        """Whether the tenant's document may be this; None: whether it may be taken out of use.

        Raises:
            DefinitionError: with every problem that the tenant would have by it and hasn't now,
                and all that are in the document itself.
        """
        now, path = self._now(), path_of(kind, name)
        mark = await self._kept.mark(tenant, now)
        every = every_choice(await self._kept.holding(tenant, now), tenant, now)
        new = [ConfigurationDocument(kind=kind, name=name, text=text)] if text is not None else []
        held = _at(path, every[0])
        draft, problems = await self._changed(tenant, every[0], path, new)
        if kind == "stories" and text is not None:
            people = [person.id for person in self._house.people(tenant)]
            there = draft.capabilities
            names = StoryNames(people, there.registry.names, there.catalog.flows)
            problems += await run_configuration(story_problems, path, text, names)
        # Where people of a share have another version of it, or will have, that stays.
        for documents in (each for each in every[1:] if _at(path, each) == held):
            problems += (await self._changed(tenant, documents, path, new))[1]
        if problems:
            raise DefinitionError(list(dict.fromkeys(problems)))
        remarks = [each for each in draft.remarks if each.file == path]
        flow = draft.flows.get(name) if kind == "flows" else None
        if flow is None:
            return Examined(mark, remarks)
        does = behaviour(flow)
        known = await self._versions.known(name, flow.version)
        if known not in {None, does}:
            what = f"{name} does something else than version {flow.version} of its file did"
            remedy = f"raise version to {flow.version + 1}: runs under way keep theirs"
            raise DefinitionError([Problem(path, 1, what, remedy)])
        return Examined(mark, remarks, flow.version, does)

    async def _changed(
        self, tenant: str, held: DocumentVersions, path: str, new: Sequence[ConfigurationDocument]
    ) -> tuple[DraftEdition, list[Problem]]:
        """What they come to with the new one at its path, and what wouldn't fit because of it."""
        listed = self._kinds.list_tools(tenant)
        others = [each for each in held if each.path != path]
        draft = await self._drafted(tenant, [*others, *new], listed)
        if not draft.problems:
            return draft, []
        now = (await self._drafted(tenant, held, listed)).problems
        return draft, [each for each in draft.problems if each.file == path or each not in now]

    async def kept_up(self) -> None:
        """Take up what is activated, here or in another process, until cancelled.

        Meanwhile there is a session with each system of tenants' documents.
        """
        async with self._kinds.running():
            await self._followed()

    async def _followed(self) -> None:
        away = False
        while True:
            with suppress(TimeoutError):
                async with asyncio.timeout(SECONDS):
                    await self._news.wait()
            self._news.clear()
            try:
                await self.refresh()
            except RouterError as error:
                if not away:
                    _log.warning("documents stay as they were for now: %s", error)
                away = True
            except Exception:  # noqa: BLE001 - to stop looking would be a silence
                _log.exception("documents stay as they were")
            else:
                away = False
