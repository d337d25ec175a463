"""`intent-router flows play`: a chat with a flow file, in which nothing real is touched."""

import asyncio
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer
from pydantic import JsonValue

from router.directory.sources import people_of
from router.domain.errors import InvalidInput, NotFound, RouterError
from router.domain.principals import Principal
from router.extensions.authoring.settings import TrialSettings
from router.extensions.authoring.trials.draft_trials import DraftTrials
from router.extensions.authoring.trials.protocol import PlayedStep, PlayedTrial, TrialPlay
from router.flow.loader import LARGEST
from router.formats.yaml_document import Unreadable, read_text, read_yaml
from router.runtime.definitions import load_capabilities
from router.settings import Settings
from router.story.entries import STEPS

BACK, KEEP = "back", "keep "
_HELP = """\
Type what the user says. A line such as a step of a story does what the step does:
  approver: {bob: approve}    after: P1D    tool_fails: {book_room: permanent}
`back` takes the last step back, `keep TITLE` prints the story, an empty line ends."""


class FlowPlay:
    """A flow file being tried, line by line."""

    def __init__(self, trials: DraftTrials, author: Principal, file: Path, user: str) -> None:
        self._trials = trials
        self._author = author
        self._file = file
        self._user = user
        self._steps: list[dict[str, JsonValue]] = []

    async def heard(self, line: str) -> Iterator[str]:
        """What there is to see after a line; raises as `DraftTrials.play`, and forgets it then."""
        if line.startswith(KEEP):
            title = line.removeprefix(KEEP).strip()
            where = (self._author, self._file.stem, self._text(), "")
            kept = await self._trials.keep(*where, title, self._asked(self._steps))
            return iter(kept.splitlines())
        steps = self._steps[:-1] if line == BACK else [*self._steps, step_of(line)]
        played = await self._trials.play(
            self._author, self._file.stem, self._text(), self._asked(steps)
        )
        if played.failed is not None:
            raise InvalidInput(played.failed.message)
        self._steps = steps
        return seen(played)

    def _asked(self, steps: list[dict[str, JsonValue]]) -> TrialPlay:
        return TrialPlay(user=self._user, steps=tuple(steps))

    def _text(self) -> str:
        """The file as it is now: it may be edited while it is tried."""
        try:
            return read_text(self._file, LARGEST, "split the flow in two")
        except Unreadable as bad:
            raise InvalidInput(f"{self._file}: {bad.fault}") from None


def step_of(line: str) -> dict[str, JsonValue]:
    """The step that a line is: one of a story, else what the user says.

    >>> step_of("after: P1D"), step_of("I need: a day off")
    ({'after': 'P1D'}, {'user': 'I need: a day off'})
    """
    key, colon, _ = line.partition(":")
    if colon and key.strip(" {") in STEPS:
        try:
            data = read_yaml(line).data
        except Unreadable as bad:
            raise InvalidInput(str(bad.fault)) from None
        if isinstance(data, dict):
            return data
    return {"user": line}


def seen(played: PlayedTrial) -> Iterator[str]:
    """The last step for a terminal: what was said, called and told, and where it stands."""
    last = played.steps[-1] if played.steps else PlayedStep()
    for reply in last.said:
        yield from str(reply.get("text", "")).splitlines()
        options = reply.get("options")
        labels = [str(each["label"]) for each in options] if isinstance(options, list) else []  # type: ignore[call-overload,index]
        if labels:
            yield " ".join(f"[{label}]" for label in labels)
    for call in last.calls:
        came = f"failed: {call.error}" if call.error else f"{call.result}"
        yield f"  ▸ {call.tool}({call.arguments}): {came}"
    yield from (f"  ▸ {told.person} is told: {told.how}" for told in last.told)
    standing = played.standing
    if standing is not None:
        waiting = f", waiting for {', '.join(standing.approvers)}" if standing.approvers else ""
        yield f"  ({standing.flow}: {standing.status} in {standing.state}{waiting})"


async def played_in_terminal(settings: Settings, file: Path, user: str) -> None:
    """Read lines and say what there is to see, until one is empty or there is none."""
    people = people_of(settings)
    author = next((one for one in people.everyone() if one.id == user), None)
    if author is None:
        raise NotFound(f"the directory has nobody called {user!r}: name somebody with --user")
    trials = DraftTrials(load_capabilities(settings), people, TrialSettings(processes=1))
    play = FlowPlay(trials, author, file, user)
    try:
        await trials.stage(author, file.stem, read_text(file, LARGEST, "split it"))
        while line := (await asyncio.to_thread(sys.stdin.readline)).strip():
            try:
                for shown in await play.heard(line):
                    typer.echo(shown)
            except RouterError as error:
                typer.echo(f"error: {error}", err=True)
    except Unreadable as bad:
        raise InvalidInput(f"{file}: {bad.fault}") from None
    finally:
        await trials.close()


def play(
    flow: Annotated[Path, typer.Argument(metavar="FILE", help="A flow file.")],
    user: Annotated[str, typer.Option(help="Who talks to the desk.")] = "alice",
) -> None:
    """Chat with a flow file, as everybody who takes part in it; no tool is really called.

    Lines are what the user says, or steps of a story: `approver: {bob: approve}`, `after: P1D`.
    `back` takes the last one back, `keep TITLE` prints what was played as a story.
    """
    if sys.stdin.isatty():
        typer.echo(_HELP)
    asyncio.run(played_in_terminal(Settings.load(), flow, user))
