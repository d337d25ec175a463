"""Evaluating a file: reading it, routing every line, printing and writing what came of it."""

import json
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

import typer

from router.cli.explaining import moment
from router.cli.gathering import gather
from router.cli.people import person
from router.cli.rehearsal import Rehearsal, check_model, known_of, rehearsing
from router.cli.trial import Trial
from router.directory.sources import people_of
from router.domain.errors import InvalidInput, RouterError
from router.evaluation.figures import Figures, figures_of
from router.evaluation.fitting import judged
from router.evaluation.lines import Known, Labelled, LabelledFile, read_labelled
from router.evaluation.page import About, page_of, report_of
from router.evaluation.picture import svg_of
from router.evaluation.printed import printed
from router.evaluation.results import Result
from router.selection.fitting import fitted_thresholds
from router.selection.threshold_file import write_thresholds
from router.settings import Settings

FEW = 50
"""Thresholds that were fitted to fewer lines say more about these than about others."""


@dataclass(frozen=True)
class Options:
    """What the command was asked for."""

    file: Path
    report: Path | None = None
    user: str = "alice"
    now: str | None = None
    llm: bool | None = None
    """None: as configured."""
    split: str | None = None
    at_least: float | None = None
    fit: Path | None = None
    from_log: bool = False


async def evaluation(settings: Settings, options: Options) -> None:
    """Evaluate as the options say.

    Raises:
        RouterError: a file or setting can't be used, or the accuracy is too low.
    """
    speaker = person(settings, options.user)
    moment(options.now, speaker.timezone)
    with_model = bool(settings.models) if options.llm is None else options.llm
    if with_model:
        check_model(settings)
    if options.report:
        _made(options.report)
    if options.from_log:
        typer.echo(await gather(settings, speaker.tenant, options.file))
    reader = _Reader.of(settings)
    file = reader.read(options.file, options.split)
    if options.fit:
        settings = await _fitted(settings, options, reader.read(options.fit))
    async with rehearsing(settings, with_model=with_model) as rehearsal:
        results = await _trial(settings, options, rehearsal, file.lines).results(file.lines, _tick)
    figures = figures_of(results)
    typer.echo(printed(figures, results))
    if options.report:
        model = settings.models[0].model if with_model else None
        at = datetime.now(UTC).astimezone()
        about = About(str(options.file), at, model, speaker.id, len(file.repeated))
        _write(options.report, about, figures, results)
        typer.echo(f"report      {options.report / 'report.html'}")
    _check(figures, options)


def _trial(
    settings: Settings, options: Options, rehearsal: Rehearsal, lines: Sequence[Labelled]
) -> Trial:
    people = {one.id: one for one in people_of(settings).everyone()}
    labels = frozenset(one.line.label for one in lines if one.line.label is not None)
    return Trial(rehearsal, people, options.user, options.now, labels)


@dataclass(frozen=True)
class _Reader:
    """Reads labelled files, all before anything is fitted or routed."""

    known: Known

    @classmethod
    def of(cls, settings: Settings) -> "_Reader":
        people = people_of(settings).everyone()
        return cls(known_of(settings, frozenset(one.id for one in people)))

    def read(self, path: Path, split: str | None = None) -> LabelledFile:
        try:
            content = path.read_bytes()
        except OSError as error:
            raise InvalidInput(
                f"{path} can't be read ({error.strerror}): name a file of labelled messages"
            ) from None
        file = read_labelled(content, str(path), self.known)
        if split is None:
            return file
        chosen = [one for one in file.lines if one.line.split == split]
        if not chosen:
            there = ", ".join(sorted({str(one.line.split) for one in file.lines}))
            raise InvalidInput(f"--split {split!r} is on no line of {path}: it has {there}")
        return LabelledFile(chosen, file.repeated)


async def _fitted(settings: Settings, options: Options, file: LabelledFile) -> Settings:
    """The settings with thresholds fitted to these lines, and kept in a file."""
    target = settings.thresholds or settings.data / "thresholds.json"
    plain = settings.model_copy(update={"thresholds": None})
    async with rehearsing(plain) as rehearsal:
        trial = _trial(settings, options, rehearsal, file.lines)
        names = frozenset(capability.name for capability in rehearsal.offered.everything())
        found = [(one.line.label, await trial.found(one)) for one in file.lines]
        rows = [judged(label, one, names) for label, one in found if label and one]
    if not any(row.wanted for row in rows):
        raise InvalidInput(
            f"--fit {options.fit} has no line that is for a capability and that no rule takes: "
            "add messages that are put unusually, labelled with what they mean"
        )
    thresholds = fitted_thresholds(rows)
    write_thresholds(target, thresholds)
    shown = ", ".join(f"{name} {value:.3g}" for name, value in asdict(thresholds).items())
    few = f" (few: take {FEW} or more)" if len(rows) < FEW else ""
    typer.echo(f"thresholds  {shown}: fitted to {len(rows)} lines that no rule takes{few}")
    use = "" if settings.thresholds else f"; set ROUTER_THRESHOLDS={target} to use them"
    typer.echo(f"            written to {target}{use}\n")
    return settings.model_copy(update={"thresholds": target})


def _made(folder: Path) -> None:
    """Before anything is routed: a model's answers may be paid for."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise _unwritable(folder, error) from None


def _write(folder: Path, about: About, figures: Figures, results: Sequence[Result]) -> None:
    numbers = json.dumps(report_of(about, figures, results), ensure_ascii=False, indent=2)
    try:
        (folder / "report.html").write_text(page_of(about, figures, results), encoding="utf-8")
        (folder / "report.json").write_text(numbers + "\n", encoding="utf-8")
        (folder / "confusion.svg").write_text(svg_of(figures), encoding="utf-8")
    except OSError as error:
        raise _unwritable(folder, error) from None


def _unwritable(folder: Path, error: OSError) -> InvalidInput:
    return InvalidInput(f"--report {folder} can't be written ({error.strerror}): choose another")


def _check(figures: Figures, options: Options) -> None:
    """Refuse an accuracy that is below what was asked for."""
    if options.at_least is None:
        return
    share, wrong = figures.accuracy.share, figures.accuracy.of - figures.accuracy.right
    if share is None:
        raise InvalidInput(f"--at-least needs labels, and no line of {options.file} has one")
    if share < options.at_least:
        raise RouterError(
            f"accuracy {share:.4g} is below --at-least {options.at_least:g}: "
            f"{wrong} of {figures.accuracy.of} lines are wrong"
        )


def _tick(done: int, of: int) -> None:
    """Show a person who waits how far it is."""
    if sys.stderr.isatty():
        end = "\r\033[K" if done == of else "\r"
        sys.stderr.write(f"{done} of {of}{end}")
        sys.stderr.flush()
