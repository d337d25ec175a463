"""Everything a running flow knows, as one value, its history included.

A run is composed of parts (`router.flow.engine.run_parts`), each of which has its own functions
and a bound on all that it holds. What the run still owes or awaits stands in it as data (`work`).
So a run can be carried to a new workflow run, or replayed, from this value alone.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Annotated, Any, ClassVar, Self, overload

from pydantic import Field, GetCoreSchemaHandler
from pydantic_core import CoreSchema, core_schema

from router.domain.locale import Locale
from router.domain.messages import FlowStatus
from router.domain.principals import Principal
from router.domain.run_history import HistoryEntry, Incident
from router.flow.engine.run_parts.approvals import Approvals
from router.flow.engine.run_parts.draftable import Bound, Draftable
from router.flow.engine.run_parts.form import Form
from router.flow.engine.run_parts.question import Question
from router.flow.engine.run_parts.recovery import Recovery
from router.flow.engine.run_parts.work import Work

MAX_HISTORY_LINES = 1_000
"""Lines of its history that a run carries: the first hundred, and the last ones."""


class History(Sequence[HistoryEntry]):
    """The lines so far, as a value that never changes. In JSON it is a list.

    A longer one shares its lines with the one it was made from, so that a line costs the same
    however many there are; only where two go on from the same one does the second copy it.
    """

    __slots__ = ("_length", "_shared")

    def __init__(
        self, lines: Iterable[HistoryEntry] = (), *, shared: list[HistoryEntry] | None = None
    ) -> None:
        self._shared = list(lines) if shared is None else shared
        self._length = len(self._shared)

    def followed_by(self, line: HistoryEntry) -> Self:
        """The history with one more line at its end."""
        if len(self._shared) > self._length:  # another one went on from here already
            return type(self)(self).followed_by(line)
        self._shared.append(line)
        return type(self)(shared=self._shared)

    def __len__(self) -> int:
        return self._length

    def __iter__(self) -> Iterator[HistoryEntry]:
        return islice(self._shared, self._length)

    @overload
    def __getitem__(self, place: int) -> HistoryEntry: ...
    @overload
    def __getitem__(self, place: slice) -> list[HistoryEntry]: ...
    def __getitem__(self, place: int | slice) -> HistoryEntry | list[HistoryEntry]:
        if isinstance(place, slice):
            return [self._shared[number] for number in range(self._length)[place]]
        return self._shared[range(self._length)[place]]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, History | list):
            return NotImplemented
        return len(self) == len(other) and all(a == b for a, b in zip(self, other, strict=True))

    __hash__ = None  # type: ignore[assignment]  # as a list has none

    def __repr__(self) -> str:
        return f"History({list(self)!r})"

    @classmethod
    def __get_pydantic_core_schema__(cls, _: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        lines = handler.generate_schema(list[HistoryEntry])
        read = core_schema.no_info_after_validator_function(cls, lines)
        return core_schema.json_or_python_schema(
            json_schema=read,
            python_schema=core_schema.union_schema([core_schema.is_instance_schema(cls), read]),
            serialization=core_schema.plain_serializer_function_ser_schema(
                list, return_schema=lines
            ),
        )


class Run(Draftable):
    """A running flow, whole: who it is for and where it stands, and its parts."""

    max_bytes: ClassVar[int] = 768 * 1024

    id: str
    """The public id: opaque, URL-safe. The workflow's is `<flow>/<tenant>/<this>`."""
    requester: Principal
    conversation: str | None = None
    locale: Locale = "zh"
    parent: str | None = None
    """The workflow id of the run that started this one and waits for it."""

    status: FlowStatus = "running"
    state: str = ""
    visit: int = 0
    history: Annotated[History, Bound(MAX_HISTORY_LINES, "drop_middle")] = History()
    left_out_entries: int = 0
    """How many entries in the middle of the history were left out to keep it short."""
    events: int = 0
    """How many events were taken in: orders the views of a run."""

    form: Form = Field(default_factory=Form)
    question: Question = Field(default_factory=Question)
    approvals: Approvals = Field(default_factory=Approvals)
    work: Work = Field(default_factory=Work)
    recovery: Recovery = Field(default_factory=Recovery)

    def draft(self) -> Self:
        """Copy the run and its parts, for a step to change in place."""
        draft = super().draft()
        draft.form, draft.question = self.form.draft(), self.question.draft()
        draft.approvals = self.approvals.draft()
        draft.work, draft.recovery = self.work.draft(), self.recovery.draft()
        return draft

    def trim(self) -> None:
        """Drop the oldest entries of each list or dict in the parts that is over its bound."""
        for part in self.parts.values():
            part.trim()

    @property
    def parts(self) -> dict[str, Draftable]:
        """The parts that the run is composed of, by name."""
        return {
            "form": self.form,
            "question": self.question,
            "approvals": self.approvals,
            "work": self.work,
            "recovery": self.recovery,
        }

    @property
    def open_incident(self) -> Incident | None:
        """Why the run waits for an operator; `None` if it doesn't."""
        return self.recovery.open_incident

    @property
    def question_id(self) -> str:
        """Name what is being asked, so that a late answer to an earlier question is noticed."""
        amendment = self.approvals.amendment
        if self.approvals.asks_to_amend and amendment is not None:
            return f"{self.state}:{self.visit}:amend.{amendment.number}"
        within = f":{self.question.change_path}" if self.question.change_path else ""
        return f"{self.state}:{self.visit}:{self.question.path or ''}{within}"
