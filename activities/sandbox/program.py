"""What a script is to be run by."""

import re
from pathlib import PurePosixPath
from typing import Literal

from router.domain.errors import ArgumentsToolError

Program = Literal["python", "sh", "bash"]

_BY_NAME: dict[bytes, Program] = {b"python": "python", b"sh": "sh", b"bash": "bash"}
_BY_SUFFIX: dict[str, Program] = {".py": "python", ".sh": "sh"}
_SHEBANG = re.compile(
    rb"#!\s*(?:\S*/env\s+(?:-S\s+)?)?(?:\S*/)?(python|sh|bash)(?:3(?:\.\d+)?)?[\s$]"
)


def program_of(path: str, content: bytes) -> Program:
    r"""Python or a shell, by the script's first line or else by its suffix.

    Raises `ArgumentsToolError` where it is neither.

    >>> program_of("scripts/sum", b"#!/usr/bin/env python3\n")
    'python'
    """
    said = _SHEBANG.match(content[:200] + b"\n")
    if said is not None:
        return _BY_NAME[said[1]]
    suffix = PurePosixPath(path).suffix
    if suffix not in _BY_SUFFIX or content.startswith(b"#!"):
        raise ArgumentsToolError(f"path: {path} is a script of neither Python nor sh")
    return _BY_SUFFIX[suffix]
