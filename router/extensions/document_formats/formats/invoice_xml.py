"""The XML of a digital invoice: its fields are data, nothing has to be recognised."""

from router.documents.file_format import FileFormat, FileReading, registered
from router.documents.page import Material, Page, TextLine
from router.documents.xml_tree import fields, parsed
from router.domain.documents import Place


@registered
class InvoiceXmlFormat(FileFormat):
    """Every text of it as data by its path, and as a line `tag: text` of one page."""

    media_types = ("application/xml",)

    def read(self, content: bytes, reading: FileReading) -> Material:
        """Its fields; raises `UnreadableFile` where it isn't well formed, or unsafe."""
        reading.tell(0, 1)
        data = dict(fields(parsed(content, reading), reading))
        step = 1 / max(len(data), 1)
        lines = tuple(
            TextLine(
                f"{path.rpartition('/')[2]}: {text}",
                Place(left=0, top=step * at, right=1, bottom=step * (at + 1)),
            )
            for at, (path, text) in enumerate(data.items())
        )
        reading.tell(1, 1)
        return Material((Page(1, 1, lines),), data)
