"""How extensions, and the things that they add by name, may be called.

The same rule holds for an extension, a source of tools, a protocol of models and a type of slots.
"""

import re

EXTENSION_NAME_PATTERN = r"[a-z][a-z0-9_]{0,39}"
EXTENSION_NAME_RULE = "up to 40 lower-case letters, digits and _, a letter first"
_NAME = re.compile(EXTENSION_NAME_PATTERN)


def is_extension_name(name: object) -> bool:
    """Return whether an extension, or a thing that it adds, may have this name.

    >>> is_extension_name("acme_badges"), is_extension_name("Badges"), is_extension_name(None)
    (True, False, False)
    """
    return isinstance(name, str) and _NAME.fullmatch(name) is not None
