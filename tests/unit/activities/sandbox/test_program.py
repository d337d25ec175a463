"""What a script is run by."""

import asyncio
import tempfile
from pathlib import Path

import pytest

from activities.sandbox import Bubblewrap, Script, program_of
from router.domain.errors import ArgumentsToolError, PermanentToolError
from tests.table import each_row


@each_row(
    ("path", "content", "program"),
    [
        ("scripts/a.py", b"print(1)", "python"),
        ("scripts/a.sh", b"echo 1", "sh"),
        ("scripts/a", b"#!/usr/bin/env python3\nprint(1)", "python"),
        ("scripts/a", b"#!/usr/bin/python3.11 -u\n", "python"),
        ("scripts/a", b"#! /bin/sh -e\n", "sh"),
        ("scripts/a.sh", b"#!/bin/bash\r\n", "bash"),
        ("scripts/a.sh", b"#!/usr/bin/env -S bash", "bash"),
        ("scripts/empty.py", b"", "python"),
    ],
)
def test_the_first_line_says_it_or_else_the_suffix(path: str, content: bytes, program: str) -> None:
    assert program_of(path, content) == program


@each_row(
    ("path", "content"),
    [
        ("scripts/a", b"print(1)"), ("scripts/a.js", b"console.log(1)"),
        ("scripts/a.py", b"#!/usr/bin/env node\n"), ("scripts/a", b"#!/usr/bin/env pythonesque\n"),
        ("scripts/a", b"\x7fELF"), ("scripts/a", b"\n#!/bin/sh"),
    ],
)  # fmt: skip
def test_what_is_neither_python_nor_a_shell_is_refused(path: str, content: bytes) -> None:
    with pytest.raises(ArgumentsToolError, match="neither Python nor sh"):
        program_of(path, content)


@pytest.mark.parametrize(
    "path", ["../escaped", "a/../../escaped", "{outside}/escaped", "a//b", "./a", "a\0b", "", "a/b"]
)
def test_no_file_is_laid_out_outside_its_folder(
    path: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    path = path.format(outside=tmp_path)
    files = {"a": b"", path: b"x"}
    with pytest.raises(PermanentToolError, match="isn't laid out"):
        asyncio.run(Bubblewrap().run(Script("a", "python"), files))
    assert [*tmp_path.iterdir()] == []
