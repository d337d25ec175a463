"""Thresholds in a JSON file: what `intent-router eval --fit` writes and ROUTER_THRESHOLDS names.

{"known": 0.43, "needs_tool": 0.08, "margin": 0.61}
"""

import json
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

from router.domain.errors import MisconfiguredError
from router.selection.selected import Thresholds

MOST = 1000
"""No probability, and no margin in standard deviations, comes near it."""

_NAMES = tuple(field.name for field in fields(Thresholds))
_REMEDY = "write it anew with `intent-router eval FILE --fit DEV`, or take ROUTER_THRESHOLDS out"


def read_thresholds(path: Path) -> Thresholds:
    """The thresholds in the file; the default's for those that it leaves out.

    Raises:
        MisconfiguredError: there is no such file, or it holds anything else.
    """
    try:
        content = json.loads(path.read_bytes())
    except OSError as error:
        raise _unusable(path, f"can't be read ({error.strerror})") from None
    except (ValueError, RecursionError) as error:
        raise _unusable(path, f"isn't JSON ({error})") from None
    if not isinstance(content, dict):
        raise _unusable(path, f"holds {type(content).__name__}, not an object")
    for name, value in content.items():
        _check(path, name, value)
    return Thresholds(**{name: float(value) for name, value in content.items()})


def write_thresholds(path: Path, thresholds: Thresholds) -> None:
    """Keep them in the file, in place of what it held.

    Raises:
        MisconfiguredError: the file can't be written.
    """
    bounded = {name: min(value, MOST) for name, value in asdict(thresholds).items()}
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(bounded, indent=2) + "\n", encoding="utf-8")
    except OSError as error:
        raise MisconfiguredError(
            f"{path} can't be written ({error.strerror}): set ROUTER_THRESHOLDS to a file that can"
        ) from None


def _check(path: Path, name: str, value: Any) -> None:
    if name not in _NAMES:
        raise _unusable(path, f"has {name!r}, and there are {', '.join(_NAMES)}")
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not is_number or not 0 <= value <= MOST:
        raise _unusable(
            path, f"has {name} = {str(value)[:40]}, which has to be a number, 0 to {MOST}"
        )


def _unusable(path: Path, what: str) -> MisconfiguredError:
    return MisconfiguredError(f"ROUTER_THRESHOLDS={path} {what}: {_REMEDY}")
