"""Tables of spreadsheets and documents as rows of cells: what a form is read out of.

Both formats are zips of XML (ECMA-376), read within bounds: nothing in them is run, and no other
file is looked at.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

from router.documents.file_format import FileReading, Limits, UnreadableFile
from router.documents.xml_tree import Element
from router.documents.zip_archive import ZipArchive
from router.domain.errors import InvalidInput
from router.formats.regex import compiled

MOST_ROWS, MOST_COLUMNS = 2_000, 40
LONGEST_CELL = 500
_ADDRESS = compiled(r"\A([A-Z]{1,3})([0-9]{1,7})\z")


@dataclass
class TableCell:
    """A cell's text, and what may be chosen in it where its file says so."""

    text: str = ""
    choices: tuple[str, ...] = ()


@dataclass
class FormTable:
    """The rows of all tables of a file, one below the other."""

    title: str = ""
    rows: list[list[TableCell]] = field(default_factory=list)


def table_of(content: bytes) -> FormTable:
    """What stands in the tables of an xlsx or docx.

    Raises:
        InvalidInput: it is neither, damaged, protected, or isn't safe to read.
    """
    try:
        archive = ZipArchive(content, FileReading(Limits(depth=128)))
        if archive.has("word/document.xml"):
            return _document(archive.xml("word/document.xml"))
        return _workbook(archive)
    except UnreadableFile as error:
        raise InvalidInput(error.text) from None


def _document(root: Element) -> FormTable:
    body = root.first("body") or root
    found = FormTable()
    for element in body.children:
        if element.tag == "tbl":
            rows = [each for each in element.within() if each.tag == "tr"]
            found.rows += [[_written(each) for each in row.all("tc")] for row in rows[:MOST_ROWS]]
        elif not found.title and element.tag == "p":
            found.title = _written(element).text
    return found


def _written(element: Element) -> TableCell:
    texts, choices = [], []
    for each in element.within():
        if each.tag == "t":
            texts.append("".join(each.parts))
        elif each.tag in {"p", "br", "tab"}:
            texts.append(" ")
        elif each.tag == "listItem":
            said = each.attributes.get("displayText") or each.attributes.get("value", "")
            choices.append(said[:100])
    # A list that stands in the cell shows a hint for what is chosen, which is no label.
    text = "" if choices else " ".join("".join(texts).split())[:LONGEST_CELL]
    return TableCell(text, tuple(each for each in choices if each.strip()))


def _workbook(archive: ZipArchive) -> FormTable:
    sheet = next(
        (path for n in range(1, 10) if archive.has(path := f"xl/worksheets/sheet{n}.xml")), ""
    )
    root = archive.xml(sheet)
    shared: list[str] = []
    if archive.has("xl/sharedStrings.xml"):
        shared = [_text(each) for each in archive.xml("xl/sharedStrings.xml").all("si")]
    cells = {place: TableCell(text) for place, text in _cells(root, shared)}
    for place, choices in _validations(root):
        cells.setdefault(place, TableCell()).choices = choices
    rows: dict[int, list[TableCell]] = {}
    for (row, column), cell in sorted(cells.items()):
        line = rows.setdefault(row, [])
        line += [TableCell() for _ in range(column - len(line))]
        line.append(cell)
    sheets = [each for each in archive.xml("xl/workbook.xml").within() if each.tag == "sheet"]
    title = sheets[0].attributes.get("name", "") if sheets else ""
    return FormTable(title, list(rows.values())[:MOST_ROWS])


def _text(element: Element) -> str:
    said = "".join("".join(each.parts) for each in element.within() if each.tag == "t")
    return " ".join(said.split())[:LONGEST_CELL]


CellPlace = tuple[int, int]
"""Row and column, from 0."""


def _place(address: str) -> CellPlace | None:
    found = _ADDRESS.match(address)
    if found is None:
        return None
    column = 0
    for letter in found[1]:
        column = column * 26 + ord(letter) - ord("A") + 1
    return (int(found[2]) - 1, column - 1) if column <= MOST_COLUMNS else None


def _cells(root: Element, shared: list[str]) -> Iterator[tuple[CellPlace, str]]:
    for cell in (each for each in root.within() if each.tag == "c"):
        place = _place(cell.attributes.get("r", ""))
        if place is None:
            continue
        value = cell.first("v")
        said = value.text[:LONGEST_CELL] if value else ""
        kind = cell.attributes.get("t")
        if kind == "s":
            said = shared[int(said)] if said.isdecimal() and int(said) < len(shared) else ""
        elif kind == "inlineStr":
            said = _text(cell)
        yield place, said


def _validations(root: Element) -> Iterator[tuple[CellPlace, tuple[str, ...]]]:
    """Where something is to be chosen from a list that stands right there."""
    for each in (each for each in root.within() if each.tag == "dataValidation"):
        formula = each.first("formula1")
        said = formula.text if formula else ""
        if each.attributes.get("type") != "list" or not said.startswith('"'):
            continue
        choices = tuple(one.strip()[:100] for one in said.strip('"').split(",") if one.strip())
        for part in each.attributes.get("sqref", "").split()[:100]:
            place = _place(part.partition(":")[0])
            if place is not None and choices:
                yield place, choices
