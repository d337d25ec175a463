"""Where the sample company is: flows, skills, a Python package, a persona.

It is a project like any other. A clone has it in its root, and an installed router in `_sample`, so
that no name but the router's own can be imported. Only a deployment without a project uses it.
"""

import sys
from pathlib import Path

_ROUTER = Path(__file__).parents[1]
_SHIPPED = _ROUTER / "_sample"
SAMPLE_ROOT = _SHIPPED if _SHIPPED.is_dir() else _ROUTER.parent
"""The folder that has the folders of the sample company in it."""
SAMPLE_CODE = "company"
"""The import name of its Python package, and its folder."""


def sample_folder(name: str) -> Path:
    """Return a folder of the sample company, such as `flows`, whether or not it is there."""
    return SAMPLE_ROOT / name


def enable_sample_imports() -> bool:
    """Let Python import the sample company's package; return false if it was deleted."""
    if not sample_folder(SAMPLE_CODE).is_dir():
        return False
    if str(SAMPLE_ROOT) not in sys.path:
        sys.path.insert(0, str(SAMPLE_ROOT))
    return True
