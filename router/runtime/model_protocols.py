"""The protocols in which models may be asked: those of the core and of extensions."""

from collections.abc import Iterable

from router.domain.errors import MisconfiguredError, nearest
from router.llm.protocol_table import ProtocolTable, use_protocols
from router.runtime.extensions import load_configured
from router.settings import Fallback, RoleModel, Settings


def load_protocols(settings: Settings) -> ProtocolTable:
    """Let models be asked in the protocols of the core and of the configured extensions.

    Raises:
        MisconfiguredError: The settings name a protocol that there isn't.
    """
    table = ProtocolTable()
    load_configured(settings).collect(table.add_extension)
    for setting, name in _named(settings):
        if name not in table.names:
            remedy = nearest(name, table.names) or f"there are: {', '.join(table.names)}"
            raise MisconfiguredError(
                f"ROUTER_{setting.upper()} names the protocol {name!r}, which there isn't: "
                f"{remedy}; `intent-router extensions` says which extensions are left out"
            )
    use_protocols(table)
    return table


def _named(settings: Settings) -> list[tuple[str, str]]:
    """Return the protocols that settings name, each with the setting."""
    models: dict[str, Iterable[RoleModel | Fallback]] = {
        "llm_fallbacks": settings.llm_fallbacks,
        "llm_roles": settings.llm_roles.values(),
        "llm_escalate": [settings.llm_escalate] if settings.llm_escalate else [],
        "llm_thrift": settings.llm_thrift,
    }
    named = [(setting, each.protocol) for setting, found in models.items() for each in found]
    return [("llm_protocol", settings.llm_protocol), *((s, name) for s, name in named if name)]
