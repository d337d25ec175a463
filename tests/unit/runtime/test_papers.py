"""Types of documents of the project's own: modules of `company/papers`, found as tools are."""

import sys
from collections.abc import Iterator
from datetime import date
from pathlib import Path

import pytest

import company.papers
from router.documents.document_type import DOCUMENT_TYPES, document_types, recognised
from router.documents.page import Material, Page, TextLine
from router.domain.documents import Place
from router.domain.errors import DefinitionError
from router.flow.loader import examine
from router.runtime.definitions import load_registry, vocabulary
from router.settings import Settings
from router.tool.kinds.functions import WatchedModules

VOUCHER = """
from router.documents.document_type import DocumentType, document_type
from router.domain.documents import ReadField
from router.domain.locale import Localised

@document_type
class Voucher(DocumentType):
    name = "voucher"
    label = Localised(zh="券", en="voucher")
    fields = {"code": Localised(zh="码", en="code")}

    def likelihood(self, material):
        return float("voucher" in material.text)

    def read(self, material, today):
        return {"code": ReadField(value=material.lines[0].text, source="text", confidence=0.9)}
"""
LINE = TextLine("voucher 7", Place(left=0, top=0, right=1, bottom=0.1))
PAGE = Material((Page(100, 100, (LINE,)),))
FLOW = """\
flow: gift
version: 1
title: {zh: "礼", en: "Gift"}
description: {zh: "礼", en: "A gift"}
slots:
  paper: {type: file, required: false, documents: vucher}
  number: {type: text, required: false, from: document.cod}
start: done
states:
  done: {say: {zh: "好", en: "Done"}, end: completed}
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The folder of own types, with one of them; what was known before is, afterwards."""
    known = {**document_types()}
    (tmp_path / "voucher.py").write_text(VOUCHER)
    monkeypatch.setattr(company.papers, "__path__", [str(tmp_path)])
    yield tmp_path
    sys.modules.pop("company.papers.voucher", None)
    DOCUMENT_TYPES.clear()
    DOCUMENT_TYPES.update(known)


def test_a_module_in_the_folder_is_a_type_that_is_read(folder: Path) -> None:
    load_registry(Settings.load())
    document = recognised(PAGE, date(2026, 11, 25))
    assert (document.type, document.value("code")) == ("voucher", "voucher 7")


def test_flows_may_name_it_and_its_fields_and_hear_of_misspelt_ones(folder: Path) -> None:
    known = vocabulary(load_registry(Settings.load()))
    file = folder / "gift.yaml"
    file.write_text(FLOW)
    assert [(each.line, each.remedy) for each in examine(file, known).problems] == [
        (6, "did you mean voucher?")
    ]
    file.write_text(FLOW.replace("vucher", "voucher"))
    (problem,) = examine(file, known).problems
    assert (problem.line, problem.remedy) == (7, "did you mean code?")


def test_one_that_is_added_is_known_and_a_changed_one_waits_for_a_restart(
    folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    module = folder / "voucher.py"
    module.unlink()
    modules = WatchedModules(load_registry(Settings.load()), [company.papers])
    modules.load()
    module.write_text(VOUCHER)
    modules.reload()
    assert recognised(PAGE, date(2026, 11, 25)).type == "voucher"
    module.write_text(VOUCHER.replace("0.9", "0.75"))
    modules.reload()
    assert "voucher.py has changed, and is read at a start alone: restart dev" in caplog.text


@pytest.mark.parametrize("name", ["invoice", "other"])
def test_a_name_that_is_taken_is_refused_with_its_file(folder: Path, name: str) -> None:
    (folder / "voucher.py").write_text(VOUCHER.replace('"voucher"\n', f'"{name}"\n'))
    with pytest.raises(DefinitionError, match=f"the name '{name}', which is taken") as refused:
        load_registry(Settings.load())
    assert refused.value.problems[0].file == str(folder / "voucher.py")
