"""Sentences that are proposed for capabilities, and the YAML file in which a person edits them."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from router.domain.errors import DefinitionError, Fault, Problem, nearest
from router.domain.principals import Capability, CapabilityKind
from router.extensions.evaluation.examples.objection import (
    ExampleRefusal,
    SaidBefore,
    objection_to_form,
)
from router.formats.validation import (
    Complaint,
    Entry,
    FileWording,
    problems_in,
    validated,
    yaml_file,
)
from router.formats.yaml_document import YamlDocument

LARGEST = 1024 * 1024
_HEAD = """\
# Sentences proposed for examples. Take out what nobody would say, put right the rest, and then
# have them written into the files: intent-router examples --from {path}
"""
_WORDING = FileWording(
    "add a line {key}: …",
    mapping="this is no entry",
    write="an entry has name, kind, file, sentences",
)


@dataclass(frozen=True)
class Proposal:
    """What passed the rules for a capability that is declared in a file, and what didn't."""

    capability: Capability
    file: Path
    sentences: tuple[str, ...]
    refused: tuple[ExampleRefusal, ...] = ()
    trouble: str = ""
    """What was wrong with the answer as a whole."""


def proposals_as_yaml(proposals: Iterable[Proposal], path: Path) -> str:
    """The text of a file with those that have sentences, to be kept at the path."""
    entries = (_entry(one) for one in proposals if one.sentences)
    return _HEAD.format(path=path) + "".join(entries)


def _entry(proposal: Proposal) -> str:
    about = {
        "name": proposal.capability.name,
        "kind": proposal.capability.kind,
        "file": str(proposal.file),
    }
    lines = [f"{key}: {json.dumps(value, ensure_ascii=False)}" for key, value in about.items()]
    said = [f"    - {json.dumps(each, ensure_ascii=False)}" for each in proposal.sentences]
    return "\n".join([f"- {lines[0]}", f"  {lines[1]}", f"  {lines[2]}", "  sentences:", *said, ""])


class ProposedEntry(Entry):
    """An entry of the file, as a person has left it."""

    name: str
    """A capability's name."""
    kind: CapabilityKind
    """Whether that is a flow, a skill or a tool."""
    file: str
    """Where it is declared."""
    sentences: tuple[str, ...] = ()
    """What is to be put into that file."""


def read_proposals(path: Path, declared: Mapping[tuple[str, str], Proposal]) -> list[Proposal]:
    """The proposals of a file; `declared` has an empty one of every capability, by kind and name.

    Raises `DefinitionError` with every problem: an unknown name, another file, a sentence that
    the rules refuse. Whether a sentence is near to others is for the person to judge.
    """
    document = yaml_file(path, LARGEST, "apply fewer at a time")
    if not isinstance(document.data, list):
        remedy = "begin with what `--suggest --out` writes"
        raise DefinitionError([Problem(str(path), 1, "it is no list", remedy)])
    reading = _Reading(document, declared)
    found = [*filter(None, map(reading.proposal, range(len(document.data))))]
    if problems := problems_in(str(path), document, reading.complaints):
        raise DefinitionError(problems)
    return found


class _Reading:
    """One reading of one file."""

    def __init__(
        self, document: YamlDocument, declared: Mapping[tuple[str, str], Proposal]
    ) -> None:
        self.complaints: list[Complaint] = []
        self._document = document
        self._declared = declared
        self._said = SaidBefore.of(each.capability for each in declared.values())

    def proposal(self, number: int) -> Proposal | None:
        """The entry with this number; None where nothing is to be made of it."""
        read = validated(ProposedEntry, self._document.data[number], (number,), _WORDING)
        self.complaints += read.complaints
        entry = read.value
        if entry is None or not read.is_sound:
            return None
        known = self._declared.get((entry.kind, entry.name))
        if known is None:
            names = [name for _, name in self._declared]
            fault = Fault(
                f"there is no {entry.kind} {entry.name}",
                nearest(entry.name, names) or "see `intent-router examples` for all of them",
            )
            self.complaints.append(Complaint((number, "name"), fault))
            return None
        if Path(entry.file).resolve() != known.file.resolve():
            fault = Fault(f"{entry.name} isn't declared in {entry.file}", f"it is in {known.file}")
            self.complaints.append(Complaint((number, "file"), fault))
        self.complaints += self._refused(number, entry.sentences, known.capability)
        return Proposal(known.capability, known.file, entry.sentences)

    def _refused(
        self, number: int, sentences: Sequence[str], capability: Capability
    ) -> Iterator[Complaint]:
        for place, sentence in enumerate(sentences):
            why = objection_to_form(sentence) or self._said.objection(sentence, capability)
            if why is not None:
                fault = Fault(
                    f"{ExampleRefusal(sentence, why).shown!r} can't be taken: {why}", _REMEDY
                )
                yield Complaint((number, "sentences", place), fault)
            else:
                self._said.add(sentence, capability.name)


_REMEDY = "put it otherwise, or take it out"
