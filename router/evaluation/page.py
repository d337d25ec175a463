"""The report: a page for people, and the same numbers for programs."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

from markupsafe import Markup

from router.evaluation.figures import Figures, Tally
from router.evaluation.picture import svg_of
from router.evaluation.results import Result
from router.evaluation.templates import rendered


@dataclass(frozen=True)
class About:
    """What was evaluated, when and how."""

    file: str
    at: datetime
    model: str | None
    """The model that decided; None where none did."""
    user: str
    """Who said what no line says who said it."""
    repeated: int = 0
    """Lines that only repeat another, and weren't counted."""


def page_of(about: About, figures: Figures, results: Sequence[Result]) -> str:
    """The report as one HTML page that asks nothing of any server."""
    return rendered(
        "report.html",
        about=about,
        figures=figures,
        wrong=[result for result in results if not result.is_right],
        slips=list(slips_of(results)),
        picture=Markup(svg_of(figures)) if figures.confusion else None,  # noqa: S704 - ours, escaped
    )


def slips_of(results: Sequence[Result]) -> list[tuple[Result, str, Any, Any]]:
    """Where a line went right and a value didn't: the result, what, expected and understood."""
    slips: list[tuple[Result, str, Any, Any]] = []
    for result in results:
        line = result.labelled.line
        for path, right in result.slots.items():
            if result.is_right and not right:
                slips.append((result, path, line.slots[path], result.value(path)))
        if result.entities_are_right is False:
            slips.append((result, "entities", _plain(line.entities), _plain(result.scored)))
    return slips


def report_of(about: About, figures: Figures, results: Sequence[Result]) -> dict[str, Any]:
    """The report as JSON."""
    return {
        "about": {**asdict(about), "at": about.at.isoformat(timespec="seconds")},
        "lines": figures.lines,
        "accuracy": _tally(figures.accuracy),
        "one_tap_away": figures.one_tap_away,
        "labels": {
            row.label: {
                "support": row.support,
                "got": row.got,
                "right": row.right,
                "precision": row.precision,
                "recall": row.recall,
                "f1": row.f1,
            }
            for row in figures.labels
        },
        "confusion": figures.confusion,
        "nearest": _tally(figures.nearest),
        "preselected": _tally(figures.preselected),
        "slots": {name: _tally(tally) for name, tally in figures.slots.items()},
        "entities": _tally(figures.entities),
        "by": figures.by,
        "usage": figures.usage.model_dump(),
        "unanswered": figures.unanswered,
        "seconds": asdict(figures.seconds),
        "results": [_result(result) for result in results],
    }


def _tally(tally: Tally) -> dict[str, Any]:
    return {"right": tally.right, "of": tally.of, "share": tally.share}


def _result(result: Result) -> dict[str, Any]:
    return {
        "line": result.labelled.number,
        "text": result.labelled.line.text,
        "label": result.label,
        "got": result.got,
        "right": result.is_right,
        "by": result.by,
        "offered": result.is_one_tap_away,
        "rank": result.rank,
        "reason": result.reason,
        "slots": result.slots,
        "usage": result.usage.model_dump(),
        "seconds": round(result.seconds, 4),
    }


def _plain(entities: Any) -> list[dict[str, Any]]:
    return [entity.model_dump() for entity in entities or ()]
