"""The table of model protocols: where each one is, by the name that settings have.

It imports no library of a provider, and no protocol before that is used.
"""

import importlib
import pkgutil
import re
from collections.abc import Mapping
from importlib.util import find_spec
from typing import Any

from router.domain.errors import MisconfiguredError
from router.domain.extension_names import EXTENSION_NAME_RULE, is_extension_name
from router.extension import Extension, ExtensionConflict

_CORE = "router.llm.protocols"
"""The package with a module for each protocol of the core."""


def _find_core() -> Mapping[str, str]:
    """Return the modules of the core's protocols by name, without importing their package."""
    spec = find_spec(_CORE)
    folders = spec.submodule_search_locations if spec else None
    return {found.name: f"{_CORE}.{found.name}" for found in pkgutil.iter_modules(folders)}


class ProtocolTable:
    """The protocols of a process by name, each imported when it is first used."""

    def __init__(self) -> None:
        self._targets: dict[str, str] = {}
        self.add(_find_core())

    def add_extension(self, extension: Extension) -> None:
        """Add the protocols of an extension, all of them or none; raises as `add`."""
        self.add(extension.model_protocols())

    def import_extension(self, extension: Extension) -> None:
        """Add the protocols of an extension and import each.

        Raises:
            ExtensionConflict: One can't be added, imported or used.
        """
        targets = extension.model_protocols()
        self.add(targets)
        for name in targets:
            try:
                self.find(name)
            except MisconfiguredError as error:
                raise ExtensionConflict(str(error)) from error

    def add(self, targets: Mapping[str, str]) -> None:
        """Register protocols, all of them or none.

        Args:
            targets: By name, `package.module`, or `package.module:attribute`.

        Raises:
            ExtensionConflict: There is a protocol of that name, or it can't be one.
        """
        for name, target in targets.items():
            if not is_extension_name(name):
                raise ExtensionConflict(
                    f"its model protocol has the name {name!r:.80}: give it one of "
                    f"{EXTENSION_NAME_RULE}"
                )
            if name in self._targets:
                raise ExtensionConflict(
                    f"there is a model protocol {name!r} already, {self._targets[name]}; "
                    "give its own another name"
                )
            if not isinstance(target, str) or not _TARGET.fullmatch(target):
                raise ExtensionConflict(
                    f"its model protocol {name} is {target!r:.80}: write where it is, as in "
                    "acme_models.wire:PROTOCOL"
                )
        self._targets.update(targets)

    @property
    def names(self) -> list[str]:
        """The names of all protocols."""
        return sorted(self._targets)

    def find(self, name: str) -> Any:
        """Import a protocol, which has what `router.llm.protocols.ModelProtocol` names.

        Raises:
            MisconfiguredError: There is none of this name, or it can't be used.
        """
        if name not in self._targets:
            there = ", ".join(self.names)
            raise MisconfiguredError(f"there is no protocol {name!r}; there are: {there}")
        target = self._targets[name]
        module, _, attribute = target.partition(":")
        try:
            found: Any = importlib.import_module(module)
            found = getattr(found, attribute) if attribute else found
        except Exception as error:
            raise MisconfiguredError(
                f"the protocol {name} can't be used, since {target} can't be imported: "
                f"{type(error).__name__}: {error}"
            ) from error
        if target.startswith(f"{_CORE}."):
            return found
        from router.llm.wire_protocol import guard_protocol

        return guard_protocol(found, f"the protocol {name} of {target}")


_TARGET = re.compile(r"[A-Za-z_][\w.]*(:[A-Za-z_]\w*)?")
_IN_USE: list[ProtocolTable] = []
"""At most one: the table of this process."""


def use_protocols(table: ProtocolTable) -> None:
    """Let models be asked in the protocols of this table, in the whole process."""
    _IN_USE[:] = [table]


def protocols_in_use() -> ProtocolTable:
    """Return the table of this process: the protocols of the core until others were loaded."""
    if not _IN_USE:
        use_protocols(ProtocolTable())
    return _IN_USE[0]
