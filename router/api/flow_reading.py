"""Reading the text of a flow, in a child process (`router.api.isolated_work`)."""

from dataclasses import dataclass
from pathlib import Path

from router.domain.errors import DefinitionError, Problem
from router.flow.definition import FlowDefinition
from router.flow.loader import Vocabulary, examine_text


@dataclass(frozen=True)
class ReadFlow:
    """What a text says as a flow, and what is wrong with it."""

    definition: FlowDefinition | None
    """None where no flow can be made of it."""
    problems: tuple[Problem, ...]

    @property
    def sound(self) -> FlowDefinition | None:
        """The flow where nothing is wrong with it."""
        return None if self.problems else self.definition


def read_flow_text(path: str, text: str, known: Vocabulary) -> ReadFlow:
    """Read a flow; `path` is what its problems are said of, and has the flow's name."""
    try:
        file = examine_text(Path(path), text, known)
    except DefinitionError as error:
        return ReadFlow(None, tuple(error.problems))
    return ReadFlow(file.definition, file.problems)
