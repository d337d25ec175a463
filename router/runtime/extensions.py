"""Finds the installed extensions and loads those that can be used.

An extension that can't be loaded never stops the others: it is left out, and `intent-router
extensions` and `doctor` say why. Only extensions in `ROUTER_REQUIRED_EXTENSIONS` stop the process.

The list of commands is made from extensions, so this module imports pydantic only when something
is wrong.
"""

import logging
from collections.abc import (
    AsyncIterator,
    Callable,
    Collection,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import cache
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from traceback import format_exception
from types import ModuleType
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

from router.domain.extension_names import EXTENSION_NAME_RULE, is_extension_name
from router.extension import ENTRY_POINT_GROUP, Extension, ExtensionConflict, run_bounded

if TYPE_CHECKING:
    from router.settings import Section, Settings

_REQUIRED = "ROUTER_REQUIRED_EXTENSIONS"
_OFF = "ROUTER_EXTENSIONS_OFF"
T = TypeVar("T")

BACKGROUND_STOP_S = 2.0
"""For what an extension runs in a process, once the process stops."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class LoadedExtension:
    """An extension in use, and the distribution that it comes from."""

    extension: Extension
    distribution: str


@dataclass(frozen=True)
class OmittedExtension:
    """An installed extension that isn't in use."""

    name: str
    distribution: str
    reason: str
    traceback: str = ""
    """Where its import failed; empty if it was left out for another reason."""
    is_chosen: bool = False
    """True if the settings leave it out."""


@dataclass
class Extensions:
    """The installed extensions, as one process uses them."""

    loaded: list[LoadedExtension] = field(default_factory=list)
    """In the order in which they start: each one after those that it requires."""
    omitted: list[OmittedExtension] = field(default_factory=list)
    required: Collection[str] = ()
    """The names of extensions without which the process must not go on."""
    unknown: Sequence[str] = ()
    """Sentences on names in `ROUTER_EXTENSIONS_OFF` that no installed extension has."""

    def __iter__(self) -> Iterator[Extension]:
        return (each.extension for each in self.loaded)

    def collect(self, member: Callable[[Extension], T]) -> list[T]:
        """Return a member of each extension, such as its routes.

        An extension that raises is left out from then on, and logged with its traceback.

        Raises:
            MisconfiguredError: A required extension raises, or the settings of one can't be used.
        """
        found: list[T] = []
        for each in [*self.loaded]:
            try:
                found.append(member(each.extension))
            except Exception as error:  # noqa: BLE001 - it may be anybody's code
                self._report(each, error)
                self.leave_out(_fault(each, error))
        return found

    def _report(self, each: LoadedExtension, error: Exception) -> None:
        """Log what an extension has raised; raise what must stop the process."""
        from router.domain.errors import MisconfiguredError

        if isinstance(error, MisconfiguredError):
            raise error
        fault = _fault(each, error)
        _check_required(self.required, [fault])
        said = "\n".join(filter(None, (fault.reason, fault.traceback)))
        _log.error("extension %s: %s", fault.name, said)

    def leave_out(self, fault: OmittedExtension) -> None:
        """Use an extension no longer in this process, and none that requires it.

        Raises:
            MisconfiguredError: One of them is required.
        """
        usable, lacking = _in_order(
            {each.extension.name: each for each in self.loaded if each.extension.name != fault.name}
        )
        added = [fault, *lacking]
        _check_required(self.required, added)
        self.loaded, self.omitted = usable, [*self.omitted, *added]

    def find_faults(self, *members: Callable[[Extension], object]) -> list[OmittedExtension]:
        """Return the extensions that raise when they are asked for these members in order.

        An extension whose settings can't be used isn't among them: that stops a process. One that
        has raised isn't asked for further members.
        """
        found = (_find_fault(each, members) for each in self.loaded)
        return [fault for fault in found if fault is not None]

    @asynccontextmanager
    async def keep_running(
        self, running: Mapping[str, AbstractAsyncContextManager[None]]
    ) -> AsyncIterator[None]:
        """Keep running what extensions run in a process, by their names, until the block is left.

        What can't be started or stopped is logged with its traceback.

        Raises:
            MisconfiguredError: That of a required extension can't be started, or its settings
                can't be used.
        """
        async with AsyncExitStack() as stack:
            for each in self.loaded:
                name = each.extension.name
                try:
                    if name in running:
                        part = f"extension {name}: what it runs"
                        bounded = run_bounded(running[name], part, stop_s=BACKGROUND_STOP_S)
                        await stack.enter_async_context(bounded)
                except Exception as error:  # noqa: BLE001 - it may be anybody's code
                    self._report(each, error)
            yield

    @property
    def failed(self) -> list[OmittedExtension]:
        """The extensions that should be in use and aren't."""
        return [each for each in self.omitted if not each.is_chosen]


def setting_sections(settings: "Settings") -> "list[type[Section]]":
    """Return the classes of settings that the configured extensions have."""
    found = load_configured(settings).collect(lambda each: each.settings())
    return [kind for kind in found if kind is not None]


def check_sections(settings: "Settings") -> None:
    """Read the settings of all configured extensions.

    Raises:
        MisconfiguredError: Those of one can't be used, or the project has some that nobody reads.
    """
    from router.settings.project import check_tables, find_project, table_of

    sections = setting_sections(settings)
    for kind in sections:
        settings.section(kind)
    if (project := find_project()) is not None:
        tables: dict[str, set[str] | None] = {}
        for kind in sections:  # two extensions may have variables of the same prefix
            known = tables.setdefault(table_of(kind.prefix()), set()) or set()
            tables[table_of(kind.prefix())] = known | kind.model_fields.keys()
        tables |= {table_of(prefix): None for prefix in omitted_prefixes(settings)}
        check_tables(project, type(settings).model_fields, tables)


def omitted_prefixes(settings: "Settings") -> list[str]:
    """Return how the variables of extensions begin that aren't loaded.

    That of an extension which can't be imported is made from its name.
    """
    found = [f"ROUTER_{each.name.upper()}_" for each in load_configured(settings).omitted]
    for extension in load_omitted(settings).values():
        with suppress(Exception):  # `extensions` says why it isn't loaded
            section = extension.settings()
            found += [section.prefix()] if section else []
    return found


def load_omitted(settings: "Settings") -> dict[str, Extension]:
    """Return by name the installed extensions that aren't loaded, as far as they can be imported.

    They say what a deployment that leaves them out doesn't have. Use nothing else of them.
    """
    found: dict[str, Extension] = {}
    installed = {point.name: point for point in _installed()}
    for each in load_configured(settings).omitted:
        with suppress(Exception):  # `extensions` says why it isn't loaded
            found[each.name] = installed[each.name].load()()
    return found


def log_omissions(settings: "Settings") -> None:
    """Log each extension that should be in use and isn't, and names that can't be left out."""
    extensions = load_configured(settings)
    for each in extensions.failed:
        _log.error(
            "extension %s isn't in use: %s; `intent-router extensions` says more",
            each.name,
            each.reason,
        )
    for sentence in extensions.unknown:
        _log.warning("%s", sentence)


def import_packages(extension: Extension) -> list[ModuleType]:
    """Import the packages of an extension."""
    return [import_module(package) for package in extension.packages()]


def import_formats(extension: Extension) -> list[str]:
    """Import the packages with file formats of an extension, and return their names."""
    from router.documents.file_format import load_formats

    packages = [*extension.file_formats()]
    load_formats(packages)
    return packages


def register_flow_kinds(extension: Extension) -> None:
    """Register the slot types and kinds of states of an extension, all of them or none.

    Raises:
        ExtensionConflict: One has the name of another one, or lacks something.
    """
    from router.flow.registration import register_kinds

    types, kinds = [*extension.slot_types()], [*extension.state_kinds()]
    if not types and not kinds:
        return
    try:
        register_kinds(types, kinds)
    except TypeError as error:
        raise ExtensionConflict(str(error)) from error


def register_understanding_of(extension: Extension) -> None:
    """Register what flow files and messages are read by and an extension has, all of it or nothing.

    Raises:
        ExtensionConflict: One has the name of another one, or can't be used.
    """
    policies = [*extension.policies()]
    register_flow_kinds(extension)
    if policies:
        from router.flow.registration import unregister_kinds
        from router.understanding.reader import add_policies

        try:
            add_policies(policies, extension.name)
        except ExtensionConflict:
            unregister_kinds(extension.slot_types(), extension.state_kinds())
            raise


def register_understanding(settings: "Settings") -> None:
    """Register what flow files and messages are read by and extensions have."""
    load_configured(settings).collect(register_understanding_of)


def _find_fault(
    each: LoadedExtension, members: Iterable[Callable[[Extension], object]]
) -> OmittedExtension | None:
    """Return what is wrong with the first of these members that raises.

    What the settings say is wrong is no fault of the extension: whoever uses it is told.
    """
    from router.domain.errors import MisconfiguredError

    for member in members:
        try:
            member(each.extension)
        except MisconfiguredError:
            continue
        except Exception as error:  # noqa: BLE001 - it may be anybody's code
            return _fault(each, error)
    return None


def _fault(each: LoadedExtension, error: Exception) -> OmittedExtension:
    """Describe what an extension has raised."""
    name = each.extension.name
    if isinstance(error, ExtensionConflict):
        return OmittedExtension(name, each.distribution, str(error))
    reason = f"it can't be used: {type(error).__name__}: {error}"
    return OmittedExtension(name, each.distribution, reason, "".join(format_exception(error)))


@cache
def _installed() -> tuple[EntryPoint, ...]:
    return tuple(entry_points(group=ENTRY_POINT_GROUP))


def load_extensions(
    off: Collection[str] = (),
    required: Collection[str] = (),
    installed: Iterable[EntryPoint] | None = None,
) -> Extensions:
    """Import the installed extensions and put them in the order in which they start.

    Args:
        off: The names of extensions to leave out.
        required: The names of extensions without which the process must not start.
        installed: The entry points of all extensions; those of the environment by default.

    Raises:
        MisconfiguredError: A required extension can't be used.
    """
    found = sorted(_installed() if installed is None else installed, key=lambda each: each.name)
    candidates: dict[str, LoadedExtension] = {}
    omitted: list[OmittedExtension] = []
    for point in found:
        outcome = _load(point, off, candidates)
        if isinstance(outcome, LoadedExtension):
            candidates[outcome.extension.name] = outcome
        else:
            omitted.append(outcome)
    loaded, unsatisfied = _in_order(candidates)
    unknown = [_describe_unknown(name, found) for name in sorted({*off} - {p.name for p in found})]
    extensions = Extensions(loaded, [*omitted, *unsatisfied], required, unknown)
    _check_required(required, extensions.omitted)
    _check_installed(required, found)
    return extensions


def _describe_unknown(name: str, installed: Iterable[EntryPoint]) -> str:
    names = sorted(point.name for point in installed)
    close = get_close_matches(name, names, n=1)
    remedy = f"did you mean {close[0]}?" if close else f"there are: {', '.join(names) or 'none'}"
    return f"{_OFF}={name}: no installed extension has this name; {remedy}"


def load_configured(settings: "Settings") -> Extensions:
    """Load the installed extensions as the settings say, once a process.

    Raises:
        MisconfiguredError: A required extension can't be used.
    """
    return _loaded_once(frozenset(settings.extensions_off), frozenset(settings.required_extensions))


@cache
def _loaded_once(off: frozenset[str], required: frozenset[str]) -> Extensions:
    return load_extensions(off, required)


def _load(
    point: EntryPoint, off: Collection[str], candidates: dict[str, LoadedExtension]
) -> LoadedExtension | OmittedExtension:
    distribution = point.dist.name if point.dist else "?"
    if point.name in off:
        reason = f"{_OFF} names it"
        return OmittedExtension(point.name, distribution, reason, is_chosen=True)
    try:
        extension = point.load()()
    except Exception as error:  # noqa: BLE001 - it may be anybody's code
        reason = f"{point.value} can't be imported: {type(error).__name__}: {error}"
        return OmittedExtension(point.name, distribution, reason, "".join(format_exception(error)))
    if wrong := _fault_of(extension, point, candidates):
        return OmittedExtension(point.name, distribution, wrong)
    return LoadedExtension(extension, distribution)


def _fault_of(extension: Any, point: EntryPoint, candidates: dict[str, LoadedExtension]) -> str:
    if not isinstance(extension, Extension):
        return f"{point.value} is no subclass of router.extension.Extension; derive it from that"
    name = getattr(extension, "name", None)
    if name != point.name or not is_extension_name(point.name):
        return (
            f"{point.value} has the name {name!r} and its entry point the name {point.name!r}: "
            f"give both the same name, of {EXTENSION_NAME_RULE}"
        )
    if name in candidates:
        other = candidates[name].distribution
        return f"{other} has an extension of the same name; uninstall one of the two"
    return ""


def _in_order(
    candidates: dict[str, LoadedExtension],
) -> tuple[list[LoadedExtension], list[OmittedExtension]]:
    """Return the extensions after those that they require, and those that lack one."""
    loaded: dict[str, LoadedExtension] = {}
    waiting = dict(candidates)
    while ready := [
        name for name, each in waiting.items() if set(each.extension.requires) <= loaded.keys()
    ]:
        loaded |= {name: waiting.pop(name) for name in ready}
    lacking = [
        OmittedExtension(
            name,
            each.distribution,
            f"it requires {', '.join(sorted(set(each.extension.requires) - loaded.keys()))}, which "
            "isn't loaded: install it, or see why it was left out",
        )
        for name, each in waiting.items()
    ]
    return [*loaded.values()], lacking


def _check_required(required: Collection[str], omitted: Iterable[OmittedExtension]) -> None:
    """Raise `MisconfiguredError` if one that is left out is required."""
    for each in omitted:
        if each.name in required:
            _refuse_without(each.name, each.reason)


def _check_installed(required: Iterable[str], installed: Iterable[EntryPoint]) -> None:
    for name in {*required} - {point.name for point in installed}:
        _refuse_without(name, "no installed distribution has it; install one that does")


def _refuse_without(name: str, reason: str) -> NoReturn:
    from router.domain.errors import MisconfiguredError

    raise MisconfiguredError(f"{_REQUIRED}={name}: {reason}")
