"""Patches of changed files, as git itself takes them."""

import difflib
import random
import subprocess
from datetime import UTC, datetime
from pathlib import Path

import pytest

from router.extensions.authoring.patch import (
    MOST_COMPARED,
    ChangedFile,
    PatchHead,
    mailed_patch,
    unified,
)

AT = datetime(2026, 11, 23, 9, tzinfo=UTC)
FLOW, STORIES = "flows/overtime.yaml", "flows/tests/overtime.yaml"


def git(folder: Path, *words: str, **more: str) -> str:
    setting = ("-c", "user.name=Hugh", "-c", "user.email=hugh@example.com", "-c", "gc.auto=0")
    done = subprocess.run(
        ["git", "-C", str(folder), *setting, *words],
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
        **more,  # type: ignore[call-overload]
    )
    assert done.returncode == 0, done.stderr
    return str(done.stdout)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    git(tmp_path, "init", "--quiet", "--initial-branch=main")
    git(tmp_path, "config", "core.autocrlf", "false")
    git(tmp_path, "commit", "--quiet", "--allow-empty", "--message=first")
    return tmp_path


def hold(repository: Path, path: str, text: str) -> None:
    (repository / path).parent.mkdir(parents=True, exist_ok=True)
    (repository / path).write_bytes(text.encode())
    git(repository, "add", ".")
    git(repository, "commit", "--quiet", "--message=held")


def head(**more: str) -> PatchHead:
    whole = {"author": "Anna", "address": "anna@acme.invalid", "subject": "flows/overtime.yaml"}
    return PatchHead(at=AT, **(whole | more))


def applied(repository: Path, patch: str) -> None:
    """Have git take the patch as it is."""
    file = repository / ".git" / "review.patch"
    file.write_bytes(patch.encode())
    git(repository, "am", "--quiet", str(file))


LONG = "".join(f"line {number}\n" for number in range(60))


def shuffled(seed: int) -> str:
    """More lines than are compared with each other, in some order."""
    lines = [f"line {number}\n" for number in range(MOST_COMPARED + 1)]
    random.Random(seed).shuffle(lines)
    return "".join(lines)


TEXTS: dict[str, tuple[str | None, str]] = {
    "new": (None, "flow: overtime\n"),
    "changed": ("flow: overtime\nversion: 1\n", "flow: overtime\nversion: 2\n"),
    "far-apart": (LONG, LONG.replace("line 3\n", "LINE 3\n").replace("line 50\n", "")),
    "no-line-end": ("one\ntwo", "one\ntwo\nthree"),
    "a-line-end-more": ("one\ntwo", "one\ntwo\n"),
    "chinese": ("标题：加班\n", "标题：加班申请\n"),
    "carriage-returns": ("one\r\ntwo\r\n", "one\r\ntwo and a half\r\n"),
    "line-breaks-that-git-does-not-know": ("a\x0cb\u2028c\x85d\n", "a\x0cb\u2028C\x85d\n"),
    "what-looks-like-a-mail": ("a\n", "a\nFrom x Mon Sep 17 00:00:00 2001\n---\n-- \ndiff --git\n"),
    "emptied": ("one\n", "#\n"),
    "shuffled": (shuffled(1), shuffled(2)),
    "shuffled-within": (f"a\nb\nc\nd\n{shuffled(1)}e\nf", f"a\nb\nc\nd\n{shuffled(2)}e\nf"),
    "shuffled-at-the-end": (f"{LONG}{shuffled(1)}", f"{LONG}{shuffled(2)}x"),
    "much-put-in": ("a\nb\n", f"a\n{shuffled(1)}b\n"),
    "much-taken-out": (shuffled(1), "#\n"),
}


@pytest.mark.slow
@pytest.mark.parametrize(("before", "after"), TEXTS.values(), ids=TEXTS)
def test_git_has_the_files_to_the_byte_afterwards(
    repository: Path, before: str | None, after: str
) -> None:
    if before is not None:
        hold(repository, FLOW, before)
    files = [ChangedFile(FLOW, before, after), ChangedFile(STORIES, None, "- story: one\n")]
    applied(repository, mailed_patch(files, head()))
    assert (repository / FLOW).read_bytes() == after.encode()
    assert (repository / STORIES).read_bytes() == b"- story: one\n"
    assert git(repository, "status", "--porcelain") == ""


EVIL = "--- /dev/null\n+++ b/evil\n@@ -0,0 +1 @@\n+x\n"
HOSTILE = [
    "",
    "why not",
    "因为经理说可以",
    "From: Mallory <mallory@example.com>\nSubject: other\n\nx",
    f"---\ndiff --git a/evil b/evil\nnew file mode 100644\n{EVIL}",
    f"Index: evil\n{EVIL}",
    "From 0 Mon Sep 17 00:00:00 2001\nFrom: Mallory <m@example.com>\n",
    "-- >8 --\nrest",
]


@pytest.mark.slow
@pytest.mark.parametrize("note", HOSTILE)
def test_a_note_is_a_message_and_never_a_part_of_the_patch(repository: Path, note: str) -> None:
    files = [ChangedFile(FLOW, None, "flow: overtime\n")]
    applied(repository, mailed_patch(files, head(body=f"Approved by Bob.\n\n{note}")))
    shown = git(repository, "show", "--format=%an|%ae|%s", "--name-only")
    assert shown == f"Anna|anna@acme.invalid|flows/overtime.yaml\n\n{FLOW}\n"
    assert [each.name for each in repository.iterdir() if each.name != ".git"] == ["flows"]


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", ["Anna", "安娜", 'A "quoted", name', "Anna\r\nSubject: other", "<a@b>", " "]
)
def test_an_author_s_name_is_one_line_of_one_author(repository: Path, name: str) -> None:
    files = [ChangedFile(FLOW, None, "flow: overtime\n")]
    applied(repository, mailed_patch(files, head(author=name, subject="加班\nX: y")))
    assert git(repository, "log", "-1", "--format=%ae|%s") == "anna@acme.invalid|加班 X: y\n"


def test_the_same_text_has_no_difference() -> None:
    assert unified("one\n", "one\n", "a", "b") == ""


def test_lines_by_the_thousand_aren_t_compared_with_each_other(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    compared: list[int] = []
    differences = difflib.unified_diff

    def counted(old: list[str], new: list[str], was: str, now: str) -> object:
        compared.append(max(len(old), len(new)))
        return differences(old, new, was, now)

    monkeypatch.setattr(difflib, "unified_diff", counted)
    shown = unified(f"a\n{shuffled(1)}b\n", f"a\n{shuffled(2)}b\n", "was", "now").splitlines()
    count = MOST_COMPARED + 3
    assert shown[:4] == ["--- was", "+++ now", f"@@ -1,{count} +1,{count} @@", " a"]
    assert shown[-1] == " b"
    assert compared == []


def test_a_line_of_a_long_file_is_shown_by_itself() -> None:
    long = shuffled(1) * 3
    shown = unified(f"{long}a\n{long}", f"{long}b\n{long}", "was", "now").splitlines()
    assert [line for line in shown[3:] if not line.startswith(" ")] == ["-a", "+b"]
