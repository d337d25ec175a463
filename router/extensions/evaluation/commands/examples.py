"""`intent-router examples`: how many sentences everything is found by, and more of them.

A model may suggest them, and a person accepts: nothing is written unasked, and never at run time.
"""

import asyncio
import json
import sys
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

import typer

from activities.capabilities import Capabilities
from router.cli.checks.dotenv_trust import TrustDotenv, not_looked_at
from router.cli.options import echo_aligned
from router.directory.sources import people_of
from router.domain.errors import InvalidInput, MisconfiguredError, NotFound, RouterError, nearest
from router.domain.locale import LOCALES, Locale
from router.domain.messages import Message
from router.domain.principals import DEFAULT_TENANT, Capability
from router.extensions.evaluation.commands.labels import known_of
from router.extensions.evaluation.commands.routing import labelled_file
from router.extensions.evaluation.examples.nearness import RANKS, Added, Neighbourhood, key, recalls
from router.extensions.evaluation.examples.objection import spoken_in
from router.extensions.evaluation.examples.proposal import (
    Proposal,
    proposals_as_yaml,
    read_proposals,
)
from router.extensions.evaluation.examples.question import Parameters, Rules, arguments_of
from router.extensions.evaluation.examples.source import ExampleSources, check_added
from router.extensions.evaluation.examples.source_file import SourceFile
from router.extensions.evaluation.examples.suggestion import Suggester
from router.extensions.evaluation.examples.text_edit import Unwritable
from router.flow.paused import Situation
from router.runtime.composition import chains_of, index_of
from router.runtime.definitions import (
    flow_folder,
    load_capabilities,
    load_tools,
    skill_folders,
)
from router.runtime.prompts import load_prompts
from router.settings import Settings
from router.settings.environment import of_dotenv
from router.understanding.reader import Reader

ENOUGH = 5
"""Examples: what has fewer is suggested more, where nothing is named."""
LOOKED_WITHIN = 10.0
"""Seconds for all MCP servers together."""
ANSWERS = "[y]es / [n]o / [a]ll / [q]uit"


@dataclass(frozen=True)
class House:
    """Everything that can be done here, and the files that say so."""

    settings: Settings
    offered: Capabilities
    sources: ExampleSources

    @classmethod
    async def of(cls, settings: Settings, *, trust_dotenv: bool) -> "House":
        """The house of these settings, MCP servers asked once; what isn't there is told."""
        tools = load_tools(settings)
        passed_over = {} if trust_dotenv else tools.named_in(of_dotenv())
        for group, variable in passed_over.items():
            typer.echo(f"{group}: {not_looked_at(variable)}", err=True)
        for name, why in (await tools.look(LOOKED_WITHIN, but_for=passed_over)).items():
            remedy = "its tools are left out; `intent-router doctor` says more"
            typer.echo(f"{name} isn't there: {why}; {remedy}", err=True)
        skills = skill_folders(settings).load()
        return cls(
            settings,
            load_capabilities(settings, tools.registry, skills.catalog),
            ExampleSources(
                flows=flow_folder(settings),
                skills=skills.found,
                tools=tools,
            ),
        )

    @property
    def capabilities(self) -> list[Capability]:
        """Flows, skills and tools, in this order."""
        return self.offered.everything()

    def named(self, names: Sequence[str]) -> list[Capability]:
        """Those of these names; `NotFound` says which there is instead."""
        known = {one.name for one in self.capabilities}
        for name in names:
            if name not in known:
                remedy = nearest(name, known) or "see `intent-router examples` for all of them"
                raise NotFound(f"there is no flow, skill or tool {name!r}: {remedy}")
        wanted = dict.fromkeys(names)
        return [one for name in wanted for one in self.capabilities if one.name == name]

    def place(self, capability: Capability) -> Path | None:
        """The file with its examples; None where that kind of file has none."""
        try:
            return self.sources.of(capability).path
        except Unwritable:
            return None

    def lacking(self) -> list[Capability]:
        """Those with fewer than enough that can be given more, those with fewest first."""
        few = (one for one in self.capabilities if len(one.examples) < ENOUGH)
        return sorted((one for one in few if self.place(one)), key=lambda one: len(one.examples))

    def parameters(self, capability: Capability) -> Parameters:
        """What it takes."""
        return parameters_of(self.offered, capability)

    def ruled_out(self) -> Callable[[str, Capability], str | None]:
        """What says of a sentence that rules take it elsewhere: it wouldn't be searched for."""
        offered = self.offered
        reader = Reader(offered.flows(), offered.phrases(), offered.listed())
        roles = frozenset[str]().union(*(one.roles for one in self.capabilities))

        def ruled_out(sentence: str, capability: Capability) -> str | None:
            situation = Situation(now=datetime.now(UTC), locale=spoken_in(sentence), roles=roles)
            route = reader.read(Message(text=sentence), situation).route
            if route is None or route.target == capability.name:
                return None
            return f"rules take it already: {route.target or route.kind}"

        return ruled_out


def parameters_of(offered: Capabilities, capability: Capability) -> Parameters:
    """What it takes: the slots of a flow that are asked for, the arguments of a tool."""
    if capability.kind != "flow":
        return arguments_of(capability)
    slots = offered.slots(capability.name)
    return {name: slot.ask.en for name, slot in slots.items() if slot.ask is not None}


def listing(capabilities: Sequence[Capability], house: House) -> list[dict[str, Any]]:
    """A row for each, with how many examples it has in each language, those without first."""
    rows: list[dict[str, Any]] = []
    for one in capabilities:
        spoken = [spoken_in(example) for example in one.examples]
        counts: dict[str, Any] = {locale: spoken.count(locale) for locale in LOCALES}
        file = house.place(one)
        rows.append(
            {"kind": one.kind, "name": one.name, **counts, "file": file and _shortened(file)}
        )
    return sorted(rows, key=lambda row: row["zh"] + row["en"])


def _shortened(path: Path) -> str:
    here = Path.cwd()
    return str(path.relative_to(here) if path.is_relative_to(here) else path)


@dataclass(frozen=True)
class SuggestionOptions:
    """What `--suggest` was asked for."""

    names: Sequence[str]
    count: int
    accept: bool
    out: Path | None
    lines: Path | None
    """Labelled lines, to show what is gained."""


async def suggest(house: House, options: SuggestionOptions) -> None:
    """Ask for sentences, show them, and write what is accepted; `RouterError` where that fails."""
    settings = house.settings
    if not settings.models:
        raise MisconfiguredError(
            "--suggest needs a model and none is configured: set ROUTER_LLM_MODEL, and "
            "ROUTER_LLM_BASE_URL or ROUTER_LLM_API_KEY (docs/models.md)"
        )
    wanted = house.named(options.names) if options.names else house.lacking()
    files = [house.sources.of(one).path for one in wanted]
    kept = {path: SourceFile(path) for path in files}
    lines = _lines(settings, options.lines) if options.lines else []
    async with _suggester(house) as suggester:
        proposals = []
        for one, file in zip(wanted, files, strict=True):
            proposals.append(await suggester.proposal(one, file, options.count))
            _tell(proposals[-1])
        if lines:
            await _echo_gain(suggester.neighbourhood, proposals, lines)
    _settle(house, proposals, kept, options)
    typer.echo(f"model       {suggester.spent}")
    if proposals and not any(one.sentences or one.refused for one in proposals):
        raise InvalidInput(f"the model gave nothing of use: {proposals[0].trouble}")


@asynccontextmanager
async def _suggester(house: House) -> AsyncIterator[Suggester]:
    settings = house.settings
    prompts = load_prompts(settings)

    def rules(locale: Locale) -> Rules:
        prompt = prompts.of("suggest", "", locale, DEFAULT_TENANT)
        return Rules(prompt.text, prompt.fingerprint)

    async with chains_of(settings) as chains, index_of(settings) as index:
        assert chains.usual is not None  # noqa: S101 - there are models
        neighbourhood = Neighbourhood(index, house.capabilities)
        yield Suggester(chains.usual, neighbourhood, rules, house.parameters, house.ruled_out())


def _tell(proposal: Proposal) -> None:
    one = proposal.capability
    typer.echo(f"{one.name}  {one.kind}  {_shortened(proposal.file)}")
    for sentence in proposal.sentences:
        typer.echo(f"  {spoken_in(sentence)}  {sentence}")
    for refusal in proposal.refused:
        typer.echo(f"  refused: {refusal.shown!r}: {refusal.why}")
    if proposal.trouble:
        typer.echo(f"  the model's answer: {proposal.trouble}")


def labelled_lines(settings: Settings, path: Path) -> list[tuple[str, str]]:
    """The text and the label of each line of the file that is for a capability."""
    people = frozenset(one.id for one in people_of(settings).everyone())
    known = known_of(settings, people)
    return [
        (one.line.text, one.line.label)
        for one in labelled_file(path, known).lines
        if one.line.label is not None and one.line.label in known.slots
    ]


def _lines(settings: Settings, path: Path) -> list[tuple[str, str]]:
    found = labelled_lines(settings, path)
    if not found:
        raise InvalidInput(
            f"--eval {path} has no line that is labelled with a capability: add some"
        )
    return found


async def _echo_gain(
    neighbourhood: Neighbourhood, proposals: Sequence[Proposal], lines: Sequence[tuple[str, str]]
) -> None:
    """What the sentences are worth: recall of lines that are searched for, rules or none."""
    added: Added = {key(one.capability): one.sentences for one in proposals}
    names = {one.capability.name for one in proposals}
    variants: list[tuple[str, Added, frozenset[tuple[str, str]]]] = [
        ("as they are", {}, frozenset()),
        ("with those suggested", added, frozenset()),
    ]
    bare = frozenset(key(one.capability) for one in proposals if one.capability.examples)
    if bare:
        variants.insert(0, ("without any by hand", {}, bare))
    rows = [("recall, %", "lines", *(f"@{rank}" for rank in RANKS))]
    for said, more, without in variants:
        places = await neighbourhood.places(lines, more, without)
        theirs = [p for p, (_, label) in zip(places, lines, strict=True) if label in names]
        for whose, own in (("theirs", theirs), ("all", places)):
            rows.append((f"{whose}, {said}", str(len(own)), *recalls(own)))
    echo_aligned(
        [rows[0], *sorted(rows[1:], key=lambda row: row[0].startswith("all"))], numbers=True
    )


def _settle(
    house: House,
    proposals: Sequence[Proposal],
    kept: dict[Path, SourceFile],
    options: SuggestionOptions,
) -> None:
    """Do with the proposals what was asked for: keep them, write them, or ask a person."""
    sentences = sum(len(one.sentences) for one in proposals)
    refused = sum(len(one.refused) for one in proposals)
    typer.echo(f"{sentences} sentences for {len(proposals)} capabilities, {refused} refused")
    if options.out:
        keep(options.out, proposals)
    elif options.accept:
        write(house, proposals, kept)
    elif sys.stdin.isatty() and sys.stdout.isatty():
        write(house, Acceptance(_answered).accepted(proposals), kept)
    elif sentences:
        typer.echo("nothing was written: add --accept to have them all, or --out FILE to edit them")


def keep(out: Path, proposals: Sequence[Proposal]) -> None:
    """Write the proposals into a file for a person to edit; `InvalidInput` where it can't be."""
    try:
        out.write_text(proposals_as_yaml(proposals, out), encoding="utf-8")
    except OSError as error:
        raise InvalidInput(
            f"--out {out} can't be written ({error.strerror}): name another"
        ) from None
    typer.echo(f"written to {out}: edit it, then `intent-router examples --from {out}`")


@dataclass
class Acceptance:
    """What a person takes of the proposals; `answer` is asked about each until all are settled."""

    answer: Callable[[str], str]
    _rest: str = field(default="", init=False)
    """`a` or `q`, once that is said: it holds for all that is left."""

    def accepted(self, proposals: Sequence[Proposal]) -> list[Proposal]:
        """The proposals with the sentences that were said yes to."""
        return [replace(one, sentences=tuple(self._taken(one))) for one in proposals]

    def _taken(self, proposal: Proposal) -> Iterator[str]:
        for sentence in proposal.sentences:
            said = self._rest or self._asked(f"{proposal.capability.name}: {sentence}")
            if said in {"a", "q"}:
                self._rest = said
            if said in {"y", "a"}:
                yield sentence

    def _asked(self, question: str) -> str:
        while True:
            said = self.answer(f"{question}  {ANSWERS} ").strip().lower()[:1]
            if said in {"y", "n", "a", "q"}:
                return said


def _answered(question: str) -> str:
    """What is typed; the end of input quits."""
    typer.echo(question, nl=False)
    return sys.stdin.readline() or "q"


def write(house: House, proposals: Sequence[Proposal], kept: dict[Path, SourceFile]) -> None:
    """Write the proposals' sentences into their files; what can't be is told, then raised.

    Raises the first `RouterError`; what could be written stays.
    """
    failed: list[RouterError] = []
    for one in filter(lambda proposal: proposal.sentences, proposals):
        source, file = house.sources.of(one.capability), kept[one.file]
        before = one.capability.examples

        def check(one: Proposal = one) -> None:
            check_added(house.sources.of(one.capability), one.capability.examples, one.sentences)

        try:
            file.write(source.changed(file.text, one.sentences), check)
        except Unwritable as error:
            failed.append(InvalidInput(f"{one.file}: {error}"))
        except RouterError as error:
            failed.append(error)
        else:
            total = len(before) + len(one.sentences)
            typer.echo(f"wrote {len(one.sentences)} into {_shortened(one.file)}: {total} there now")
    for other in failed[1:]:
        typer.echo(f"error: {other}", err=True)
    if failed:
        raise failed[0]


def apply(house: House, path: Path) -> None:
    """Write what a file of proposals has; for any problem `DefinitionError`, and nothing then."""
    declared = {}
    for one in house.capabilities:
        if file := house.place(one):
            declared[key(one)] = Proposal(one, file, ())
    proposals = read_proposals(path, declared)
    write(house, proposals, {one.file: SourceFile(one.file) for one in proposals})
    if not any(one.sentences for one in proposals):
        typer.echo(f"{path} has no sentences: nothing was written")


def examples(  # noqa: PLR0913 - each is an option of the command, none an argument of a call
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[NAME]...",
            help="Flows, skills or tools.",
            show_default=f"all; with --suggest those that have fewer than {ENOUGH}",
        ),
    ] = None,
    *,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON array.")] = False,
    suggesting: Annotated[
        bool, typer.Option("--suggest", help="Have the configured model suggest sentences.")
    ] = False,
    count: Annotated[
        int, typer.Option(min=2, max=20, help="How many for each, half of them in Chinese.")
    ] = 6,
    accept: Annotated[
        bool, typer.Option("--accept", help="Write all that pass the checks, unasked.")
    ] = False,
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write the proposals into this instead.")
    ] = None,
    lines: Annotated[
        Path | None,
        typer.Option("--eval", metavar="FILE.jsonl", help="Show what they gain on these lines."),
    ] = None,
    proposed: Annotated[
        Path | None,
        typer.Option("--from", metavar="FILE", help="Write what this file proposes, as edited."),
    ] = None,
    trust_dotenv: TrustDotenv = False,
) -> None:
    """List how many examples everything has in each language, those without first.

    With --suggest a model writes sentences of people who mean a capability. Rules check them
    before they are shown, and in a terminal each is asked about. Nothing is written unasked:
    elsewhere it takes --accept, or --out and then --from. docs/retrieval.md has the rest.
    """
    _check_usage(suggesting, proposed, {"--accept": accept, "--out": out, "--eval": lines})
    if accept and out:
        raise typer.BadParameter("--accept writes into the files and --out beside them: name one")
    asyncio.run(
        _run(
            SuggestionOptions(names or (), count, accept, out, lines),
            proposed or suggesting,
            as_json,
            trust_dotenv,
        )
    )


def _check_usage(suggesting: bool, proposed: Path | None, given: dict[str, Any]) -> None:
    if suggesting and proposed:
        raise typer.BadParameter("--from writes what was suggested before: leave --suggest out")
    alone = [name for name, value in given.items() if value and not suggesting]
    if alone:
        raise typer.BadParameter(f"{alone[0]} is about what is suggested: add --suggest")


async def _run(
    options: SuggestionOptions, wish: Path | bool, as_json: bool, trust_dotenv: bool
) -> None:
    house = await House.of(Settings.load(), trust_dotenv=trust_dotenv)
    if isinstance(wish, Path):
        apply(house, wish)
    elif wish:
        await suggest(house, options)
    else:
        chosen = house.named(options.names) if options.names else house.capabilities
        _echo_listing(listing(chosen, house), as_json)


def _echo_listing(rows: Sequence[dict[str, Any]], as_json: bool) -> None:
    if as_json:
        typer.echo(json.dumps(rows, ensure_ascii=False, indent=2))
        return
    cells = [
        (
            r["name"],
            str(r["zh"]),
            str(r["en"]),
            r["kind"],
            r["file"] or "its format has no examples",
        )
        for r in rows
    ]
    echo_aligned([("", "zh", "en", "kind", "file"), *cells])
