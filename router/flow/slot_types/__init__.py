"""The types of slots, one class each.

Every module of this package is imported, and registers its types. Extensions have more.
"""

from importlib import import_module
from pkgutil import iter_modules

for _module in iter_modules(__path__):
    import_module(f"{__name__}.{_module.name}")

from router.flow.slot_types.slot import SLOT_TYPES  # noqa: E402 - it is filled above

CORE_SLOT_TYPES = frozenset(SLOT_TYPES)
"""The names of the types that every process has."""
