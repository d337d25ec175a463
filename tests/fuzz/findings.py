"""What was found at an entrance, as files that stay: the input, and beside it what it breaks."""

import asyncio
import hashlib
import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from pathlib import Path

from tests.fuzz.entrance import Entrance, entrances
from tests.fuzz.trial import Broken, Trial


@dataclass
class Report:
    """What came of an hour, or a part of one, at an entrance."""

    entrance: str
    executions: int = 0
    coverage: int = 0
    """Edges of our bytecode that were reached, as `atheris` counts them."""
    findings: list[str] = field(default_factory=list)
    """The files that they were written to."""
    longest_stop: float = 0.0
    """Seconds of processor time."""
    memory: int = 0
    """Bytes that its process had at most."""
    seconds: float = 0.0
    ended: str = ""
    """What its process died of, where it did."""

    def write(self, path: Path) -> None:
        """Keep it as JSON, whole or not at all."""
        part = path.with_suffix(".part")
        part.write_text(json.dumps(asdict(self)), "utf-8")
        part.replace(path)

    @classmethod
    def read(cls, path: Path) -> "Report":
        """One that was kept."""
        return cls(**json.loads(path.read_text("utf-8")))


def keep(folder: Path, entrance: str, data: bytes, broken: Broken) -> Path:
    """Write a finding into the folder; the input's file."""
    folder.mkdir(parents=True, exist_ok=True)
    name = f"{broken.promise.replace(' ', '-')}-{hashlib.sha256(data).hexdigest()[:12]}"
    path = folder / f"{entrance}-{name}"
    path.write_bytes(data)
    again = f"python -m tests.fuzz --entrance {entrance} --replay {path}"
    told = f"{broken.promise}: {broken.said}\n{again}\n"
    path.with_name(f"{path.name}.txt").write_text(told, "utf-8")
    return path


async def replay(entrance: Entrance, inputs: Iterable[bytes]) -> list[tuple[bytes, Broken]]:
    """What doesn't hold of these inputs, tried one after the other."""
    found: list[tuple[bytes, Broken]] = []
    async with entrance.open() as take:
        trial = Trial(entrance, take)
        with trial.running():
            for data in inputs:
                found += [(data, broken) for broken in await trial.attempt(data)]
                trial.settled = True
    return found


def replayed(name: str, paths: Iterable[Path]) -> int:
    """Print what these files break at an entrance; how many of them."""
    entrance = entrances()[name]
    # Once before: what is loaded at first sight is no input's doing.
    first = next(iter(entrance.seeds()), b"")
    found = asyncio.run(replay(entrance, [first, *(path.read_bytes() for path in paths)]))
    for data, broken in found:
        print(f"{broken.promise}: {broken.said}\n    {data[:200]!r}")
    return len(found)
