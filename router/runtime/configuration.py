"""Documents of configuration in one process: looked for every few seconds, taken up all at once.

A tenant's documents count together or not at all. Where they don't fit, what they were last goes
on; a process that begins with such takes those of them that fit, and says which don't.
"""

import asyncio
import logging
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from activities.capabilities import Capabilities
from router.directory.tenants import LiveTenants, Tenants
from router.domain.configuration import Document, DocumentKind, DocumentVersion, Examined, path_of
from router.domain.errors import DefinitionError, Problem, RouterError
from router.flow.catalog import behaviour
from router.formats.watcher import SECONDS
from router.retrieval.index import CapabilityIndex
from router.runtime.editions import DraftEdition, Edition, drafted
from router.settings import Settings
from router.store.store import Store
from router.telemetry.metrics import CONFIGURATION_UNFIT
from router.understanding.reader import Reader

_log = logging.getLogger("router.configuration")

Documents = tuple[DocumentVersion, ...]


@dataclass(frozen=True)
class House:
    """What the house has from its files, and what is to have tenants' own beside that."""

    settings: Settings
    offered: Capabilities
    reader: Reader
    index: CapabilityIndex
    tenants: LiveTenants
    has_model: bool

    def draft(self, tenant: str, documents: Iterable[Document]) -> DraftEdition:
        """The documents laid over the files; in this thread."""
        entitlement = self.tenants.now.entitlement(tenant)
        return drafted(self.settings, self.offered, documents, tenant, entitlement)


class Configuration:
    """Keeps what tenants have as their documents have it by now."""

    def __init__(self, house: House, store: Store) -> None:
        self._house = house
        self._kept = store.configuration
        self._versions = store.flow_versions
        self._mark: int | None = None
        self._tenants: Tenants | None = None
        self._documents: dict[str, Documents] = {}
        self._editions: dict[str, tuple[Edition, CapabilityIndex]] = {}
        self._complaints: dict[str, str] = {}
        self._working = asyncio.Lock()

    @property
    def unfit(self) -> Mapping[str, str]:
        """By tenant, what keeps its documents from being taken up as they are now."""
        return self._complaints

    async def refresh(self) -> bool:
        """Take up what was activated since the last time; True where something was."""
        async with self._working:
            mark, tenants = await self._kept.mark(), self._house.tenants.now
            if mark == self._mark and tenants is self._tenants:
                return False
            found = defaultdict[str, list[DocumentVersion]](list)
            for each in await self._kept.active():
                found[each.tenant].append(each)
            now = {tenant: tuple(documents) for tenant, documents in found.items()}
            changed = {
                t for t in now.keys() | self._documents if now.get(t) != self._documents.get(t)
            }
            self._documents = now
            await self._take_up(changed if tenants is self._tenants else now.keys() | changed)
            self._mark, self._tenants = mark, tenants
            return bool(changed)

    async def renew(self) -> None:
        """Lay all documents anew over what the house has, which has changed."""
        async with self._working:
            await self._take_up(self._documents.keys())

    async def _take_up(self, tenants: Iterable[str]) -> None:
        editions = dict(self._editions)
        for tenant in sorted(tenants):
            documents = self._documents.get(tenant, ())
            made = await self._made(tenant, documents, before=editions.get(tenant))
            if made is not None:
                editions[tenant] = made
            else:
                editions.pop(tenant, None)
        # Nothing waits from here on: whoever comes next finds all of it.
        self._editions = editions
        house, whole = self._house, {t: edition for t, (edition, _) in editions.items()}
        house.offered.give({t: one.capabilities for t, one in whole.items()})
        house.offered.registry.give({t: one.capabilities.registry for t, one in whole.items()})
        house.reader.give({t: one.reader for t, one in whole.items()})
        house.index.give({t: index for t, (_, index) in editions.items()})
        house.tenants.give({t: one.persona for t, one in whole.items() if one.persona})
        CONFIGURATION_UNFIT.set(len(self._complaints))

    async def _made(
        self,
        tenant: str,
        documents: Documents,
        before: tuple[Edition, CapabilityIndex] | None,
    ) -> tuple[Edition, CapabilityIndex] | None:
        if not documents:
            self._complaints.pop(tenant, None)
            return None
        draft = await asyncio.to_thread(self._house.draft, tenant, documents)
        self._complain(tenant, draft.problems, keeps=before is not None)
        if draft.problems and before is not None:
            return before
        while draft.problems and documents:
            files = {problem.file for problem in draft.problems}
            fitting = tuple(each for each in documents if each.path not in files)
            # What breaks only files stands in some document: without all of them nothing is broken.
            documents = fitting if len(fitting) < len(documents) else ()
            draft = await asyncio.to_thread(self._house.draft, tenant, documents)
        if not documents:
            return None
        edition = await asyncio.to_thread(draft.edition, has_model=self._house.has_model)
        index = self._house.index.beside()
        await index.update(edition.capabilities.everything())
        _log.info("%s has %d documents of its own", tenant, len(documents))
        return edition, index

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
        mark = await self._kept.mark(tenant)
        held = await self._kept.active(tenant)
        others = [each for each in held if (each.kind, each.name) != (kind, name)]
        new = [Document(kind=kind, name=name, text=text)] if text is not None else []
        draft = await asyncio.to_thread(self._house.draft, tenant, [*others, *new])
        path, problems = path_of(kind, name), draft.problems
        if problems:
            now = (await asyncio.to_thread(self._house.draft, tenant, held)).problems
            problems = [each for each in problems if each.file == path or each not in now]
        if problems:
            raise DefinitionError(problems)
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

    async def kept_up(self) -> None:
        """Take up what is activated, here or in another process, until cancelled."""
        away = False
        while True:
            await asyncio.sleep(SECONDS)
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
