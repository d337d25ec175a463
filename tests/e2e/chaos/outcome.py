"""What came of it, as a table."""

from collections import Counter
from dataclasses import dataclass, field

from tests.e2e.chaos.checker import Finding
from tests.e2e.chaos.crowd import Crowd
from tests.e2e.chaos.model import Wayward
from tests.e2e.chaos.records import Records

SHOWN = 700
"""Letters of a finding."""


@dataclass
class Outcome:
    """How often what happened, and what should never have."""

    blows: Counter[str]
    storm_seconds: float
    seconds: float = 0.0
    findings: list[Finding] = field(default_factory=list)
    records: Records | None = None
    rows: dict[str, object] = field(default_factory=dict)

    @property
    def good(self) -> bool:
        """True where nothing was lost, doubled, wrong or left behind."""
        return not self.findings

    def count(self, crowd: Crowd, unheard: int, model: Wayward, false_starts: list[int]) -> None:
        """Take down the figures."""
        desk, records = crowd.desk, self.records
        assert records is not None
        said = desk.said.values()
        acknowledged = [one for one in said if one.acknowledged]
        turns = {(r["conversation"], r["message_id"]) for r in records.log if r["kind"] == "turn"}
        self.rows = {
            "conversations": len(desk.opened),
            "  with OpenAI's clients": len(desk.chats),
            "messages sent": len(said),
            "  sent again": sum(len(one.statuses) > 1 for one in said),
            "  acknowledged": len(acknowledged),
            "  answered": sum((one.conversation, one.id) in turns for one in acknowledged),
            "decisions": desk.decisions,
            "requests without an answer": desk.retries,
            "turns that failed": desk.failed_turns,
            "  runs begun in them": unheard,
            "effects expected": _expected(crowd),
            "effects found": len(records.effects),
            "runs by end": _plainly(Counter(row["status"] for row in records.runs)),
            "listeners": len(desk.followers),
            "  events heard": sum(len(one.heard) for one in desk.followers),
            "model: right answers": model.right,
            "model: faults": f"{model.faults.total()} of {len(model.faults)} kinds",
            "starts before what they need": sum(false_starts),
        }

    def table(self) -> str:
        """Two columns, then what was found, one a line."""
        kinds = Counter(finding.kind for finding in self.findings)
        kills = Counter({k: n for k, n in self.blows.items() if k.startswith("kill")})
        rows = {
            "kills": _plainly(kills),
            "cut-offs": _plainly(self.blows - kills),
            **self.rows,
            "lost": kinds["lost"],
            "doubled": kinds["doubled"],
            "wrong": kinds["wrong"],
            "orphans": kinds["orphan"],
            "seconds": f"{self.seconds:.0f}, {self.storm_seconds:.0f} of them the storm",
        }
        lines = [f"{name:30}{value}" for name, value in rows.items()]
        return "\n".join(lines + [f"{finding}"[:SHOWN] for finding in self.findings])


def _expected(crowd: Crowd) -> str:
    """How many at least, and how many at most, where a race left it open."""
    least = sum(sum((+one.expected.calls).values()) for one in crowd.requests)
    least += sum(write.told_done for write in crowd.writes)
    perhaps = sum(one.expected.perhaps.total() for one in crowd.requests)
    perhaps += sum(not write.told_done for write in crowd.writes)
    return f"{least} to {least + perhaps}" if perhaps else str(least)


def _plainly(counts: Counter[str]) -> str:
    listed = ", ".join(f"{name} {count}" for name, count in sorted(counts.items()))
    return f"{counts.total()}: {listed}" if counts else "0"
