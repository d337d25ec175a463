"""The chat platforms that there are, a module each: see `router.channels.registry`."""

import pkgutil

from router.settings import PREFIX

NAMES = tuple(module.name for module in pkgutil.iter_modules(__path__))
"""Of their modules, none of which is imported by this."""
PREFIXES = tuple(f"{PREFIX}{name.upper()}_" for name in NAMES)
"""What the variables of each begin with."""
