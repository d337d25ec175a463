"""The release that one comes from: its tag, and its tree in a folder of its own."""

import subprocess
from pathlib import Path

ROOT = Path(__file__).parents[2]
TAGS = "v[0-9]*"


def tag() -> str:
    """The newest tag of a release that this tree comes after.

    Before the first it is the commit at which the histories of `tests/replays` were recorded last:
    what is under way has to go on from there.
    """
    words = ["git", "describe", "--tags", "--abbrev=0", f"--match={TAGS}", "HEAD~1"]
    described = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False)
    return described.stdout.strip() or git("log", "-1", "--format=%H", "--", "tests/replays/*.json")


def git(*words: str) -> str:
    """What git says of this tree; `AssertionError` where it refuses, or isn't there."""
    ended = subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, f"git {words[0]}: {ended.stderr}"
    return ended.stdout.strip()


def tree(commit: str, folder: Path) -> Path:
    """Its files, in this folder, which is made."""
    folder.mkdir()
    archive = ["git", "archive", commit]
    packed = subprocess.run(archive, cwd=ROOT, capture_output=True, check=False)
    assert packed.returncode == 0, f"there is no {commit} here, fetch it: {packed.stderr.decode()}"
    subprocess.run(["tar", "--extract"], cwd=folder, check=True, input=packed.stdout)
    return folder
