"""Where documents of configuration stand, and what they may be called."""

from pathlib import PurePosixPath

from router.domain.configuration_documents import (
    CORE_RULES,
    DocumentKind,
    is_name,
    path_of,
    placed,
)
from tests.table import each_row

NAMED: list[tuple[DocumentKind, str]] = [
    ("flows", "overtime"),
    ("flows", "leave_request"),
    ("skills", "policy-advisor"),
    ("personas", "desk"),
    ("stories", "overtime"),
]


@each_row(("kind", "name"), NAMED, ids=lambda each: each)
def test_a_path_tells_kind_and_name(kind: DocumentKind, name: str) -> None:
    assert placed(PurePosixPath(path_of(kind, name))) == (kind, name)


ELSEWHERE = [
    "overtime.yaml",
    "flows/overtime.yml",
    "flows/Overtime.yaml",
    "flows/tests/overtime.yml",
    "stories/overtime.yaml",
    "skills/SKILL.md",
    "skills/a/b/SKILL.md",
    "skills/a/README.md",
    "personas/other.yaml",
    "prompts/router-1.md",
    "../flows/overtime.yaml",
]


@each_row("path", ELSEWHERE)
def test_any_other_path_is_no_document_s(path: str) -> None:
    assert placed(PurePosixPath(path)) is None


@each_row("name", ["", "..", "../x", "a/b", "A", "1a", "a" * 65, "a\n", "é", "a%00"])
@each_row("kind", [*CORE_RULES, "charters"])
def test_what_could_be_a_path_is_no_name(kind: DocumentKind, name: str) -> None:
    assert not is_name(kind, name)
