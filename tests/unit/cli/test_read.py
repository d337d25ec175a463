"""`intent-router read`: what is read of a file, without a server."""

from pathlib import Path

import pytest

from tests.document_files import EINVOICE
from tests.unit.cli.conftest import Run

pytestmark = pytest.mark.slow

PAPERS = Path(__file__).parents[2] / "data" / "documents" / "papers"
INVOICE = str(PAPERS / "invoice-zh-digital-0-file.xml")


def test_type_fields_and_what_is_written_are_printed(run: Run) -> None:
    read, _, written = run.printed("read", INVOICE, "--text").partition("\n\n")
    first, number, *rest = read.splitlines()
    assert first == "invoice: invoice, 1 page"
    assert number == "  number    26328196816016359795  (text, 0.99)"
    assert "  amount    3051.68 CNY  (text, 0.98)" in rest
    assert "深圳云帆咨询有限公司" in written


def test_what_is_not_found_is_said(run: Run, tmp_path: Path) -> None:
    (tmp_path / "part.xml").write_text(EINVOICE, encoding="utf-8")
    printed = run.printed("read", str(tmp_path / "part.xml"))
    assert "  not found: " in printed
    assert "date" in printed.partition("not found: ")[2]


def test_as_json_places_and_problems_go_along(run: Run) -> None:
    read = run.json("read", INVOICE, "--json")
    assert read["type"] == "invoice"
    assert read["fields"]["tax"]["value"] == {"amount": "88.88", "currency": "CNY"}
    assert read["fields"]["tax"]["from"] == "text"
    assert "text" not in read


def test_of_what_is_no_paper_the_known_types_are_named(run: Run, tmp_path: Path) -> None:
    pytest.importorskip("pypdfium2", reason="the extra [documents] isn't installed")
    from tests.document_files import pdf

    (tmp_path / "letter.pdf").write_bytes(pdf([(60, 60, "Dear all, lunch is at noon.")]))
    first, known = run.printed("read", str(tmp_path / "letter.pdf")).splitlines()
    assert first == "other: of no type that is known, 1 page"
    assert "medical_certificate" in known


@pytest.mark.parametrize(
    ("content", "why"),
    [(b"#!/bin/sh", "(unknown_format)"), (None, "there is no file"), (b"%PDF-1.4", "(damaged)")],
)
def test_what_cannot_be_read_is_refused_in_words(
    run: Run, tmp_path: Path, content: bytes | None, why: str
) -> None:
    file = tmp_path / "paper.pdf"
    if content is not None:
        file.write_bytes(content)
    assert why in run.refused("read", str(file))
