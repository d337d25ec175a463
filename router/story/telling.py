"""What became of stories, for whoever reads it: a line each, and why one failed."""

from collections.abc import Iterator
from dataclasses import dataclass

from router.story.judging import Mismatch, Standing, shown
from router.story.steps import AnyStep, Story


@dataclass(frozen=True)
class Divergence:
    """The first step at which a story went another way: it is the last of `steps`."""

    steps: tuple[AnyStep, ...]
    mismatch: Mismatch
    said: tuple[str, ...] = ()
    """What the desk had said since the last act."""
    standing: Standing | None = None
    gave_way: bool = False
    """What the story is played on failed here, not the story."""

    @property
    def step(self) -> AnyStep:
        """The one that failed."""
        return self.steps[-1]


@dataclass(frozen=True)
class Outcome:
    """What became of one story."""

    story: Story
    seconds: float
    divergence: Divergence | None = None
    earlier: Divergence | None = None
    """Where it was played before, on a stage that gave way."""

    @property
    def ok(self) -> bool:
        """True where all was as expected."""
        return self.divergence is None


def told(outcome: Outcome) -> Iterator[str]:
    """The story's line and, where it failed, the difference."""
    story, verdict = outcome.story, "ok" if outcome.ok else "failed"
    where = "" if outcome.ok else f"  {story.file}:{story.line}"
    yield f"{verdict:<6}  {outcome.seconds:5.2f} s  {story.name}{where}"
    if outcome.earlier is not None:
        yield f"    played again: the first time {' '.join(outcome.earlier.mismatch.found)}"
    if outcome.divergence is not None:
        yield from (f"    {line}" for line in _difference(story, outcome.divergence))


def _difference(story: Story, gone: Divergence) -> Iterator[str]:
    yield f"at {story.file}:{gone.step.line}: {gone.step}"
    yield from _marked("-", gone.mismatch.expected)
    yield from _marked("+", gone.mismatch.found)
    if gone.said and list(gone.said) != gone.mismatch.found:
        yield "the bot had said"
        yield from _marked("|", [line for said in gone.said for line in said.splitlines()])
    if len(gone.steps) > 1:
        yield "before it"
        yield from (f"  {step.line:>4}  {step}" for step in gone.steps[:-1])
    yield f"now {gone.standing or 'no flow was started'}"
    if gone.standing and gone.standing.slots:
        yield f"    {shown(dict(gone.standing.slots))}"


def _marked(mark: str, lines: list[str]) -> Iterator[str]:
    yield from (f"  {mark} {line}" for line in lines)
