"""`intent-router eval`: how well a file of labelled messages is routed.

Lines are routed a few at a time. They may come from the event log, where people chose what
they had meant: such a file only its owner may read.
"""

import asyncio
import json
import os
import sys
import time
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from router.api.explanation import values_of
from router.cli.dry_run import DryRun, check_model, dry_run_of
from router.cli.options import absent_database, moment, noted, person
from router.contracts.activities import RoutingDecision
from router.directory.sources import people_of
from router.domain.commands import Clarify
from router.domain.errors import InvalidInput, NotFound, RouterError
from router.domain.principals import Principal
from router.extensions.evaluation import dataset
from router.extensions.evaluation.commands.labels import known_of
from router.extensions.evaluation.figures import Figures, LineResult, figures_of, judged, printed
from router.extensions.evaluation.report import EvaluationContext, page_of, report_of, svg_of
from router.llm.types import AccessRefused, ModelUnavailable, NoModelAnswered
from router.retrieval.selection import (
    Selection,
    fitted_reliability,
    fitted_thresholds,
    write_thresholds,
)
from router.runtime.definitions import load_capabilities
from router.settings import Settings
from router.store.database import Database
from router.store.store import Store
from router.store.tables import ROUTER
from router.understanding.reading import Reading

AT_ONCE = 4
"""Lines that are routed at the same time: enough to keep a model busy, and no flood."""

LONGEST_WAIT = 5.0
"""Seconds; what Temporal waits for a busy model at most, before it does without."""


@dataclass(frozen=True)
class LineEvaluator:
    """Lines are said by `user` at `now`, unless they say otherwise."""

    dry_run: DryRun
    people: Mapping[str, Principal]
    user: str
    now: str | None

    async def results(self, lines: Sequence[dataset.NumberedLine]) -> list[LineResult]:
        """What each line came to, in their order; `ModelUnavailable` where the key is refused."""
        await self.dry_run.learn()
        free, done = asyncio.Semaphore(AT_ONCE), 0
        labels = frozenset(one.line.label for one in lines if one.line.label is not None)

        async def one(labelled: dataset.NumberedLine) -> LineResult:
            nonlocal done
            async with free:
                result = await self._result(labelled, labels)
            done += 1
            _tick(done, len(lines))
            return result

        try:
            async with asyncio.TaskGroup() as group:
                tasks = [group.create_task(one(labelled)) for labelled in lines]
        except ExceptionGroup as group:
            raise group.exceptions[0] from None
        return [task.result() for task in tasks]

    async def found(self, labelled: dataset.NumberedLine) -> Selection | None:
        """What is searched for the line's text; None where rules take it."""
        return await self.dry_run.found(*self._said(labelled))

    async def _result(self, labelled: dataset.NumberedLine, labels: frozenset[str]) -> LineResult:
        began = time.perf_counter()
        reading, decided, unanswered = await self._routed(labelled)
        asked = [command for command in decided.commands if isinstance(command, Clarify)]
        return LineResult(
            labelled=labelled,
            got=dataset.label_of(decided.route, labels),
            by=decided.route.by,
            reason=decided.route.reason,
            offered=tuple(str(option.value) for command in asked for option in command.options),
            candidates=tuple(one.name for one in decided.route.candidates),
            values=values_of(decided.commands),
            entities=[
                dataset.LabelledEntity(type=one.type, value=one.value) for one in reading.entities
            ],
            usage=decided.usage,
            seconds=time.perf_counter() - began,
            unanswered=unanswered,
        )

    async def _routed(
        self, labelled: dataset.NumberedLine
    ) -> tuple[Reading, RoutingDecision, bool]:
        """The line routed, as Temporal would have it: tried again once, then without the model."""
        said = self._said(labelled)
        try:
            return *await self.dry_run.routed(*said), False
        except ModelUnavailable as error:
            failures = error.failures if isinstance(error, NoModelAnswered) else ()
            if any(isinstance(failure.error, AccessRefused) for failure in failures):
                raise  # every other line would fare the same
            pause = 1.0 if error.retry_after is None else error.retry_after
        await asyncio.sleep(min(pause, LONGEST_WAIT))
        unanswered: list[ModelUnavailable] = []
        routed = await self.dry_run.routed(*said, unanswered.append)
        return *routed, bool(unanswered)

    def _said(self, labelled: dataset.NumberedLine) -> tuple[str, Principal, datetime]:
        line = labelled.line
        speaker = self.people[line.user or self.user]
        return line.text, speaker, moment(line.now or self.now, speaker.timezone)


@asynccontextmanager
async def opened_log(settings: Settings, tenant: str, what: str) -> AsyncIterator[Store]:
    """The store, whose log is read for `what`: that is noted; `NotFound` where there is none."""
    if absent := absent_database(settings):
        raise NotFound(f"there is no log at {absent} yet: set ROUTER_DATABASE_URL or ROUTER_DATA")
    database = Database(settings.database_url)
    try:
        await database.migrate(ROUTER)
        store = Store(database)
        await noted(store.trail, tenant, "conversations.export", detail=what)
        yield store
    finally:
        await database.dispose()


async def gather(settings: Settings, tenant: str, file: Path) -> str:
    """Write what people chose when they were asked into a new file, and say how much that is."""
    if file.exists():  # noqa: ASYNC240 - once
        raise InvalidInput(f"{file} is there already, and --from-log writes a new file: name one")
    async with opened_log(settings, tenant, f"into {file.name}") as store:
        reader = dataset.ChoiceReader()
        taken = [reader.take(entry) async for entry in store.log.every_exchange(tenant)]
        choices = [choice for choice in taken if choice is not None]
        owners: dict[str, str] = {}
        for id_ in {choice.conversation for choice in choices}:
            record = await store.conversations.find(tenant, id_)
            owners[id_] = record.owner if record else ""
    lines = list(_lines(settings, choices, owners))
    if not lines:
        raise NotFound(
            f"the log has no message that was asked about and answered with a choice: "
            f"label some by hand, one a line: {json.dumps({'text': '…', 'label': '…'})}"
        )
    # What people wrote is theirs: nobody else on this machine may read it.
    try:
        opened = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except OSError as error:
        raise InvalidInput(f"{file} can't be written ({error.strerror}): name another") from None
    with os.fdopen(opened, "w", encoding="utf-8") as writing:
        writing.writelines(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)
    left = f", {len(choices) - len(lines)} left out" if len(choices) > len(lines) else ""
    return f"{len(lines)} lines from the log written to {file}{left}\n"


def _lines(
    settings: Settings, choices: Iterable[dataset.LabelledChoice], owners: Mapping[str, str]
) -> Iterator[dict[str, str]]:
    """A line for each choice, less what nobody here could say or do any more, and repetitions."""
    there = {capability.name for capability in load_capabilities(settings).everything()}
    people = {one.id for one in people_of(settings).everyone()}
    seen: set[tuple[str, ...]] = set()
    for choice in choices:
        line = {"text": choice.text, "label": choice.label, "user": owners[choice.conversation]}
        said = tuple(line.values())
        if line["user"] in people and choice.label in there and said not in seen:
            seen.add(said)
            yield {**line, "now": choice.at.isoformat(timespec="microseconds")}


def evaluate(  # noqa: PLR0913 - each is an option of the command, none an argument of a call
    file: Annotated[Path, typer.Argument(metavar="FILE.jsonl", help="Labelled messages.")],
    *,
    report: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Where to write the report, HTML and JSON.")
    ] = None,
    user: Annotated[str, typer.Option(help="Who says what no line says who says it.")] = "alice",
    now: Annotated[
        str | None, typer.Option(help="When it is said, where the line doesn't say when.")
    ] = None,
    llm: Annotated[
        bool | None,
        typer.Option(
            "--llm/--no-llm",
            help="With the model, or without.",
            show_default="with, where one is configured",
        ),
    ] = None,
    split: Annotated[
        str | None, typer.Option(help="Take only the lines whose `split` is this.")
    ] = None,
    at_least: Annotated[
        float | None, typer.Option(min=0, max=1, help="Exit with 1 where the accuracy is below.")
    ] = None,
    fit: Annotated[
        Path | None,
        typer.Option(metavar="DEV.jsonl", help="First fit the thresholds to these, and keep them."),
    ] = None,
    from_log: Annotated[
        bool,
        typer.Option("--from-log", help="First write FILE, from what people chose when asked."),
    ] = False,
) -> None:
    """Route every line of FILE, execute nothing, and say how much of it was right.

    A line is {"text", "label"[, "slots"][, "user"][, "now"][, "split"]}; a label is the name
    of a flow, skill or tool, or reply, clarify, handoff, or none for what starts no flow.
    docs/evaluation.md has the rest.
    """
    options = EvaluationOptions(file, report, user, now, llm, split, at_least, fit, from_log)
    asyncio.run(evaluation(Settings.load(), options))


FEW = 50
"""Thresholds that were fitted to fewer lines say more about these than about others."""


@dataclass(frozen=True)
class EvaluationOptions:
    """What the command was asked for."""

    file: Path
    report: Path | None
    user: str
    now: str | None
    llm: bool | None
    """None: as configured."""
    split: str | None
    at_least: float | None
    fit: Path | None
    from_log: bool


async def evaluation(settings: Settings, options: EvaluationOptions) -> None:
    """Evaluate as the options say; `RouterError` also where the accuracy is too low."""
    speaker = person(settings, options.user)
    moment(options.now, speaker.timezone)
    with_model = bool(settings.models) if options.llm is None else options.llm
    if with_model:
        check_model(settings)
    if options.report:  # before anything is routed: a model's answers may be paid for
        with _writing(options.report):
            options.report.mkdir(parents=True, exist_ok=True)
    if options.from_log:
        typer.echo(await gather(settings, speaker.tenant, options.file))
    people = {one.id: one for one in people_of(settings).everyone()}
    known = known_of(settings, frozenset(people))
    file = labelled_file(options.file, known, options.split)
    if options.fit:
        dev = labelled_file(options.fit, known)
        settings = await _fitted(settings, options, people, dev, with_model=with_model)
    async with dry_run_of(settings, with_model=with_model) as dry_run:
        evaluator = LineEvaluator(dry_run, people, options.user, options.now)
        results = await evaluator.results(file.lines)
    figures = figures_of(results)
    typer.echo(printed(figures, results))
    if options.report:
        model = settings.models[0].model if with_model else None
        at = datetime.now(UTC).astimezone()
        about = EvaluationContext(str(options.file), at, model, speaker.id, len(file.repeated))
        _write(options.report, about, figures, results)
        typer.echo(f"report      {options.report / 'report.html'}")
    _check(figures, options)


def labelled_file(
    path: Path, known: dataset.KnownLabels, split: str | None = None
) -> dataset.LabelledFile:
    """The labelled lines of a file, or of one split of it.

    Raises `InvalidInput` where there are none, it can't be read, or a line is at fault.
    """
    try:
        content = path.read_bytes()
    except OSError as error:
        raise InvalidInput(
            f"{path} can't be read ({error.strerror}): name a file of labelled messages"
        ) from None
    file = dataset.read_labelled(content, str(path), known)
    if split is None:
        return file
    chosen = [one for one in file.lines if one.line.split == split]
    if not chosen:
        there = ", ".join(sorted({str(one.line.split) for one in file.lines}))
        raise InvalidInput(f"--split {split!r} is on no line of {path}: it has {there}")
    return dataset.LabelledFile(chosen, file.repeated)


async def _choices(
    settings: Settings,
    options: EvaluationOptions,
    people: Mapping[str, Principal],
    file: dataset.LabelledFile,
) -> list[tuple[float, bool]]:
    """The score of whatever a model chose for a line, asked about or not, and if it was right."""
    choices = []
    async with dry_run_of(settings, with_model=True) as dry_run:
        trusting = replace(dry_run, policy=replace(dry_run.policy, checked=False))
        evaluator = LineEvaluator(trusting, people, options.user, options.now)
        for one, result in zip(file.lines, await evaluator.results(file.lines), strict=True):
            found = await evaluator.found(one) if result.by == "llm" else None
            scores = {c.name: c.score for c in found.candidates} if found else {}
            if one.line.label is not None and result.got in scores:
                choices.append((scores[result.got], result.got == one.line.label))
    return choices


async def _fitted(
    settings: Settings,
    options: EvaluationOptions,
    people: Mapping[str, Principal],
    file: dataset.LabelledFile,
    *,
    with_model: bool,
) -> Settings:
    """The settings with thresholds fitted to these lines, and kept in a file.

    With a model it decides them all, for how often its choices are right.
    """
    target = settings.thresholds or settings.data / "thresholds.json"
    plain = settings.replace(thresholds=None)
    async with dry_run_of(plain) as dry_run:
        evaluator = LineEvaluator(dry_run, people, options.user, options.now)
        names = frozenset(capability.name for capability in dry_run.offered.everything())
        found = [(one.line.label, await evaluator.found(one)) for one in file.lines]
        rows = [judged(label, one, names) for label, one in found if label and one]
    if not any(row.wanted for row in rows):
        raise InvalidInput(
            f"--fit {options.fit} has no line that is for a capability and that no rule takes: "
            "add messages that are put unusually, labelled with what they mean"
        )
    thresholds = fitted_thresholds(rows)
    if with_model:
        choices = await _choices(plain, options, people, file)
        thresholds = replace(thresholds, reliability=fitted_reliability(choices))
    write_thresholds(target, thresholds)
    told = asdict(thresholds)
    steps = told.pop("reliability")
    shown = ", ".join(f"{name} {value:.3g}" for name, value in told.items())
    few = f" (few: take {FEW} or more)" if len(rows) < FEW else ""
    typer.echo(f"thresholds  {shown}: fitted to {len(rows)} lines that no rule takes{few}")
    use = "" if settings.thresholds else f"; set ROUTER_THRESHOLDS={target} to use them"
    for least, share in steps:
        typer.echo(f"            choices from {least:.3f} on were right in {share:.0%}")
    typer.echo(f"            written to {target}{use}\n")
    return settings.replace(thresholds=target)


def _write(
    folder: Path, about: EvaluationContext, figures: Figures, results: Sequence[LineResult]
) -> None:
    numbers = json.dumps(report_of(about, figures, results), ensure_ascii=False, indent=2)
    with _writing(folder):
        (folder / "report.html").write_text(page_of(about, figures, results), encoding="utf-8")
        (folder / "report.json").write_text(numbers + "\n", encoding="utf-8")
        (folder / "confusion.svg").write_text(svg_of(figures), encoding="utf-8")


@contextmanager
def _writing(folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise InvalidInput(
            f"--report {folder} can't be written ({error.strerror}): choose another"
        ) from None


def _check(figures: Figures, options: EvaluationOptions) -> None:
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
