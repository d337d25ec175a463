"""What a command of `new` has to say."""

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from router.cli.starting_points.files import NewFile


@dataclass(frozen=True)
class Written:
    """New files, and the commands to go on with."""

    files: Sequence[NewFile]
    commands: Sequence[str]
    remark: str = ""


def with_setting(command: str, setting: tuple[str, Path] | None) -> str:
    """The command, with the setting before it without which it wouldn't find the new files.

    >>> with_setting("intent-router route hello", ("ROUTER_FLOWS", Path("flows")))
    'ROUTER_FLOWS=flows intent-router route hello'
    """
    if setting is None:
        return command
    name, value = setting
    return f"{name}={shlex.quote(str(value))} {command}"
