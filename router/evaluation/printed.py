"""The figures as a terminal shows them."""

from collections.abc import Iterator, Sequence

from router.evaluation.figures import Figures, LabelFigures
from router.evaluation.results import Result
from router.evaluation.templates import percent

MOST_WRONG = 20
"""Wrong lines that are printed; the report has all of them."""

_LONGEST_TEXT = 60


def printed(figures: Figures, results: Sequence[Result]) -> str:
    """A table of the labels, what is wrong, and a line for each further number."""
    wrong = [result for result in results if not result.is_right]
    parts = [_labels(figures.labels), _wrong(wrong), _numbers(figures)]
    return "\n\n".join("\n".join(lines) for lines in map(list, parts) if lines)


def _labels(labels: Sequence[LabelFigures]) -> Iterator[str]:
    if not labels:
        return
    width = max(5, *(len(row.label) for row in labels))
    yield f"{'label':<{width}}  {'lines':>5} {'precision':>9} {'recall':>7} {'F1':>7}"
    for row in labels:
        shares = f"{percent(row.precision):>9} {percent(row.recall):>7} {percent(row.f1):>7}"
        yield f"{row.label:<{width}}  {row.support:>5} {shares}"


def _wrong(wrong: Sequence[Result]) -> Iterator[str]:
    for result in wrong[:MOST_WRONG]:
        text = " ".join(result.labelled.line.text.split())
        shown = text if len(text) <= _LONGEST_TEXT else f"{text[: _LONGEST_TEXT - 1]}…"
        tap = ", and offered it" if result.is_one_tap_away else ""
        yield f"line {result.labelled.number}: {result.label}, came to {result.got}{tap}: {shown}"
    if len(wrong) > MOST_WRONG:
        yield f"and {len(wrong) - MOST_WRONG} more; --report lists all of them"


def _numbers(figures: Figures) -> Iterator[str]:
    seconds, usage = figures.seconds, figures.usage
    if figures.accuracy.of:
        accuracy, tap = figures.accuracy, figures.one_tap_away
        of = f"{accuracy.right} of {accuracy.of}; {tap} more offered"
        yield f"accuracy    {percent(accuracy.share)} ({of})"
    if figures.nearest.of:
        near, among = figures.nearest, figures.preselected
        yield (
            f"selection   {percent(near.share)} nearest, {percent(among.share)} among the "
            f"candidates, of {near.of} lines that were searched"
        )
    for name, tally in figures.slots.items():
        yield f"slot        {percent(tally.share)} ({tally.right} of {tally.of}) {name}"
    if figures.entities.of:
        exact = figures.entities
        yield f"entities    {percent(exact.share)} ({exact.right} of {exact.of} lines exact)"
    yield "decided by  " + ", ".join(f"{by} {count}" for by, count in figures.by.items())
    yield (
        f"model       {usage.llm_calls} calls, {usage.prompt_tokens} + "
        f"{usage.completion_tokens} tokens"
        + (f"; {figures.unanswered} lines without an answer" if figures.unanswered else "")
    )
    yield (
        f"seconds     {seconds.total:.1f}; a line p50 {seconds.p50:.3f}, p95 {seconds.p95:.3f}, "
        f"longest {seconds.longest:.3f}"
    )
