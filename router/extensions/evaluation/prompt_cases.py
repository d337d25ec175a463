"""Files of cases for prompts: what a model is given for one job, and what its answer has to be.

    job: phrase
    cases:
      - case: balance-in-days
        locale: en
        given: {message: "how many days do I have", findings: [{tool: …, result: …}]}
        expect: {contains: "7", language: en}

What `given` holds is the job's own. All that is wrong with a file is said at once, at its line.
Files of tasks for skills are the same, with `skill: policy-advisor` in place of the job.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, cast

from pydantic import AfterValidator, BaseModel, Field, StringConstraints, create_model

from router.domain.errors import DefinitionError, Fault, FaultyValue, Problem, nearest
from router.domain.locale import Locale
from router.extensions.evaluation.assertions import ASSERTIONS
from router.formats.validation import (
    Complaint,
    Entry,
    FileWording,
    problems_in,
    said,
    validated,
    yaml_file,
)
from router.formats.yaml_document import YamlDocument

SHIPPED = Path(__file__).parent / "cases"
LARGEST = 256 * 1024
MOST_CASES = 300
"""Of a file: each costs a question at every run."""
_WORDING = FileWording(
    add="write {key}: …", mapping="{key} is no mapping", write="write key: value"
)
_NAME = "letters, digits and hyphens, 60 at most, such as balance-in-days"

CaseName = Annotated[
    str,
    StringConstraints(pattern=r"^[a-z0-9][a-z0-9-]{0,59}$"),
    said(f"write {_NAME}", "{key} {value} is no name"),
]

_Language: Any = Annotated[Literal["zh", "en"], said("write zh or en")]


@dataclass(frozen=True)
class PromptCase:
    """One case: what is given, and by kind what is asserted of the answer."""

    job: str
    name: str
    locale: Locale
    given: Entry
    expect: Mapping[str, Any]
    folder: Path
    """Where files are that it names."""


Subject = Literal["job", "skill"]
"""What a file of cases is of, and its key."""


def read_cases(
    path: Path, jobs: Mapping[str, type[Entry]], of: Subject = "job"
) -> list[PromptCase]:
    """The cases of a file; `jobs` says what each job is given, or each skill where it is `of` one.

    Raises `DefinitionError` with every problem of the file.
    """
    document = yaml_file(path, LARGEST, "split it into several")
    job, complaints = _job(document, jobs, of)
    cases: list[PromptCase] = []
    if job is not None:
        reading = validated(_file_of(jobs[job], of), document.data, wording=_WORDING)
        complaints = [*reading.complaints, *_repeated(document.data)]
        found = cast("Any", reading.value)
        cases = [_case(job, each, path.parent) for each in found.cases] if found else []
        if reading.is_sound and not 0 < len(cases) <= MOST_CASES:
            what = f"the file has {len(cases)} cases"
            complaints += [Complaint(("cases",), Fault(what, f"write 1 to {MOST_CASES}"))]
    if problems := problems_in(str(path), document, complaints):
        raise DefinitionError(problems)
    return cases


def cases_in(
    folder: Path, jobs: Mapping[str, type[Entry]], of: Subject = "job"
) -> dict[str, list[PromptCase]]:
    """Every case of a folder's files, by job; `DefinitionError` with the problems of them all."""
    found: dict[str, list[PromptCase]] = {}
    problems: list[Problem] = []
    files = sorted(folder.glob("*.yaml"))
    if not files:
        what = "has no files of cases" if folder.is_dir() else "is no folder"
        raise DefinitionError(
            [Problem(str(folder), 1, what, "name one with files like phrase.yaml")]
        )
    for path in files:
        try:
            for case in read_cases(path, jobs, of):
                found.setdefault(case.job, []).append(case)
        except DefinitionError as error:
            problems += error.problems
    if problems:
        raise DefinitionError(problems)
    return found


def _job(
    document: YamlDocument, jobs: Mapping[str, type[Entry]], of: Subject
) -> tuple[str | None, Sequence[Complaint]]:
    data = document.data
    named = data.get(of) if isinstance(data, dict) else None
    if isinstance(named, str) and named in jobs:
        return named, ()
    if not isinstance(data, dict):
        remedy = f"write {of}: … and cases: …"
        return None, [Complaint((), Fault("the file is no mapping", remedy))]
    remedy = (
        nearest(named, jobs) if isinstance(named, str) else ""
    ) or f"it is one of {_list(jobs)}"
    what = f"there is no {of}" if named is None else f"{of} is {named!r:.60}"
    return None, [Complaint((of,), Fault(what, remedy))]


def _list(names: Mapping[str, object]) -> str:
    return ", ".join(sorted(names))


def _file_of(given: type[Entry], of: Subject) -> type[BaseModel]:
    """The shape of a job's file. Assertions are those of the registry."""
    kinds: dict[str, Any] = {
        _field(name): (each.expects | None, Field(None, alias=name))
        for name, each in ASSERTIONS.items()
    }
    expect = create_model("Expect", __base__=Entry, **kinds)
    case = create_model(
        "Case",
        __base__=Entry,
        case=(CaseName, ...),
        locale=(_Language, ...),
        note=(str | None, None),
        given=(given, ...),
        expect=(cast("Any", Annotated[expect, AfterValidator(_asserting)]), ...),
    )
    subject: dict[str, Any] = {of: (str, ...)}
    return create_model("CaseFile", __base__=Entry, cases=(cast("Any", list[case]), ...), **subject)


def _field(assertion: str) -> str:
    """What an assertion's field is called here: models have a `schema` of their own."""
    return f"{assertion}_wanted"


def _asserting(expect: BaseModel) -> BaseModel:
    if not expect.model_dump(exclude_none=True):
        raise FaultyValue("{key} asserts nothing", f"write one of {_list(ASSERTIONS)}")
    return expect


def _repeated(data: Any) -> list[Complaint]:
    cases = data.get("cases") if isinstance(data, dict) else None
    seen: dict[object, int] = {}
    complaints = []
    for place, each in enumerate(cases if isinstance(cases, list) else ()):
        name = each.get("case") if isinstance(each, dict) else None
        if isinstance(name, str) and seen.setdefault(name, place) != place:
            fault = Fault(f"there is a case {name[:60]!r} already", "give each a name of its own")
            complaints.append(Complaint(("cases", place, "case"), fault))
    return complaints


def _case(job: str, each: Any, folder: Path) -> PromptCase:
    expect = {name: getattr(each.expect, _field(name)) for name in ASSERTIONS}
    held = {name: value for name, value in expect.items() if value is not None}
    return PromptCase(job, each.case, each.locale, each.given, held, folder)
