"""The shards of `make test-all`: each runs some modules of the suite, all of them run everything.

    python -m tests.shards next            print the shard that CI runs for this commit, as K/N
    python -m tests.shards passed K/N      note that the shard has passed on this commit
    python -m tests.shards show            print on which commit each shard last passed

CI runs one shard for each commit on main, in turn. It can't commit, so `passed` writes
`.ci/shards.tsv`, and whoever runs a shard commits the file.
"""

import re
import subprocess
import sys
import zlib
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

SHARDS = 5
ROOT = Path(__file__).parents[1]
PASSES = ROOT / ".ci" / "shards.tsv"


class Shard(NamedTuple):
    """The shard `number` of `total`; numbers begin with 1."""

    number: int
    total: int

    @classmethod
    def parse(cls, text: str) -> "Shard":
        """Read `2/4`.

        Raises:
            ValueError: The text isn't a number of as many shards or more.
        """
        found = re.fullmatch(r"([0-9]{1,3})/([0-9]{1,3})", text)
        if not found or not 1 <= int(found[1]) <= int(found[2]):
            raise ValueError(f"{text!r} is no shard: write 2/4 for the second of four")
        return cls(int(found[1]), int(found[2]))

    def __str__(self) -> str:
        return f"{self.number}/{self.total}"

    def has(self, module: Path) -> bool:
        """Return whether this shard runs a module of the suite: the same on every machine."""
        name = module.relative_to(ROOT).as_posix()
        return zlib.crc32(name.encode()) % self.total == self.number - 1


def next_shard() -> Shard:
    """Return the shard whose turn it is, by the number of commits."""
    return Shard(int(_git("rev-list", "--count", "HEAD")) % SHARDS + 1, SHARDS)


def note_pass(shard: Shard) -> None:
    """Write into `PASSES` that a shard has passed on this commit."""
    today = f"{datetime.now(UTC):%Y-%m-%d}"
    passes = {**_passes(), str(shard): f"{shard}\t{_git('rev-parse', '--short', 'HEAD')}\t{today}"}
    PASSES.write_text("".join(f"{line}\n" for _, line in sorted(passes.items())))


def _passes() -> dict[str, str]:
    lines = PASSES.read_text().splitlines() if PASSES.exists() else []
    return {line.split("\t")[0]: line for line in lines}


def _git(*words: str) -> str:
    command = ["git", "-C", str(ROOT), *words]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def main(words: list[str]) -> None:
    """Do what the words of the command line say."""
    match words:
        case ["next"]:
            print(next_shard())
        case ["passed", text]:
            note_pass(Shard.parse(text))
        case ["show"]:
            passes = _passes()
            for number in range(1, SHARDS + 1):
                _, commit, day = passes.get(f"{number}/{SHARDS}", "\tno commit\t").split("\t")
                print(f"shard {number}/{SHARDS} last passed on {commit} {day}".rstrip())
        case _:
            sys.exit(__doc__)


if __name__ == "__main__":
    main(sys.argv[1:])
