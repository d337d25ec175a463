"""Every error this project raises on purpose, in one tree, and what some of them ask back.

The tree is mapped to HTTP in `router.api.errors` and to Temporal in `router.contracts.failures`,
once each; models add theirs under `Unavailable` in `router.llm.types`.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import NamedTuple, Self

from pydantic import JsonValue
from pydantic_core import ErrorDetails

from router.domain.locale import Locale, Localised
from router.domain.value import Value


class Elicitation(Value):
    """One question, answered by calling the tool again with the answer under its `key`.

    `schema_` describes a flat object to fill in, empty for yes or no; `url` is an address to visit.
    """

    key: str
    """The same for the same question, so that no answer is taken for that of another."""
    message: str
    schema_: dict[str, JsonValue] = {}
    url: str | None = None


class OfferedValue(Value):
    """A value, how it is called on its button, and words that mean it; days as `2026-12-21`."""

    value: str
    label: Localised
    synonyms: tuple[str, ...] = ()


class ArgumentOffer(Value):
    """The values that an `argument` may have, and the question that they answer."""

    argument: str
    ask: Localised
    offers: tuple[OfferedValue, ...]


class RouterError(Exception):
    """The root. `str(error)` says in English what is wrong, with which value, and what to do."""

    _said: Localised | None = None

    def __init__(self, detail: str | Localised = "") -> None:
        if isinstance(detail, Localised):
            self._said, detail = detail, detail.en
        super().__init__(detail)

    @property
    def said(self) -> Localised:
        """The same in the language of whoever reads it; English where there is no other."""
        return self._said or Localised(zh=str(self), en=str(self))


@dataclass(frozen=True)
class FieldProblem:
    """One field at fault: where it is (`items.0.amount`) and what is wrong with it."""

    field: str
    detail: str
    said: Localised | None = None
    """The same in the language of whoever reads it, where there are others than English."""

    @classmethod
    def of(cls, field: str, said: Localised) -> Self:
        """What is wrong with it, said in every language."""
        return cls(field, said.en, said)

    def within(self, locale: Locale) -> str:
        """What is wrong with it, in this language where that is known."""
        return self.said.within(locale) if self.said else self.detail


class InvalidInput(RouterError):
    """A caller's input can't be used; nothing was changed."""

    def __init__(self, detail: str | Localised, problems: list[FieldProblem] | None = None) -> None:
        super().__init__(detail)
        self.problems = problems or []

    @classmethod
    def at(cls, field: str, detail: str | Localised) -> Self:
        """What is wrong with one field."""
        if isinstance(detail, Localised):
            said = Localised(zh=f"{field}：{detail.zh}。", en=f"{field}: {detail.en}.")
            return cls(said, [FieldProblem.of(field, detail)])
        return cls(f"{field}: {detail}.", [FieldProblem(field, detail)])


class Unauthenticated(RouterError):
    """The request says nothing about who is calling, or something nobody can vouch for."""


class Forbidden(RouterError):
    """The caller is known and may not do this."""


class NotFound(RouterError):
    """It doesn't exist, or its existence is none of the caller's business."""


class NotDeployed(NotFound):
    """A tool, lookup or hook that isn't part of this deployment; a run that needs it is held."""


class Conflict(RouterError):
    """What the caller acts on is no longer in the state that the action needs."""


class Outdated(Conflict):
    """It was made over something that has changed since: read that, and make it anew."""


class ApprovalClosed(Conflict):
    """The run doesn't ask for this approval, or after a crash not yet again: it may pass."""


class DuplicateKey(Conflict):
    """A message id or idempotency key was used before with another body."""


class TooManyRequests(RouterError):
    """Too much at once; the same request is welcome after `retry_after` seconds."""

    def __init__(self, detail: str | Localised, retry_after: int = 1) -> None:
        super().__init__(detail)
        self.retry_after = retry_after


class Unavailable(RouterError):
    """Something that this needs can't be reached right now; trying again may help.

    `said` is for whoever asked, where `detail` names addresses, which are the operators' business.
    """

    def __init__(self, detail: str | Localised = "", said: Localised | None = None) -> None:
        super().__init__(detail)
        self._said = said or self._said


class Unconfirmed(Unavailable):
    """It isn't known whether a request was carried out. The same request may be sent again."""


class BackendUnavailable(Unavailable):
    """The router's own database, or Temporal, can't be used right now.

    It says nothing about the work that needed it, a tool's call for example, so it isn't counted as
    a try of that work. A transaction that failed with it may have been committed.
    """


class Overloaded(BackendUnavailable):
    """Nothing is broken, but more is under way than this can take; trying again helps.

    It is welcome again after `retry_after` seconds.
    """

    retry_after = 5


class MisconfiguredError(RouterError):
    """The operator has to change something before this can start."""


class UnreadablePayload(MisconfiguredError):
    """A payload was encrypted with a key that isn't set, or isn't what was encrypted."""


@dataclass(frozen=True)
class Problem:
    """One thing wrong in a file: where, what, and what would be right."""

    file: str
    line: int
    what: str
    remedy: str
    place: tuple[str | int, ...] = field(default=(), compare=False)
    """Where in the file's data: `("states", "review", "next", 0, "to")`, as far as that is known;
    two problems are the same wherever it is said that they are."""

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.what}; {self.remedy}"


@dataclass
class DefinitionError(RouterError):
    """Definition files that can't be used, with every problem found in them."""

    problems: list[Problem] = field(default_factory=list)

    def __str__(self) -> str:
        return "\n".join(str(problem) for problem in self.problems)


class ToolError(RouterError):
    """A tool didn't do what it was called for."""


class TransientToolError(ToolError):
    """It may work in a moment, or after `retry_after` seconds: the call is retried."""

    def __init__(self, detail: str | Localised = "", retry_after: float | None = None) -> None:
        super().__init__(detail)
        self.retry_after = retry_after


class ArgumentsToolError(ToolError):
    """The arguments are at fault: whoever chose them is told what is wrong."""


class AnswersNeeded(ArgumentsToolError):
    """The tool wants to know more from the person first, and is then called anew."""

    def __init__(self, detail: str | Localised, asked: Sequence[Elicitation] = ()) -> None:
        super().__init__(detail)
        self.asked = list(asked)


class SeveralFit(ArgumentsToolError):
    """An argument leaves open which of several is meant: a person is shown what is `offered`."""

    def __init__(self, detail: str | Localised, offered: ArgumentOffer | None = None) -> None:
        super().__init__(detail)
        self.offered = offered


class PermanentToolError(ToolError):
    """Trying again can't help: the person is told."""


class SetAside(PermanentToolError):
    """Processes died of it, more than once: it isn't run again, and a write may have happened."""


class BrokenTool(PermanentToolError):
    """The tool's own code is at fault, and would be again; what a write had done is unknown."""


class UnusableResult(PermanentToolError):
    """The tool has answered, with what can't be read, kept or carried; a write is done."""


class OutOfReach(PermanentToolError):
    """The system behind the tool couldn't be reached, however often; nothing was done."""


class UnknownOutcome(ToolError):
    """The call may or may not have had its effect; it is reported so and never repeated."""


class BrokenHook(RouterError):
    """A hook failed, took too long, or answered what it may not: it is passed over, or required."""


class Fault(NamedTuple):
    """One thing wrong, and what would be right."""

    what: str
    remedy: str

    def __str__(self) -> str:
        return f"{self.what}; {self.remedy}"


class FaultyValue(ValueError):
    """A value that can't be used. Validators of pydantic models may raise it.

    Attributes:
        fault: What is wrong with the value, and what would be right.
    """

    def __init__(self, what: str, remedy: str) -> None:
        super().__init__(what, remedy)
        self.fault = Fault(what, remedy)

    def __str__(self) -> str:
        return str(self.fault)


def fault_in(error: ValueError, remedy: str) -> Fault:
    """Return what the error says is wrong; with this remedy if it names none itself."""
    return error.fault if isinstance(error, FaultyValue) else Fault(str(error), remedy)


def reason_of(error: ErrorDetails) -> str:
    """Return what pydantic found wrong, in the words of our own validator if there is one."""
    cause = error.get("ctx", {}).get("error")
    return str(cause) if isinstance(cause, ValueError) else error["msg"]


def nearest(name: str, known: Iterable[str]) -> str:
    """The question whether the most similar known name was meant; empty where none is similar."""
    found = get_close_matches(name, sorted(known), n=1)
    return f"did you mean {found[0]}?" if found else ""
